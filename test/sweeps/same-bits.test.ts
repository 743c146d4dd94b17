import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { instructionSets } from '../../src/index.js';
import { kindsOfAdapters } from '../fixtures/adapter-kinds.js';
import { writeAdapter } from '../fixtures/adapters.js';
import { isWhole } from '../fixtures/cases.js';
import { fill, llama, llamaShapes, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { hashOf } from '../fixtures/contents.js';
import { gridOver, writeDistributed } from '../fixtures/distributed-files.js';
import { everyMethod } from '../fixtures/every-method.js';
import { writeFamilyOf } from '../fixtures/family.js';
import { gramsOf, writeGrams } from '../fixtures/grams.js';
import { importancesOf, writeImportances } from '../fixtures/importances.js';
import { quantisedLlama, schemeNames } from '../fixtures/quantised.js';
import { writeVocabulary } from '../fixtures/vocabulary.js';

const [small, large] = [4104, 8388608];

const every = (threads: readonly number[]) =>
  threads.flatMap((count) => [small, large].map((sliceBytes) => [count, sliceBytes]));

const extremes = (most: number) => [
  [1, large],
  [most, small],
];

/**
 * The numbers of threads and sizes of slices that a process tries: `night`, or by day two on the best
 * instruction set, and one on each other, which is compared with those.
 */
const runs = (isBest: boolean, night: number[][], most = 3): string =>
  JSON.stringify(isWhole ? night : isBest ? extremes(most) : [[2, small]]);

// A process chooses its instruction set when it loads the addon, so each set has one process for all merges.
// Starting threads is slow: only this test tries seven, and merges with equal numbers of threads follow each
// other to share them.
const program = (models: readonly string[], out: string, isBest: boolean) => `
  import { analyze, layerSwap, soup } from ${JSON.stringify(fileURLToPath(new URL('../../dist/index.js', import.meta.url)))};
  const [task, language, third] = ${JSON.stringify(models)};
  for (const threads of new Set(${runs(isBest, every([1, 2, 7]), 7)}.map(([count]) => count)))
    await analyze({ base: task, experts: [language, third] }, { threads, out: ${JSON.stringify(out)} + threads + ',analysis' });
  for (const [threads, sliceBytes] of ${runs(isBest, every([1, 2, 7]), 7)})
      for (const dtype of [undefined, 'float8_e4m3fn']) {
        const options = { threads, sliceBytes, layout: 'size', out: ${JSON.stringify(out)} + [threads, sliceBytes, dtype] };
        await layerSwap({ task, language, bottom: 1, top: 1, topTransition: 2, weights: [0.3, 0.9], dtype }, { ...options, out: options.out + 'swap' });
        await soup({ models: [task, language, third], weights: [3, 1, 0.7], dtype }, { ...options, out: options.out + 'soup' });
      }
`;

const contents = async (
  root: string,
  programOf: (out: string, isBest: boolean) => string,
): Promise<Record<string, number>> => {
  const { available } = instructionSets();
  await Promise.all(
    available.map(async (isa) => {
      const program = programOf(join(root, `${isa}-`), isa === available[0]);
      await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], {
        env: { ...process.env, LAYERLOOM_ISA: isa },
      });
    }),
  );
  const hashes = new Map<string, Set<string>>();
  for (const name of readdirSync(root).filter((found) => found.includes(','))) {
    const merge = name.split(',').at(-1) ?? '';
    hashes.set(merge, (hashes.get(merge) ?? new Set()).add(hashOf(join(root, name))));
  }
  return Object.fromEntries([...hashes].map(([name, { size }]) => [name, size]));
};

it('every instruction set, thread count and slice size makes the same files', async () => {
  const root = temporaryDirectory();
  const shape = { hidden: 88, layers: 5 };
  const inputs = [
    llama({ ...shape, seed: 1 }),
    llama({ ...shape, seed: 2, dtype: 'F16' }),
    { ...llama(shape), tensors: fill(llamaShapes(shape), 'F32', 3) },
  ];
  const models = inputs.map((input, index) => writeCheckpoint(join(root, `model-${index}`), input));
  expect(await contents(root, (out, isBest) => program(models, out, isBest))).toEqual({
    analysis: 1,
    float8_e4m3fnsoup: 1,
    float8_e4m3fnswap: 1,
    soup: 1,
    swap: 1,
  });
}, 240_000);

