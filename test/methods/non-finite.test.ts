import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { instructionSets } from '../../src/core/native/addon.js';
import {
  LayerloomError,
  layerSwap,
  merge,
  planMerge,
  type RecipeInput,
  relayout,
  runPlan,
} from '../../src/index.js';
import {
  fill,
  llamaShapes,
  type Tensors,
  temporaryDirectory,
  writeCheckpoint,
} from '../fixtures/checkpoints.js';
import { everyMethod } from '../fixtures/every-method.js';
import type { Floating } from '../fixtures/numbers.js';
import { indexIn, poisoned } from '../fixtures/poison.js';

const matrix = 'model.layers.0.mlp.down_proj.weight';
const shape = { layers: 1, hidden: 17, tied: true };
const [rows, columns] = llamaShapes(shape)[matrix] as [number, number];
const elements = rows * columns;

const tensorsOf = (dtype: Floating, seed: number): Tensors =>
  fill({ [matrix]: [rows, columns] }, dtype, seed);

type Name = 'base' | 'a' | 'b' | 'c';

const writeModels = (
  dtype: Floating,
  at?: { readonly model: Name; readonly element: number; readonly number: number },
): Record<Name, string> => {
  const root = temporaryDirectory();
  const names: Name[] = ['base', 'a', 'b', 'c'];
  return Object.fromEntries(
    names.map((name, seed) => {
      const tensors = tensorsOf(dtype, seed);
      const own = at?.model === name ? poisoned(tensors, matrix, at.element, at.number) : tensors;
      return [name, writeCheckpoint(join(root, name), { tensors: own })];
    }),
  ) as Record<Name, string>;
};

const refusalOf = async (recipe: RecipeInput, out: string, options = {}): Promise<unknown> => {
  try {
    await merge(recipe, { out, ...options });
    return 'merged';
  } catch (error) {
    if (!(error instanceof LayerloomError)) throw error;
    expect(existsSync(out)).toBe(false);
    return { code: error.code, ...error.details };
  }
};

const usedBy = (name: string): Name[] => {
  if (name === 'passthrough') return ['a'];
  if (['slerp', 'nuslerp', 'nuslerp-columns'].includes(name)) return ['a', 'b'];
  if (['linear', 'karcher', 'multislerp'].includes(name)) return ['a', 'b', 'c'];
  if (name === 'nuslerp-rows' || name === 'nested') return ['base', 'a', 'b'];
  if (['nearswap', 'arcee_fusion'].includes(name)) return ['base', 'a'];
  return ['base', 'a', 'b', 'c'];
};

const numbers = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];

/**
 * Leaves out methods that first compute task vectors of whole models: these refuse with the number of
 * elements.
 */
const methods = Object.keys(everyMethod({ base: '', a: '', b: '', c: '' })).filter(
  (name) => name !== 'revert' && name !== 'soup',
);

describe.each(methods)('%s', (name) => {
  it('refuses what is not finite in any of its inputs, with tensor and index', async () => {
    for (const [place, model] of usedBy(name).entries()) {
      const which = (place + methods.indexOf(name)) % numbers.length;
      const number = numbers[which] as number;
      const element = [0, elements - 1, 333][which] as number;
      const models = writeModels('BF16', { model, element, number });
      const recipe = everyMethod(models)[name] as RecipeInput;
      expect
        .soft(await refusalOf(recipe, join(models.base, '..', 'out')), `${model} ${number}`)
        .toMatchObject({
          code: 'NON_FINITE',
          tensors: [
            {
              tensor: matrix,
              index: indexIn(element, columns),
              is: String(number),
              file: join(models[model], 'model.safetensors'),
            },
          ],
        });
    }
  });
});

/** Recipes by different paths through the native code. */
const some = ['linear', 'slerp', 'karcher', 'ties', 'dare_ties', 'sce', 'nearswap', 'nested'];

describe.each(['F16', 'F32', 'F64', 'F8_E4M3', 'F8_E5M2'] as const)('of %s', (dtype) => {
  it.each(some)('%s refuses its NaN', async (name) => {
    const models = writeModels(dtype, { model: 'a', element: elements - 1, number: Number.NaN });
    const recipe = everyMethod(models)[name] as RecipeInput;
    expect(await refusalOf(recipe, join(models.base, '..', 'out'))).toMatchObject({
      code: 'NON_FINITE',
      tensors: [{ index: [rows - 1, columns - 1], is: 'NaN' }],
    });
  });
});

it.each(instructionSets().available)(
  'names the same element on %s, with any number of threads and slice',
  async (isa) => {
    const root = temporaryDirectory();
    const many = { [matrix]: [90, 101] };
    const at = 4000;
    const models = Object.fromEntries(
      ['base', 'a', 'b', 'c'].map((name, seed) => {
        let tensors = fill(many, 'BF16', seed);
        if (name === 'b')
          for (const element of [at, at + 1, 9089]) tensors = poisoned(tensors, matrix, element, Number.NaN);
        return [name, writeCheckpoint(join(root, name), { tensors })];
      }),
    ) as Record<Name, string>;
    const recipes = some.map((name) => everyMethod(models)[name]).filter((_, index) => index !== 6);
    const program = `
      import { merge } from ${JSON.stringify(new URL('../../dist/index.js', import.meta.url).href)};
      const found = new Set();
      for (const recipe of ${JSON.stringify(recipes)})
        for (const options of [{ threads: 1, sliceBytes: 4096 }, { threads: 2, sliceBytes: 4096 }, { threads: 2 }])
          await merge(recipe, { ...options, out: ${JSON.stringify(join(root, 'out'))} }).then(
            () => found.add('merged'),
            ({ code, details: { tensors } }) => found.add(JSON.stringify([code, tensors])));
      console.log(JSON.stringify([...found].map((one) => JSON.parse(one))));`;
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], {
      env: { ...process.env, LAYERLOOM_ISA: isa },
    });
    const file = join(models.b, 'model.safetensors');
    expect(JSON.parse(stdout)).toEqual([
      ['NON_FINITE', [{ tensor: matrix, index: indexIn(at, 101), is: 'NaN', file }]],
    ]);
  },
);

