import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { layerSwap, runExperiment } from '../../src/index.js';
import { lora, writeAdapter } from '../fixtures/adapters.js';
import { bytesOf } from '../fixtures/again.js';
import { llama, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';

it('merges nine pairs of bare adapters to adapters, each as by itself', async () => {
  const root = temporaryDirectory();
  const base = writeCheckpoint(join(root, 'base'), llama());
  const names = ['math-1', 'math-2', 'math-3', 'swh-1', 'swh-2', 'swh-3'];
  for (const [seed, name] of names.entries())
    writeAdapter(join(root, name), lora({ seed, rank: seed % 2 === 0 ? 4 : 8, alpha: 4 + seed }));
  const file = join(root, 'experiment.yaml');
  writeFileSync(
    file,
    `base: ./base
tasks: {math-1: ./math-1, math-2: ./math-2, math-3: ./math-3}
languages:
  swahili: {swh-1: ./swh-1, swh-2: ./swh-2, swh-3: ./swh-3}
merges:
  - {name: default, method: layer_swap, bottom: 2, top: 1, bottom_transition: 1}
  - {name: magnitude, method: layer_swap, bottom: 2, top: 1, weights: magnitude}
`,
  );
  const out = join(root, 'out');
  await runExperiment(file, { out });
  const { merges, state: whole } = JSON.parse(readFileSync(join(out, 'experiment.json'), 'utf8'));
  expect([whole, merges.length]).toEqual(['done', 18]);
  for (const { path, bytesWritten, state, weights } of merges) {
    expect([state, typeof weights]).toEqual(['done', 'string']);
    expect(readdirSync(join(out, path)).sort()).toEqual([
      'README.md',
      'adapter_config.json',
      'adapter_model.safetensors',
      'layerloom.json',
    ]);
    const { size } = statSync(join(out, path, 'adapter_model.safetensors'));
    expect(bytesWritten).toBe(size);
  }
  const alone = join(root, 'alone');
  await layerSwap(
    {
      task: join(root, 'math-2'),
      language: join(root, 'swh-3'),
      base,
      bottom: 2,
      top: 1,
      bottomTransition: 1,
    },
    { out: alone },
  );
  const entry = merges.find(({ name }: { name: string }) => /math-2.swh-3\/default/.test(name));
  expect(bytesOf(join(out, entry.path))).toEqual(bytesOf(alone));
});