it('every instruction set, thread count and slice size reads the same numbers of quantised models', async () => {
  const root = temporaryDirectory();
  const schemes = schemeNames;
  const pairs = schemes.map((scheme, index) =>
    [1, 2].map((seed) => writeCheckpoint(join(root, `m${index}-${seed}`), quantisedLlama(scheme, { seed }))),
  );
  const url = JSON.stringify(fileURLToPath(new URL('../../dist/index.js', import.meta.url)));
  const found = await contents(
    root,
    (out, isBest) => `
    import { merge, soup } from ${url};
    for (const [threads, sliceBytes] of ${runs(isBest, extremes(3))})
      for (const [index, [a, b]] of ${JSON.stringify(pairs)}.entries()) {
        const options = { threads, sliceBytes, layout: 'size' };
        const at = ${JSON.stringify(out)} + [threads, sliceBytes, index];
        await soup({ models: [a, b], weights: [3, 1] }, { ...options, out: at + 'soup' });
        await merge({ method: 'ties', base: a, models: [a, b], weight: 1, density: 0.4 }, { ...options, out: at + 'ties' });
      }
  `,
  );
  expect(found).toEqual(
    Object.fromEntries(
      schemes.flatMap((_, index) => [
        [`${index}soup`, 1],
        [`${index}ties`, 1],
      ]),
    ),
  );
}, 240_000);

it('every instruction set, thread count and slice size applies adapters and joins pieces in the same way', async () => {
  const root = temporaryDirectory();
  const base = llama({ dtype: 'F32', layers: 1, seed: 5 });
  const files = ['__0_0.distcp', '__0_1.distcp', '__1_0.distcp', '__1_1.distcp'];
  const whole = writeCheckpoint(join(root, 'base'), base);
  const half = writeCheckpoint(join(root, 'half'), llama({ layers: 1, seed: 6 }));
  const models = [
    writeDistributed(join(root, 'pieces'), { ...base, cut: gridOver(files) }),
    ...kindsOfAdapters.flatMap(({ adapter }, index) => {
      const path = writeAdapter(join(root, `adapter-${index}`), adapter);
      return [`${whole}+${path}`, `${half}+${path}`];
    }),
  ];
  const url = JSON.stringify(fileURLToPath(new URL('../../dist/index.js', import.meta.url)));
  const found = await contents(
    root,
    (out, isBest) => `
    import { soup } from ${url};
    for (const [threads, sliceBytes] of ${runs(isBest, extremes(3))})
      for (const [index, model] of ${JSON.stringify(models)}.entries())
        await soup({ models: [model, ${JSON.stringify(whole)}], weights: [3, 1] },
          { threads, sliceBytes, layout: 'size', out: ${JSON.stringify(out)} + [threads, sliceBytes, index] });
  `,
  );
  expect(found).toEqual(Object.fromEntries(models.map((_, index) => [String(index), 1])));
}, 240_000);

it('every instruction set, thread count and slice size quantises in the same way', async () => {
  const root = temporaryDirectory();
  const shape = { hidden: 192, layers: 3 };
  const models = [1, 2].map((seed) => writeCheckpoint(join(root, `m${seed}`), llama({ ...shape, seed })));
  const url = JSON.stringify(fileURLToPath(new URL('../../dist/index.js', import.meta.url)));
  const found = await contents(
    root,
    (out, isBest) => `
    import { writeFileSync, mkdirSync } from 'node:fs';
    import { diff, soup } from ${url};
    const [a, b] = ${JSON.stringify(models)};
    for (const [threads, sliceBytes] of ${runs(isBest, every([1, 2, 3]))}) {
      const at = ${JSON.stringify(out)} + [threads, sliceBytes];
      for (const quantizeReport of ['fp8-block', 'int8', 'int4', 'mxfp4', 'nvfp4']) {
        const { tensors } = (await diff(a, b, { quantizeReport, threads })).quantised;
        const directory = at + ',' + quantizeReport;
        mkdirSync(directory);
        writeFileSync(directory + '/report.json', JSON.stringify(tensors));
      }
      for (const quantize of ['fp8-block', 'int8'])
        await soup({ models: [a, b], base: a, weights: [3, 1], quantize },
          { threads, sliceBytes, out: at + ',' + quantize + '-soup' });
    }
  `,
  );
  expect(found).toEqual({
    'fp8-block': 1,
    int8: 1,
    int4: 1,
    mxfp4: 1,
    nvfp4: 1,
    'fp8-block-soup': 1,
    'int8-soup': 1,
  });
}, 240_000);

