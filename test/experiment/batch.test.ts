import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { merge, type RecipeInput, relayout, verify } from '../../src/index.js';
import type { BatchMerge } from '../../src/study/batch/planning/batch-merge.js';
import { planBatch } from '../../src/study/batch/planning/batch-plan.js';
import { costOf } from '../../src/study/batch/planning/cost.js';
import { stagesOf } from '../../src/study/batch/planning/stages.js';
import { runBatch } from '../../src/study/batch/run-batch.js';
import { ShardStore } from '../../src/study/store/shard-store.js';
import { llama, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { contentsOf } from '../fixtures/experiment.js';
import { onOtherFileSystem } from '../fixtures/other-file-system.js';
import { overwrite, putBack } from '../fixtures/overwrite.js';

// Slow disks.
vi.setConfig({ testTimeout: 180_000 });

const shardsIn = (directory: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(directory)
      .filter((name) => name.endsWith('.safetensors'))
      .map((name) => [
        name,
        createHash('sha256')
          .update(readFileSync(join(directory, name)))
          .digest('hex'),
      ]),
  );

const isWeights = (path: string): boolean => path.endsWith('.safetensors') && !path.startsWith('.store');

/** Writes a base model and `count` experts for the task and for the language. */
const experts = (count = 2) => {
  const root = temporaryDirectory();
  const write = (name: string, seed: number) => writeCheckpoint(join(root, name), llama({ layers: 6, seed }));
  return {
    root,
    base: write('base', 1),
    tasks: Array.from({ length: count }, (_, n) => write(`math-${n + 1}`, 11 + n)),
    languages: Array.from({ length: count }, (_, n) => write(`swh-${n + 1}`, 21 + n)),
  };
};

const someMerges = ({ base, tasks, languages }: ReturnType<typeof experts>): BatchMerge[] => {
  const soupOf = (models: string[]) => ({ method: 'soup', models }) as const;
  const [taskSoup, languageSoup] = [soupOf(tasks), soupOf(languages)];
  const ofPairs = tasks.flatMap((task, t) =>
    languages.flatMap((language, l) => {
      const pair = `math-${t + 1}+swh-${l + 1}`;
      const swap = { method: 'layer_swap', task, language, bottom: 2, top: 1 } as const;
      const recipes: Record<string, RecipeInput> = {
        default: swap,
        transitions: { ...swap, bottomTransition: 1, topTransition: 1 },
        wider: { ...swap, bottom: 3 },
        soup: { method: 'soup', models: [task, language] },
        ties: { method: 'ties', base, models: [task, language], weights: [1, 1], density: 0.5 },
        magnitude: { ...swap, base, weights: 'magnitude' },
        slerp: { method: 'slerp', base: task, models: [language], t: 0.3 },
      };
      return Object.entries(recipes).map(([name, recipe]) => ({ name: `${pair}/${name}`, recipe }));
    }),
  );
  return [
    ...ofPairs,
    {
      name: 'soups',
      recipe: { method: 'layer_swap', task: taskSoup, language: languageSoup, bottom: 2, top: 1 },
    },
    {
      name: 'soup-of-soups',
      recipe: { method: 'linear', models: [taskSoup, languageSoup], weights: [1, 3] },
    },
  ];
};

describe('a batch', () => {
  it('makes every merge as it would be made by itself', async () => {
    const some = experts(3);
    const merges = someMerges(some);
    const out = join(some.root, 'out');
    const result = await runBatch(merges, { out });
    expect(result.merges.map(({ state }) => state)).toEqual(merges.map(() => 'done'));
    // Takes one pair of each configuration, a different pair each time.
    const chosen = merges.filter(({ name }, index) => !name.includes('+') || index % 8 === 0);
    for (const { name, recipe } of chosen) {
      const alone = join(some.root, 'alone');
      await merge(recipe, { out: alone });
      expect([name, shardsIn(join(out, name))]).toEqual([name, shardsIn(alone)]);
      expect(readdirSync(join(out, name)).sort()).toEqual(readdirSync(alone).sort());
      rmSync(alone, { recursive: true });
    }
  });

  it('reads each input byte once, and writes each distinct shard once', async () => {
    const some = experts();
    const merges = someMerges(some).filter(({ name }) => !/ties|magnitude|slerp/.test(name));
    const out = join(some.root, 'out');
    const plan = await planBatch(merges, {});
    const cost = costOf(
      plan,
      stagesOf(plan, () => true),
    );
    const result = await runBatch(merges, { out });
    expect(result.cost).toEqual(cost);
    expect(result.bytesRead).toBe(cost.bytesToRead);
    expect(result.bytesWritten).toBe(cost.bytesToWrite);
    const total = (key: 'bytesRead' | 'bytesWritten') =>
      result.merges.reduce((sum, outcome) => sum + outcome[key], 0);
    expect([total('bytesRead'), total('bytesWritten')]).toEqual([cost.bytesToRead, cost.bytesToWrite]);
    // A swap or soup reads no input more than once.
    const inputBytes = [...some.tasks, ...some.languages].reduce(
      (sum, path) => sum + statSync(join(path, 'model.safetensors')).size,
      0,
    );
    expect(cost.bytesToRead).toBeLessThanOrEqual(inputBytes);
    const store = await ShardStore.open(join(out, '.store'));
    expect((await store.list()).shards.length).toBe(plan.shards.size);
    expect((await store.verify()).damaged).toEqual([]);
  });

  it('does nothing twice: a second run finds all there', async () => {
    const some = experts();
    const merges = someMerges(some);
    const out = join(some.root, 'out');
    await runBatch(merges, { out });
    const again = await runBatch(merges, { out });
    expect(again).toMatchObject({ bytesWritten: 0, cost: { bytesToWrite: 0, bytesToRead: 0 } });
    expect(again.merges.every(({ state }) => state === 'done')).toBe(true);
  });

  it('redoes what depends on a changed input, and only that', async () => {
    const some = experts();
    const merges = someMerges(some);
    const out = join(some.root, 'out');
    await runBatch(merges, { out });
    const before = Object.fromEntries(merges.map(({ name }) => [name, shardsIn(join(out, name))]));
    writeCheckpoint(join(some.root, 'math-2'), llama({ layers: 6, seed: 99 }));
    const again = await runBatch(merges, { out });
    for (const { name } of again.merges) {
      const depends = name.startsWith('math-2') || name.startsWith('soup');
      if (!depends) expect(shardsIn(join(out, name))).toEqual(before[name]);
      else expect(shardsIn(join(out, name))).not.toEqual(before[name]);
    }
    expect(again.bytesWritten).toBeLessThan(again.cost.bytesDistinct);
  });

  it('takes side files that changed, and makes no shard again', async () => {
    const some = experts();
    const merges = someMerges(some);
    const out = join(some.root, 'out');
    await runBatch(merges, { out });
    const configOf = (folder: string) => readFileSync(join(folder, 'config.json'), 'utf8');
    for (const model of readdirSync(some.root).filter((name) => /^(math|swh|base)/.test(name))) {
      const file = join(some.root, model, 'config.json');
      writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), bos_token_id: 7 }));
    }
    const again = await runBatch(merges, { out });
    expect(again.bytesWritten).toBe(0);
    const old = merges.filter(({ name }) => !configOf(join(out, name)).includes('"bos_token_id"'));
    expect(old.map(({ name }) => name)).toEqual([]);
  });

  it('records each merge’s own roles, which verification finds again', async () => {
    const { root, tasks, languages } = experts();
    const [task = '', language = ''] = [tasks[0], languages[0]];
    const merges: BatchMerge[] = [
      { name: 'soup', recipe: { method: 'soup', models: [task, language] } },
      { name: 'swap', recipe: { method: 'layer_swap', task, language, bottom: 2, top: 1 } },
    ];
    await runBatch(merges, { out: join(root, 'out') });
    for (const { name } of merges)
      expect(await verify(join(root, 'out', name), { againstInputs: true })).toMatchObject({ intact: true });
  });

  it('is made in parts, by several runs over one store, and linked by a last one', async () => {
    const some = experts();
    const merges = someMerges(some);
    const [out, store] = [join(some.root, 'out'), join(some.root, 'store')];
    const parts = await Promise.all(
      [0, 1, 2].map((index) => runBatch(merges, { out, store, range: { index, count: 3 }, threads: 1 })),
    );
    expect(parts.every(({ bytesWritten }) => bytesWritten > 0)).toBe(true);
    const last = await runBatch(merges, { out, store });
    expect(last.bytesWritten).toBe(0);
    const written = parts.reduce((sum, { bytesWritten }) => sum + bytesWritten, 0);
    expect(written).toBe(last.cost.bytesDistinct);
    expect(last.merges.every(({ state }) => state === 'done')).toBe(true);
  });

  it('shares the work of one store between runs at once: every shard is made once', async () => {
    const some = experts();
    const merges = someMerges(some);
    const store = join(some.root, 'store');
    const runs = await Promise.all(
      ['a', 'b'].map((name) => runBatch(merges, { out: join(some.root, name), store, threads: 1 })),
    );
    const written = runs.reduce((sum, { bytesWritten }) => sum + bytesWritten, 0);
    expect(written).toBe(runs[0]?.cost.bytesDistinct);
    for (const { merges: outcomes } of runs)
      expect(outcomes.every(({ state }) => state === 'done')).toBe(true);
  });

  it('leaves other merges running when one fails', async () => {
    const some = experts();
    const [task = '', other = ''] = some.tasks;
    const [language = ''] = some.languages;
    const zeros = { 'model.zero.weight': { dtype: 'BF16', shape: [4], data: new Uint8Array(8) } };
    const flat = ['a', 'b', 'c'].map((name) =>
      writeCheckpoint(join(some.root, name), { tensors: { ...llama().tensors, ...zeros } }),
    );
    const result = await runBatch(
      [
        { name: 'good', recipe: { method: 'soup', models: [task, language] } },
        {
          name: 'bad',
          recipe: { method: 'multislerp', models: flat.map((model) => ({ model, weight: 1 })) },
        },
        { name: 'also-good', recipe: { method: 'soup', models: [other, language] } },
      ],
      { out: join(some.root, 'out') },
    );
    expect(result.merges.map(({ name, state, error }) => [name, state, error?.code])).toEqual([
      ['good', 'done', undefined],
      ['bad', 'failed', 'MERGE_UNDEFINED'],
      ['also-good', 'done', undefined],
    ]);
    expect(readdirSync(join(some.root, 'out')).sort()).toEqual(['.store', 'also-good', 'good']);
  });

  it('computes a damaged shard anew once it has been found', async () => {
    const some = experts();
    const merges = someMerges(some).slice(0, 2);
    const out = join(some.root, 'out');
    await runBatch(merges, { out, link: 'copy' });
    const store = await ShardStore.open(join(out, '.store'));
    const [key = ''] = (await store.list()).shards.map((shard) => shard.key);
    const path = store.pathOf(key);
    const bytes = readFileSync(path);
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
    rmSync(path);
    writeFileSync(path, bytes, { mode: 0o444 });
    expect((await store.verify()).damaged.length).toBe(1);
    const again = await runBatch(merges, { out, link: 'copy' });
    expect(again.cost.shardsToWrite).toBe(1);
    expect((await store.verify()).damaged).toEqual([]);
  });

  it('names the merge whose expert is missing or of another shape, before any work', async () => {
    const some = experts();
    const [task = ''] = some.tasks;
    const out = join(some.root, 'out');
    const odd = writeCheckpoint(join(some.root, 'odd'), llama({ layers: 5 }));
    const missing = {
      name: 'x/y',
      recipe: { method: 'soup', models: [task, join(some.root, 'none')] },
    } as const;
    await expect(runBatch([missing], { out })).rejects.toMatchObject({
      code: 'MODEL_NOT_FOUND',
      message: expect.stringMatching(/^x\/y: /),
    });
    const unlike = { name: 'x/z', recipe: { method: 'soup', models: [task, odd] } } as const;
    await expect(runBatch([unlike], { out })).rejects.toMatchObject({
      code: 'LAYER_COUNT_MISMATCH',
      message: expect.stringMatching(/^x\/z: /),
    });
    expect(() => statSync(out)).toThrow();
  });

  it('refuses hard links into another file system', async ({ skip }) => {
    const some = experts();
    const store = join(onOtherFileSystem() ?? skip('there is no other file system'), 'store');
    const merges = someMerges(some).slice(0, 1);
    const out = join(some.root, 'out');
    await expect(runBatch(merges, { out, store })).rejects.toMatchObject({ code: 'LINK_REFUSED' });
    const result = await runBatch(merges, { out, store, link: 'symbolic' });
    expect(result.merges[0]?.state).toBe('done');
    rmSync(store, { recursive: true, force: true });
  });

  it('refuses hard links to inputs on another file system before it writes, and links when told how', async ({
    skip,
  }) => {
    const { root, tasks, languages } = experts();
    const elsewhere = onOtherFileSystem() ?? skip('there is no other file system');
    const [task, language] = [join(root, 'task'), join(root, 'language')];
    await relayout({ model: tasks[0] ?? '' }, { out: task });
    await relayout({ model: languages[0] ?? '' }, { out: language });
    const merges = [
      { name: 'a/b', recipe: { method: 'layer_swap', task, language, bottom: 2, top: 1 } as const },
    ];
    const out = join(elsewhere, 'out');
    await expect(runBatch(merges, { out })).rejects.toMatchObject({ code: 'LINK_REFUSED' });
    expect(() => statSync(out)).toThrow();
    const copied = await runBatch(merges, { out, link: 'copy' });
    expect(copied.merges[0]?.state).toBe('done');
    // Merges that exist link nothing.
    const again = await runBatch(merges, { out });
    expect(again.merges[0]?.state).toBe('done');
  });
});

