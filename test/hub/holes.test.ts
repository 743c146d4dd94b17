import { readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sourcesOfTensors } from '../../src/core/plan/operands.js';
import {
  analyze,
  diff,
  LayerloomError,
  layerSwap,
  openCheckpoint,
  planMerge,
  relayout,
  runPlan,
} from '../../src/index.js';
import { type Family, writeFamily } from '../fixtures/family.js';
import { fillRange, writeHeadersOnly } from '../fixtures/range-cache.js';

// Models in the range cache with only some bytes; without a network.

const rangesOf = (family: Family, name: 'base' | 'a' | 'b') =>
  writeHeadersOnly(join(family.root, 'ranges'), `org/${name}`, family[name]);

const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error: unknown) => (error instanceof LayerloomError ? error.code : String(error)),
  );

describe('a model of which only headers are here', () => {
  it('is planned, and the plan says what is missing', async () => {
    const family = writeFamily();
    const [task, language] = [rangesOf(family, 'a'), rangesOf(family, 'b')];
    const plan = await planMerge({ method: 'layer_swap', task, language, bottom: 2, top: 1 });
    expect(plan.download?.bytes).toBe(plan.cost.bytesToRead);
    expect(plan.download?.models.map(({ model }) => model)).toEqual([
      'org/a@0123456789abcdef0123456789abcdef01234567',
      'org/b@0123456789abcdef0123456789abcdef01234567',
    ]);
    expect(plan.download?.models[0]?.of).toBe(statSync(join(task, 'model.safetensors')).size);
  });

  it('is not taken for a whole one where its records cannot be looked for', async () => {
    const family = writeFamily();
    const model = rangesOf(family, 'a');
    rmSync(join(model, '.ranges'), { recursive: true });
    symlinkSync('.ranges', join(model, '.ranges'));
    const merge = layerSwap({ task: model, language: family.b }, { out: join(family.root, 'out') });
    await expect(merge).rejects.toMatchObject({
      code: 'READ_FAILED',
      message: expect.stringContaining('.ranges') as string,
    });
  });

  it('is read by nothing', async () => {
    const family = writeFamily();
    const model = rangesOf(family, 'a');
    const out = join(family.root, 'out');
    const works = [
      layerSwap({ task: model, language: family.b, bottom: 2, top: 1 }, { out }),
      layerSwap(
        { task: model, language: family.b, base: family.base, bottom: 2, top: 1, weights: 'magnitude' },
        { out },
      ),
      relayout({ model }, { out }),
      relayout({ model }, { out, link: 'hard' }),
      relayout({ model }, { out, link: 'symbolic' }),
      relayout({ model }, { out, checksums: true }),
      diff(model, family.a),
      analyze({ base: family.base, experts: [model] }, { out: `${out}-analysis` }),
    ];
    for (const code of await Promise.all(works.map(codeOf))) expect(code).toBe('DOWNLOAD_NEEDED');
  });

  it('is merged to the same bytes once the ranges are here that the merge reads, and no others', async () => {
    const family = writeFamily();
    const [task, language] = [rangesOf(family, 'a'), rangesOf(family, 'b')];
    const recipe = { method: 'layer_swap' as const, task, language, bottom: 2, top: 1 };
    const plan = await planMerge(recipe);
    for (const { input, begin, end } of plan.shards.flatMap(({ tensors }) => sourcesOfTensors(tensors))) {
      const [to, from] = input === 0 ? [task, family.a] : [language, family.b];
      fillRange(join(to, 'model.safetensors'), join(from, 'model.safetensors'), begin, end);
    }
    // The plan precedes the ranges: downloading them is no change of the inputs.
    const out = join(family.root, 'out');
    await runPlan(plan, { out, checksums: true });
    const local = join(family.root, 'local');
    await layerSwap({ task: family.a, language: family.b, bottom: 2, top: 1 }, { out: local });
    const { files } = await openCheckpoint(local);
    for (const { path } of files)
      expect(readFileSync(path.replace(local, out)).equals(readFileSync(path))).toBe(true);
    expect((await planMerge(recipe)).download).toBeUndefined();
  });
});