it('every instruction set, thread count and slice size averages by importances and merges by Gram matrices in the same way', async () => {
  const root = temporaryDirectory();
  const inputs = [
    llama({ hidden: 88, layers: 3, seed: 1 }),
    llama({ hidden: 88, layers: 3, seed: 2, dtype: 'F16' }),
    { ...llama({ hidden: 88, layers: 3 }), tensors: fill(llamaShapes({ hidden: 88, layers: 3 }), 'F32', 3) },
  ];
  const models = inputs.map((input, index) => writeCheckpoint(join(root, `m${index}`), input));
  const importances = inputs.map(({ tensors }, index) =>
    writeImportances(root, `m${index}`, importancesOf(tensors, index, index === 1 ? 'BF16' : 'F32')),
  );
  const grams = inputs.map(({ tensors }, index) =>
    writeGrams(root, `m${index}`, gramsOf(tensors, index, { dtype: index === 1 ? 'BF16' : 'F32' })),
  );
  const recipes = {
    fisher: { method: 'fisher', models, importances, weights: [3, 1, 0.7], eps: 1e-9 },
    regmean: { method: 'regmean', models, grams, weights: [3, 1, 0.7], ridge: 1e-3 },
  };
  const url = JSON.stringify(fileURLToPath(new URL('../../dist/index.js', import.meta.url)));
  const found = await contents(
    root,
    (out, isBest) => `
    import { merge } from ${url};
    const recipes = ${JSON.stringify(recipes)};
    for (const [threads, sliceBytes] of ${runs(isBest, every([1, 2, 3]))})
      for (const [method, recipe] of Object.entries(recipes))
        for (const dtype of ['bfloat16', 'float32', 'float8_e4m3fn'])
          await merge({ ...recipe, dtype },
            { threads, sliceBytes, layout: 'size', out: ${JSON.stringify(out)} + [threads, sliceBytes, dtype + method] });
  `,
  );
  expect(found).toEqual(
    Object.fromEntries(
      ['bfloat16', 'float32', 'float8_e4m3fn'].flatMap((dtype) =>
        Object.keys(recipes).map((method) => [`${dtype}${method}`, 1]),
      ),
    ),
  );
}, 240_000);

const ofEveryMethod = async (root: string, models: Parameters<typeof everyMethod>[0]) => {
  const recipes = everyMethod(models);
  const url = JSON.stringify(fileURLToPath(new URL('../../dist/index.js', import.meta.url)));
  const programOf = (out: string, isBest: boolean) => `
    import { merge } from ${url};
    for (const [threads, sliceBytes] of ${runs(
      isBest,
      isBest
        ? every([1, 2, 3])
        : [
            [1, small],
            [2, large],
          ],
    )})
      for (const [name, recipe] of Object.entries(${JSON.stringify(recipes)})) {
        const out = ${JSON.stringify(out)} + [threads, sliceBytes, name];
        await merge(recipe, { threads, sliceBytes, layout: 'size', out });
      }
  `;
  return { names: Object.keys(recipes), contents: await contents(root, programOf) };
};

it('and so of every method', async () => {
  const { root, ...models } = writeFamilyOf({
    'model.embed_tokens.weight': [37, 120],
    'model.layers.0.mlp.up_proj.weight': [210, 33],
    'model.layers.0.input_layernorm.weight': [33],
    'model.layers.1.mlp.up_proj.weight': [210, 33],
    'model.layers.1.input_layernorm.weight': [33],
  });
  const { names, contents } = await ofEveryMethod(root, models);
  expect(contents).toEqual(Object.fromEntries(names.map((name) => [name, 1])));
}, 300_000);

it('and so of every method over models whose rows are gathered', async () => {
  const root = temporaryDirectory();
  const tokens = Array.from({ length: 37 }, (_, index) => `t${index}`);
  const shape = { hidden: 120, tied: true, layers: 1 };
  const model = (name: string, seed: number, added: readonly string[], dtype?: 'F32') =>
    writeVocabulary(join(root, name), { ...shape, tokens, added, seed, ...(dtype && { dtype }) });
  const { names, contents } = await ofEveryMethod(root, {
    base: model('base', 1, []),
    a: model('a', 2, ['<pad>', '<a>']),
    b: model('b', 3, ['<pad>'], 'F32'),
    c: model('c', 4, ['<c>', '<d>', '<e>']),
  });
  expect(contents).toEqual(Object.fromEntries(names.map((name) => [name, 1])));
}, 300_000);