describe('an input that changes under a batch', () => {
  it('stops it, and leaves what is finished', async () => {
    const some = experts();
    const merges = someMerges(some);
    const out = join(some.root, 'out');
    await expect(
      runBatch(merges, {
        out,
        onPlan: () => truncateSync(join(some.tasks[0] ?? '', 'model.safetensors'), 5000),
      }),
    ).rejects.toMatchObject({ code: 'INPUT_CHANGED' });
  });

  it.each([{ checksums: true }, { checksums: false }])(
    'makes no shard and no merge of changed bytes, with %o, also when it is put back before the end',
    async ({ checksums }) => {
      const some = experts();
      const merges = someMerges(some).filter(({ name }) => !name.endsWith('magnitude'));
      const [out, good] = [join(some.root, 'out'), join(some.root, 'good')];
      const file = join(some.tasks[0] ?? '', 'model.safetensors');
      await runBatch(merges, { out: good, checksums });
      let former: Buffer | undefined;
      // Planned but not open: the files behind the plan's keys are gone.
      const run = runBatch(merges, {
        out,
        checksums,
        onPlan: () => {
          former = overwrite(file);
        },
      });
      await expect(run).rejects.toMatchObject({ code: 'INPUT_CHANGED' });
      putBack(file, former ?? Buffer.of());
      await runBatch(merges, { out, checksums });
      expect(contentsOf(out, isWeights)).toEqual(contentsOf(good, isWeights));
    },
  );

  it('makes no merge of shards that were made before and after', async () => {
    const some = experts();
    const merges = someMerges(some);
    const [out, good] = [join(some.root, 'out'), join(some.root, 'good')];
    const file = join(some.tasks[1] ?? '', 'model.safetensors');
    await runBatch(merges, { out: good });
    let former: Buffer | undefined;
    const run = runBatch(merges, {
      out,
      threads: 1,
      onMerge: () => {
        former ??= overwrite(file);
      },
    });
    await expect(run).rejects.toMatchObject({ code: 'INPUT_CHANGED' });
    putBack(file, former ?? Buffer.of());
    const [wrong, right] = [contentsOf(out, isWeights), contentsOf(good, isWeights)];
    for (const [path, hash] of Object.entries(wrong)) expect(right[path], path).toBe(hash);
    await runBatch(merges, { out });
    expect(contentsOf(out, isWeights)).toEqual(right);
  });
});

