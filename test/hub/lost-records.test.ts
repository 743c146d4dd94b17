import { readFileSync, rmSync, symlinkSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { InputFiles } from '../../src/core/engine/input-files.js';
import { hasAllWeights } from '../../src/core/models/checkpoint/whole.js';
import { bringHeaders } from '../../src/core/models/sources/hub/bring-headers.js';
import { bringRanges } from '../../src/core/models/sources/hub/bring-ranges.js';
import { locateText } from '../../src/core/models/sources/locate.js';
import { isUsable, missingRanges } from '../../src/core/models/sources/ranges/folder/folder.js';
import { layerSwap } from '../../src/index.js';
import { writeFamily } from '../fixtures/family.js';
import { hubUser, impatient } from '../fixtures/hub-client.js';
import { HubServer } from '../fixtures/hub-server.js';
import { writeHeadersOnly } from '../fixtures/range-cache.js';

// Disks, copies and users lose parts of caches. Lost parts are fetched again, and nothing else is read
// instead.

interface Lost {
  readonly file: string;
  readonly record: string;
}

const losses: Readonly<Record<string, (lost: Lost) => void>> = {
  'a sparse file that was cut': ({ file }) => truncateSync(file, 100_000),
  'a sparse file that was removed': ({ file }) => unlinkSync(file),
  'a record whose first line is zeros': ({ record }) =>
    writeFileSync(record, readFileSync(record).fill(0, 0, 20)),
  'a record that was removed': ({ record }) => unlinkSync(record),
  'a cut description of the model': ({ record }) =>
    writeFileSync(join(dirname(record), 'model.json'), '{"id":'),
};

for (const [what, lose] of Object.entries(losses))
  it(`${what} is fetched again`, async () => {
    const family = writeFamily({ layers: 8, hidden: 128 });
    const hub = await new HubServer().start();
    onTestFinished(() => hub.close());
    hub.addDirectory('org/a', family.a);
    const options = impatient(hubUser(hub));
    const { path } = await bringHeaders('org/a', options);
    const file = join(path, 'model.safetensors');
    const source = readFileSync(join(family.a, 'model.safetensors'));
    const range = { begin: 100_000, end: 300_000 };
    await bringRanges([{ path: file, ranges: [range] }], options);
    lose({ file, record: join(path, '.ranges', 'model.safetensors.jsonl') });
    expect(await isUsable(path)).toBe(false);
    expect((await bringHeaders('org/a', options)).path).toBe(path);
    expect(await isUsable(path)).toBe(true);
    await bringRanges([{ path: file, ranges: await missingRanges(file, [range]) }], options);
    expect(readFileSync(file).subarray(range.begin, range.end)).toEqual(
      source.subarray(range.begin, range.end),
    );
  });

it('a file that another run begins anew is not read', async () => {
  const family = writeFamily();
  const folder = writeHeadersOnly(join(family.root, 'ranges'), 'org/a', family.a);
  const file = join(folder, 'model.safetensors');
  const record = join(folder, '.ranges', 'model.safetensors.jsonl');
  const headersOnly = readFileSync(record);
  const source = readFileSync(join(family.a, 'model.safetensors'));
  const [content] = headersOnly.toString().split('\n');
  // All that is read, but not the whole file, which would be verified.
  writeFileSync(record, `${content}\n[8,${source.length}]\n`);
  const open = InputFiles.open.bind(InputFiles);
  vi.spyOn(InputFiles, 'open').mockImplementation((...files) => {
    writeFileSync(record, headersOnly);
    return open(...files);
  });
  onTestFinished(() => {
    vi.restoreAllMocks();
  });
  const out = join(family.root, 'out');
  await expect(
    layerSwap({ task: file, language: family.b, bottom: 2, top: 1 }, { out }),
  ).rejects.toMatchObject({ code: 'INPUT_CHANGED' });
});

it('a link to a blob that was removed is no weight', async () => {
  const { a } = writeFamily();
  expect(await hasAllWeights(a)).toBe(true);
  const file = join(a, 'model.safetensors');
  rmSync(file);
  symlinkSync(join(a, 'nothing'), file);
  expect(await hasAllWeights(a)).toBe(false);
});

it('a model of which the cache of ranges was removed is said to need a download', async () => {
  const family = writeFamily();
  const hub = await new HubServer().start();
  onTestFinished(() => hub.close());
  hub.addDirectory('org/a', family.a);
  const env = hubUser(hub);
  const { path } = await bringHeaders('org/a', impatient(env));
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  onTestFinished(() => {
    vi.unstubAllEnvs();
  });
  expect((await locateText('org/a')).path).toBe(path);
  rmSync(path, { recursive: true });
  await expect(locateText('org/a')).rejects.toMatchObject({ code: 'MODEL_NOT_FOUND' });
});
