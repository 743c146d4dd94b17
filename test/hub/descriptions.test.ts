import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { bringHeaders } from '../../src/core/models/sources/hub/bring-headers.js';
import { openCheckpoint, planMerge } from '../../src/index.js';
import { temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { hubUser, impatient } from '../fixtures/hub-client.js';
import { startHub } from '../fixtures/hub-server.js';
import { quantisedLlama } from '../fixtures/quantised.js';
import { writeHeadersOnly } from '../fixtures/range-cache.js';

// Small tensors that describe how others are stored come with the header; bitsandbytes keeps a weight's shape
// in one.

const first = 64 * 1024;

const quantised = async () => {
  const source = writeCheckpoint(
    join(temporaryDirectory(), 'm'),
    quantisedLlama('NF4 of bitsandbytes with nested scales', { hidden: 128 }),
  );
  const { tensors } = await openCheckpoint(source);
  const texts = [...tensors].filter(([name]) => name.includes('quant_state'));
  const bytes = texts.map(([, { begin, end }]) => Math.max(0, end - Math.max(begin, first)));
  return { source, texts: texts.length, bytes: bytes.reduce((sum, one) => sum + one, 0) };
};

const shapesOf = async (model: string) => {
  const { shards } = await planMerge({ method: 'relayout', model, dtype: 'bfloat16' });
  return shards.flatMap(({ tensors }) => tensors.map(({ name, shape }) => [name, shape]));
};

describe('a model of bitsandbytes of the hub', () => {
  it('comes with its texts, and is planned as the model that was quantised', async () => {
    const { source, texts, bytes } = await quantised();
    expect(texts).toBe(25);
    expect(bytes).toBeGreaterThan(1000);
    const hub = await startHub();
    hub.addDirectory('org/quantised', source);
    const { path } = await bringHeaders('org/quantised', impatient(hubUser(hub)));
    expect(hub.weightBytes).toBe(first + bytes);
    expect(await shapesOf(path)).toEqual(await shapesOf(source));
  });

  it('comes with them from a server that sends the whole file for a range of it', async () => {
    const { source } = await quantised();
    const hub = await startHub();
    hub.addDirectory('org/quantised', source);
    hub.faults.push({ kind: 'ignore range', times: 1000, on: /model\.safetensors$/ });
    const { path } = await bringHeaders('org/quantised', impatient(hubUser(hub)));
    expect(await shapesOf(path)).toEqual(await shapesOf(source));
  });

  it('is refused where they have not come: zeros are no text', async () => {
    const { source } = await quantised();
    const model = writeHeadersOnly(temporaryDirectory(), 'org/quantised', source);
    await expect(planMerge({ method: 'relayout', model, dtype: 'bfloat16' })).rejects.toMatchObject({
      code: 'QUANTISATION_INVALID',
      details: { reason: expect.stringContaining('fetch the model whole') as string },
    });
  });
});