describe('batches that link one input', () => {
  it('do not take each other’s links for changes', async () => {
    const some = experts();
    const byLayer = join(some.root, 'by-layer');
    await relayout({ model: some.tasks[0] ?? '' }, { out: byLayer });
    const merges = [2, 3].flatMap((bottom) =>
      some.languages.map((language, index) => ({
        name: `${index}/b${bottom}`,
        recipe: { method: 'layer_swap', task: byLayer, language, bottom, top: 1 } as const,
      })),
    );
    const names = ['one', 'two', 'three'];
    for (let round = 0; round < 2; round += 1)
      await Promise.all(names.map((name) => runBatch(merges, { out: join(some.root, name) })));
    const [first, ...others] = names.map((name) => contentsOf(join(some.root, name), isWeights));
    for (const other of others) expect(other).toEqual(first);
    const shard = readdirSync(byLayer).find((name) => name.endsWith('.safetensors')) ?? '';
    expect(statSync(join(byLayer, shard)).nlink).toBeGreaterThanOrEqual(1);
    // Replacing a merge removes its links to the inputs and makes new ones.
    await runBatch(
      merges.map(({ name, recipe }) => ({ name, recipe: { ...recipe, topTransition: 1 } })),
      { out: join(some.root, 'one') },
    );
  });
});
