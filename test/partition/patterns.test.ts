import { writeFileSync } from 'node:fs';

import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { partNames } from '../../src/core/measure/partition/partition.js';
import { patternsOf } from '../../src/core/measure/partition/patterns.js';
import { matches } from '../../src/core/methods/framework/match-names.js';
import { layerSwap, merge, partition, planMerge, revert } from '../../src/index.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { writeFamily } from '../fixtures/family.js';
import { readTensors } from '../fixtures/merged.js';
import { generator } from '../fixtures/numbers.js';

describe('patterns of a partition', () => {
  it('match of its names those of their part, whatever the names', () => {
    const random = generator(7);
    const pick = (most: number) => Math.floor(random() * most);
    for (let round = 0; round < 300; round += 1) {
      const names = new Set(
        Array.from({ length: 1 + pick(12) }, () =>
          Array.from({ length: 1 + pick(4) }, () => ['a', 'b', '1', '11', 'weight'][pick(5)]).join('.'),
        ),
      );
      const parts = { language: [], task: [], both: [], neither: [] } as Record<string, string[]>;
      for (const name of names) parts[partNames[pick(round % 2 === 0 ? 2 : 4)] ?? 'task']?.push(name);
      const patterns = patternsOf({ parts } as never);
      for (const name of names)
        expect(
          partNames.filter((part) => patterns[part]?.some((pattern) => matches(name, pattern))),
          `${name} of ${JSON.stringify(parts)} by ${JSON.stringify(patterns)}`,
        ).toEqual(partNames.filter((part) => parts[part]?.includes(name)));
    }
  });

  it('are a few for whole layers', async () => {
    const { base } = writeFamily({ layers: 4, tied: false });
    const { partition: found } = await partition(base, { bottom: 1, top: 1 });
    expect(patternsOf(found)).toEqual({
      language: [
        'model.embed_tokens.weight',
        'model.layers.0.*',
        'model.layers.3.*',
        'model.norm.weight',
        'lm_head.weight',
      ],
      task: ['model.layers.1.*', 'model.layers.2.*'],
    });
  });
});

describe('a merge by a partition', () => {
  const written = async () => {
    const family = writeFamily();
    const file = join(family.root, 'parts.json');
    await partition(family.base, { bottom: 2, top: 1, others: 'both' }, { out: file });
    return { ...family, file, out: join(temporaryDirectory(), 'out') };
  };

  it('has a recipe that makes it again without the file, and one with the file from its folder', async () => {
    const { root, a, b, file, out } = await written();
    await layerSwap({ task: a, language: b, partition: file }, { out });
    const first = await readTensors(out);
    await merge(join(out, 'layerloom.json'), { out: `${out}-again` });
    expect(await readTensors(`${out}-again`)).toEqual(first);
    const recipe = join(root, 'swap.yaml');
    writeFileSync(recipe, 'method: layer_swap\ntask: ./a\nlanguage: ./b\npartition: parts.json\n');
    await merge(recipe, { out: `${out}-recipe` });
    expect(await readTensors(`${out}-recipe`)).toEqual(first);
  });

  it('averages what both train by the weights', async () => {
    const { a, b, file } = await written();
    const plan = await planMerge({
      method: 'layer_swap',
      task: a,
      language: b,
      partition: file,
      weights: [1, 3],
    });
    const all = plan.shards.flatMap(({ tensors }) => tensors);
    expect(all.find(({ name }) => name === 'model.norm.weight')?.expression).toMatchObject({
      kind: 'linear',
      terms: [{ weight: 0.25 }, { weight: 0.75 }],
    });
  });

  it.each([
    ['layers beside it', { bottom: 2 }, /bottom: expected not to be given with a partition/],
    ['norms beside it', { norms: 'average' }, /norms: expected not to be given with a partition/],
    [
      'a tensor in no part',
      { partition: { task: ['model.layers.*'] } },
      /partition: expected this tensor in exactly one part; it is in none: .*model\.embed_tokens\.weight/,
    ],
    [
      'a tensor in two parts',
      { partition: { task: ['model.*'], language: ['model.norm.weight'] } },
      /it is in language and task.*model\.norm\.weight/,
    ],
    ['a name that is none', { partition: 7 }, /the file that `layerloom partition` wrote, or its parts/],
    ['a part that is none', { partition: { tasks: [] } }, /tasks/],
  ])('refuses %s', async (_, parameters, message) => {
    const { a, b, file } = await written();
    const planned = planMerge({
      method: 'layer_swap',
      task: a,
      language: b,
      partition: file,
      ...parameters,
    } as never);
    await expect(planned).rejects.toThrow(message);
  });

  it('keeps of a reverted expert what its side trains, and refuses half of the two options', async () => {
    const { base, a, file, out, tensors } = await written();
    await revert({ base, model: a, partition: file, side: 'task' }, { out });
    const { 'model.norm.weight': norm, 'model.layers.0.mlp.down_proj.weight': bottom } =
      await readTensors(out);
    expect(norm).toEqual({
      ...tensors.a['model.norm.weight'],
      data: Buffer.from(tensors.a['model.norm.weight']?.data ?? []),
    });
    expect(bottom?.data).toEqual(
      Buffer.from(tensors.base['model.layers.0.mlp.down_proj.weight']?.data ?? []),
    );
    const refused = (parameters: object) =>
      expect(planMerge({ method: 'revert', base, model: a, ...parameters })).rejects;
    await refused({ partition: file }).toThrow(/side is missing: expected language or task/);
    await refused({ side: 'task' }).toThrow(/side: expected language or task, together with a partition/);
    await refused({ partition: file, side: 'task', bottom: 2 }).toThrow(
      /partition: expected a partition alone/,
    );
    await refused({ model: { method: 'revert', base, model: a, partition: file, side: 'task' } }).toThrow(
      /a file only in the outermost recipe/,
    );
  });
});
