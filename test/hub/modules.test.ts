import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { openCheckpoint, planMerge, soup } from '../../src/index.js';
import { fill, safetensors, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { familyFixture } from '../fixtures/families.js';
import { hubUser } from '../fixtures/hub-client.js';
import { HubServer } from '../fixtures/hub-server.js';
import { readTensors } from '../fixtures/merged.js';

// Modules of sentence-transformers in models that come from the hub by ranges.

const writeSentences = (directory: string, seed: number): string => {
  const { shapes, config } = familyFixture('bert-embedding');
  writeCheckpoint(directory, {
    tensors: fill(shapes, 'F32', seed),
    config: { ...config },
    files: { 'modules.json': '[]' },
  });
  mkdirSync(join(directory, '2_Dense'));
  writeFileSync(join(directory, '2_Dense/config.json'), '{}');
  writeFileSync(
    join(directory, '2_Dense/model.safetensors'),
    safetensors(fill({ 'linear.weight': [64, 512] }, 'F32', seed + 10)),
  );
  return directory;
};

it('are fetched and merged like the model’s own weights', async () => {
  const root = temporaryDirectory();
  const hub = await new HubServer().start();
  onTestFinished(() => hub.close());
  const here = ['a', 'b'].map((name, seed) => writeSentences(join(root, name), seed));
  for (const [index, directory] of here.entries()) hub.addDirectory(`org/${'ab'[index]}`, directory);
  for (const [name, value] of Object.entries(hubUser(hub))) vi.stubEnv(name, value);
  onTestFinished(() => {
    vi.unstubAllEnvs();
  });
  const models = ['org/a', 'org/b'];
  const { download } = await planMerge({ method: 'soup', models }, { download: true });
  expect(download?.bytes).toBeGreaterThan(0);
  expect([...(await openCheckpoint('org/a')).tensors.keys()]).toContain('2_Dense/linear.weight');
  await soup({ models }, { out: join(root, 'by-ranges'), download: true });
  await soup({ models: here }, { out: join(root, 'local') });
  expect(await readTensors(join(root, 'by-ranges'))).toEqual(await readTensors(join(root, 'local')));
});
