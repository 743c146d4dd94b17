import { appendFileSync, copyFileSync, existsSync, lstatSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { openWhole } from '../../src/core/models/reading/open-whole.js';
import { bringHeaders } from '../../src/core/models/sources/hub/bring-headers.js';
import { rangeRecordPath } from '../../src/core/models/sources/ranges/folder/folder.js';
import { type LayerloomError, layerSwap } from '../../src/index.js';
import { weightsIn } from '../fixtures/contents.js';
import { writeFamily } from '../fixtures/family.js';
import { hubUser } from '../fixtures/hub-client.js';
import { startHub } from '../fixtures/hub-server.js';

// A complete file that is not yet a link is unverified (a killed process, an edited record): it is verified
// before any read.

const prepare = async () => {
  const family = writeFamily({ layers: 8, hidden: 128 });
  const hub = await startHub();
  hub.addDirectory('org/a', family.a);
  for (const [name, value] of Object.entries(hubUser(hub))) vi.stubEnv(name, value);
  onTestFinished(() => {
    vi.unstubAllEnvs();
  });
  const { path } = await bringHeaders('org/a');
  const [file, source] = [join(path, 'model.safetensors'), join(family.a, 'model.safetensors')];
  const record = rangeRecordPath(path, 'model.safetensors');
  const out = join(family.root, 'out');
  const swap = (download: boolean) =>
    layerSwap({ task: 'org/a', language: family.b, bottom: 2, top: 1 }, { out, download });
  const expected = async (): Promise<Buffer> => {
    const local = join(family.root, 'local');
    await layerSwap({ task: family.a, language: family.b, bottom: 2, top: 1 }, { out: local });
    return weightsIn(local);
  };
  const claimAll = () => appendFileSync(record, `[0,${lstatSync(file).size}]\n`);
  return { hub, path, file, source, record, out, swap, expected, claimAll };
};

const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error: unknown) => (error as LayerloomError).code,
  );

for (const download of [false, true])
  it(`a record that claims bytes that never came is found out, ${download ? 'with' : 'without'} a download`, async () => {
    const { path, file, out, swap, expected, claimAll } = await prepare();
    claimAll();
    await expect(openWhole(path, 'push')).rejects.toMatchObject({
      code: 'NOT_A_CHECKPOINT',
      message: expect.stringContaining('was not verified'),
    });
    expect(await codeOf(swap(download))).toBe('HUB_FILE_CHANGED');
    expect(existsSync(file)).toBe(false);
    expect(existsSync(out)).toBe(false);
    expect(await codeOf(swap(false))).toBe('MODEL_NOT_FOUND');
    await swap(true);
    expect(weightsIn(out).equals(await expected())).toBe(true);
  });

it('a file that came whole before its process was killed is verified once, and not fetched again', async () => {
  const { hub, file, source, out, swap, expected, claimAll } = await prepare();
  copyFileSync(source, file);
  claimAll();
  const sent = hub.weightBytes;
  await swap(false);
  expect(hub.weightBytes).toBe(sent);
  expect(lstatSync(file).isSymbolicLink()).toBe(true);
  expect(weightsIn(out).equals(await expected())).toBe(true);
});

const contents: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  'leads out of the cache': { etag: '../../../elsewhere', sha256: undefined },
  'has another SHA-256 than the content': { sha256: '0'.repeat(64) },
};

for (const [what, changes] of Object.entries(contents))
  it(`a record whose name of the content ${what} is none, and the file is fetched again`, async () => {
    const { record, out, swap, expected, claimAll } = await prepare();
    claimAll();
    const [first = '', ...rest] = readFileSync(record, 'utf8').split('\n');
    writeFileSync(record, [JSON.stringify({ ...JSON.parse(first), ...changes }), ...rest].join('\n'));
    expect(await codeOf(swap(false))).toBe('MODEL_NOT_FOUND');
    await swap(true);
    expect(weightsIn(out).equals(await expected())).toBe(true);
  });
