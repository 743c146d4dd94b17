import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fill, llama, llamaShapes, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { hashOf } from '../fixtures/contents.js';
import { everyMethod } from '../fixtures/every-method.js';
import { writeFamilyOf } from '../fixtures/family.js';
import { platforms, runInNode, treeRoot, withReason } from './platforms.js';

/** This machine's own build, by its own compiler: `npm run build:native`. */
const hostAddon = `${treeRoot}native/build/Release/layerloom.node`;

const index = JSON.stringify(`${treeRoot}dist/index.js`);

/** A recipe for each path through the kernels: as many as an emulated processor does in minutes. */
const few = ['slerp', 'nuslerp-rows', 'ties', 'dare_ties', 'della', 'model_stock', 'sce', 'nested'];

/**
 * Writes models. Returns a program that merges, averages, analyzes and compares them into a directory's
 * folders, and the number of folders.
 */
const writeProgram = (
  isEmulated: boolean,
): { readonly programOf: (directory: string) => string; readonly count: number } => {
  const {
    root: _,
    tensors: __,
    ...family
  } = writeFamilyOf({
    'model.embed_tokens.weight': [37, 120],
    'model.layers.0.mlp.up_proj.weight': [210, 33],
    'model.layers.0.input_layernorm.weight': [33],
    'model.layers.1.mlp.up_proj.weight': [210, 33],
    'model.layers.1.input_layernorm.weight': [33],
  });
  const recipes = Object.entries(everyMethod(family)).filter(([name]) => !isEmulated || few.includes(name));
  const shape = { hidden: 88, layers: 5 };
  const models = [
    llama({ ...shape, seed: 1 }),
    llama({ ...shape, seed: 2, dtype: 'F16' }),
    { ...llama(shape), tensors: fill(llamaShapes(shape), 'F32', 3) },
  ].map((model, index) => writeCheckpoint(join(temporaryDirectory(), `model-${index}`), model));
  const programOf = (directory: string) => `
    import { mkdirSync, writeFileSync } from 'node:fs';
    import { analyze, diff, layerSwap, merge, soup } from ${index};
    const options = (name) => ({ threads: 2, sliceBytes: 8388608, layout: 'size', out: ${JSON.stringify(directory)} + '/' + name });
    for (const [name, recipe] of ${JSON.stringify(recipes)})
      await merge(recipe, options(name));
    const [task, language, third] = ${JSON.stringify(models)};
    for (const dtype of [undefined, 'float16', 'float8_e4m3fn', 'float8_e5m2']) {
      const name = dtype ?? 'own';
      await layerSwap({ task, language, bottom: 1, top: 1, topTransition: 2, weights: [0.3, 0.9], dtype }, options('swap-' + name));
      await soup({ models: [task, language, third], weights: [3, 1, 0.7], dtype }, options('soup-' + name));
    }
    await analyze({ base: task, experts: [language, third] }, { threads: 2, out: options('analysis').out });
    const pairs = { halves: [task, language], widths: [language, third], bytes: [options('swap-float8_e4m3fn').out, task], bits: [options('swap-own').out, task] };
    for (const [name, [a, b]] of Object.entries(pairs)) {
      const { tensors } = await diff(a, b, { threads: 2 });
      const { out } = options('diff-' + name);
      mkdirSync(out);
      writeFileSync(out + '/diff.json', JSON.stringify(tensors.map(({ name, state, difference }) => [name, state, difference])));
    }
  `;
  // Four dtypes of swaps and of averages, the analysis, four comparisons.
  return { programOf, count: recipes.length + 13 };
};

const hashesOf = async (
  programOf: (directory: string) => string,
  node: readonly string[],
  addon: string,
  isa: string,
): Promise<Readonly<Record<string, string>>> => {
  const directory = temporaryDirectory();
  await runInNode(node, addon, programOf(directory), { LAYERLOOM_ISA: isa });
  return Object.fromEntries(readdirSync(directory).map((name) => [name, hashOf(join(directory, name))]));
};

describe.each(platforms)(
  'an addon for $name',
  ({ name, addon, instructionSets, node, isEmulated, missing }) => {
    it.skipIf(missing.node)(
      withReason('reports the instruction sets that the processor has', missing.node),
      async () => {
        const program = `
      import { createRequire } from 'node:module';
      const { instructionSets } = createRequire(${index})(${JSON.stringify(addon)});
      console.log(process.arch, ...instructionSets);
    `;
        const printed = await runInNode(node, addon, program, { LAYERLOOM_ISA: '' });
        expect(printed.trim().split(' ')).toEqual([name.split('-')[1], ...instructionSets]);
      },
    );

    it.skipIf(missing.node)(
      withReason('makes the bits of this machine’s own build', missing.node),
      async () => {
        const { programOf, count } = writeProgram(isEmulated);
        const expected = await hashesOf(programOf, [process.execPath], hostAddon, '');
        expect(Object.keys(expected)).toHaveLength(count);
        // The kernels' test program runs all of them.
        for (const isa of isEmulated ? instructionSets.slice(0, 1) : instructionSets)
          expect(await hashesOf(programOf, node, addon, isa), isa).toEqual(expected);
      },
    );

    it.skipIf(missing.node)(
      withReason('says that an input shrank while it was read, and goes on', missing.node),
      async () => {
        const program = `
      import { openSync, truncateSync } from 'node:fs';
      import { createRequire } from 'node:module';
      import { Worker } from 'node:worker_threads';
      const path = ${JSON.stringify(join(temporaryDirectory(), 'in'))};
      openSync(path, 'w');
      truncateSync(path, 2 ** 28);
      const worker = new Worker(\`
        const { openSync } = require('node:fs');
        const { parentPort, workerData } = require('node:worker_threads');
        const door = require(process.env.LAYERLOOM_ADDON);
        const [from, to] = [openSync(workerData, 'r'), openSync(workerData + '.out', 'w+')];
        const program = { sources: [{ fd: from, begin: 0, dtype: 'BF16', slicing: 'elements' }],
          nodes: [{ kind: 'linear', dtype: 'BF16', inputs: [0], weights: [1] }], first: 0, count: 2 ** 27, columns: 1, watched: [] };
        const job = { kind: 'compute', program, outputs: [{ value: 1, fd: to, begin: 0, dtype: 'BF16' }] };
        const control = new BigInt64Array(new SharedArrayBuffer(24));
        parentPort.postMessage('began');
        parentPort.postMessage(door.run(job, control));
      \`, { eval: true, execArgv: [], workerData: path });
      worker.on('message', (message) => {
        if (message === 'began') setTimeout(() => truncateSync(path, 4096), 5);
        else console.log(message.outcome);
      });
    `;
        expect(await runInNode(node, addon, program)).toBe('inputShrank\n');
      },
    );
  },
);