describe('what is computed of finite numbers', () => {
  const large = { BF16: 3e38, F16: 60000, F32: 3e38, F8_E5M2: 57344, F8_E4M3: 448, F64: 1e308 } as const;

  it.each(Object.entries(large) as [Floating, number][])('is refused beyond %s', async (dtype, number) => {
    const element = 41;
    const models = writeModels(dtype, { model: 'a', element, number });
    const recipe: RecipeInput = { method: 'passthrough', models: [{ model: models.a, scale: 4 }] };
    const is = dtype === 'F8_E4M3' ? 'NaN' : 'Infinity';
    const out = join(models.base, '..', 'out');
    const found = await refusalOf(recipe, out);
    expect(found).toMatchObject({
      code: 'NON_FINITE',
      tensors: [{ tensor: matrix, index: indexIn(element, columns), is }],
    });
    expect(found).not.toHaveProperty('tensors.0.file');
    await merge({ ...recipe, allowNonFinite: true }, { out });
  });

  it('is refused where another dtype is narrower', async () => {
    const { a } = writeModels('F32', { model: 'a', element: 7, number: 70000 });
    expect(await refusalOf({ method: 'relayout', model: a, dtype: 'float16' }, `${a}-out`)).toMatchObject({
      code: 'NON_FINITE',
      tensors: [{ index: [0, 7], is: 'Infinity' }],
    });
    await relayout({ model: a, dtype: 'bfloat16' }, { out: `${a}-out` });
  });

  it.each(['karcher', 'multislerp', 'slerp', 'nuslerp', 'nuslerp-columns'])(
    '%s has finite coefficients where squares of float32 overflow',
    async (name) => {
      const models = writeModels('F32', { model: 'a', element: 5, number: 1e38 });
      const out = join(models.base, '..', 'out');
      await merge(everyMethod(models)[name] as RecipeInput, { out });
      const written = readFileSync(join(out, 'model.safetensors')).subarray(-4 * elements);
      const numbers = new Float32Array(Uint8Array.from(written).buffer);
      expect(numbers.every(Number.isFinite)).toBe(true);
      expect(numbers.some((number) => Math.abs(number) > 1e36)).toBe(true);
    },
  );
});

describe('what is copied', () => {
  const poisonedPair = () => {
    const root = temporaryDirectory();
    const tensors = (seed: number) => fill(llamaShapes({ layers: 4 }), 'BF16', seed);
    const inLayer = poisoned(tensors(1), 'model.layers.2.mlp.down_proj.weight', 3, Number.NaN);
    const config = { model_type: 'llama', architectures: ['LlamaForCausalLM'], num_hidden_layers: 4 };
    const [task, language] = [inLayer, tensors(2)].map((own, index) =>
      writeCheckpoint(join(root, `model-${index}`), { tensors: own, config }),
    ) as [string, string];
    return { task, language, out: join(root, 'out') };
  };

  it('is never looked at, in a layer of one expert', async () => {
    const { task, language, out } = poisonedPair();
    await layerSwap({ task, language, bottom: 1, top: 1 }, { out });
    await relayout({ model: task }, { out: `${out}-relayout` });
    await expect(
      layerSwap({ task, language, bottom: 1, top: 1, topTransition: 1 }, { out: `${out}-averaged` }),
    ).rejects.toMatchObject({ code: 'NON_FINITE' });
  });
});

describe('with allowNonFinite', () => {
  it('a merge has what arithmetic gives, and a recipe that makes it again', async () => {
    const models = writeModels('BF16', { model: 'b', element: 8, number: Number.POSITIVE_INFINITY });
    const out = join(models.base, '..', 'out');
    const recipe: RecipeInput = { method: 'soup', models: [models.a, models.b] };
    const plan = await planMerge(recipe, { allowNonFinite: true });
    expect(plan.completeRecipe).toMatchObject({ allow_non_finite: true });
    await runPlan(JSON.parse(JSON.stringify(plan)), { out });
    const bytes = readFileSync(join(out, 'model.safetensors'));
    expect(bytes.readUInt16LE(bytes.length - 2 * (elements - 8))).toBe(0x7f80);
    await merge(join(out, 'README.md'), { out: `${out}-again` });
    expect(readFileSync(join(`${out}-again`, 'model.safetensors')).equals(bytes)).toBe(true);
  });

  it('is true or false, and of no recipe in a recipe', async () => {
    const { a, b, base } = writeModels('BF16');
    const out = join(base, '..', 'out');
    const wrong = { method: 'soup', models: [a, b], allowNonFinite: 1 } as unknown as RecipeInput;
    await expect(merge(wrong, { out })).rejects.toMatchObject({ code: 'INVALID_PARAMETER' });
    const inner: RecipeInput = { method: 'soup', models: [a, b], allowNonFinite: true };
    await expect(merge({ method: 'soup', models: [inner, b] }, { out })).rejects.toMatchObject({
      code: 'INVALID_PARAMETER',
    });
  });
});
