import { join } from 'node:path';
import { expect, it } from 'vitest';
import { planMerge, relayout } from '../../src/index.js';
import { lora, writeAdapter } from '../fixtures/adapters.js';
import { llamaShapes, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { quantisedLlama } from '../fixtures/quantised.js';

it('refuses DoRA over a quantised base, and takes it over the base that the message has dequantised', async () => {
  const root = temporaryDirectory();
  const [base, adapter, out] = ['base', 'adapter', 'out'].map((name) => join(root, name)) as [
    string,
    string,
    string,
  ];
  writeCheckpoint(base, quantisedLlama('FP8 in blocks'));
  writeAdapter(adapter, lora({ shapes: llamaShapes({ layers: 5 }), config: { use_dora: true } }));
  const refused = planMerge({ method: 'relayout', model: `${base}+${adapter}` });
  await expect(refused).rejects.toMatchObject({
    code: 'ADAPTER_UNSUPPORTED',
    message: expect.stringContaining(`layerloom relayout ${base} --dtype bfloat16 -o DIR`) as string,
  });
  await relayout({ model: base, dtype: 'bfloat16' }, { out });
  await expect(planMerge({ method: 'relayout', model: `${out}+${adapter}` })).resolves.toBeDefined();
});
