import { describe, expect, expectTypeOf, it } from 'vitest';
import type { Drift } from '../src/core/methods/framework/declaration/declared.js';
import { isBuiltIn } from '../src/core/methods/index.js';
import type { ModelTensor } from '../src/core/methods/operations/expression.js';
import { parseDtype } from '../src/core/tensor/dtype.js';
import {
  analyze,
  anyNumber,
  type DtypeName,
  type ExperimentInput,
  explainTensor,
  flag,
  LayerloomError,
  type LayerSwapParameters,
  layerSwap,
  type ModelInput,
  merge,
  methods,
  oneOf,
  planMerge,
  type RecipeInput,
  type RecipesByMethod,
  type RunOptions,
  relayout,
  revert,
  runExperiment,
  runPlan,
  type SoupParameters,
  share,
  soup,
  tensorMethod,
} from '../src/index.js';

// The functions are never called.

const to = { out: './merged' };
const [task, language] = ['./math-1', './swh-1'];
const experts = { tasks: { math: task }, languages: { swahili: { swh: language } } };
const pair = { base: './llama', models: [task, language] };

describe('calls that are wrong do not compile', () => {
  it('of layerSwap', () => {
    void (() => [
      // @ts-expect-error models are paths or recipes
      layerSwap({ task: 42, language: null }, to),
      // @ts-expect-error language is missing
      layerSwap({ task: 'a' }, to),
      // @ts-expect-error options are missing
      layerSwap({ task, language }),
      // @ts-expect-error out is missing
      layerSwap({ task, language }, {}),
      // @ts-expect-error a number of layers
      layerSwap({ task, language, bottom: '5' }, to),
      // @ts-expect-error bottom is misspelt
      layerSwap({ task, language, botom: 5 }, to),
      // @ts-expect-error average is misspelt
      layerSwap({ task, language, others: 'avrage' }, to),
      // @ts-expect-error layer or average
      layerSwap({ task, language, norms: 'layers' }, to),
      // @ts-expect-error two weights
      layerSwap({ task, language, weights: [1, 2, 3] }, to),
      // @ts-expect-error magnitude is misspelt
      layerSwap({ task, language, weights: 'magnitudes' }, to),
      // @ts-expect-error the inner recipe lacks its models
      layerSwap({ task: { method: 'soup' }, language }, to),
      // @ts-expect-error the inner recipe's method is misspelt
      layerSwap({ task: { method: 'suop', models: ['a'] }, language }, to),
    ]);
  });

  it('of soup, revert and relayout', () => {
    void (() => [
      // @ts-expect-error a list of models
      soup({ models: 'a' }, to),
      // @ts-expect-error magnitude is misspelt
      soup({ models: ['a'], weights: 'magnitudes' }, to),
      // @ts-expect-error models are paths or recipes
      soup({ models: [1, 2] }, to),
      // @ts-expect-error the model is missing
      revert({ base: 'a' }, to),
      // @ts-expect-error input or output
      revert({ base: 'a', model: 'b', threshold: 1, rows: 'inputs' }, to),
      // @ts-expect-error keep or revert
      revert({ base: 'a', model: 'b', others: 'average' }, to),
      // @ts-expect-error model, not models
      relayout({ models: ['a'] }, to),
    ]);
  });

  it('of merge', () => {
    void (() => [
      // @ts-expect-error no such method
      merge({ method: 'tise' }, to),
      // @ts-expect-error no such method
      merge({ method: 'tise', ...pair, weights: [1, 1] }, to),
      // @ts-expect-error density is misspelt
      merge({ method: 'ties', ...pair, weights: [1, 1], densty: 0.5 }, to),
      // @ts-expect-error base is missing
      merge({ method: 'ties', models: [task], weight: 1 }, to),
      // @ts-expect-error models are missing
      merge({ method: 'ties', base: 'a', weight: 1 }, to),
      // @ts-expect-error t is a number
      merge({ method: 'slerp', base: 'a', models: ['b'], t: 'half' }, to),
      // @ts-expect-error t is missing
      merge({ method: 'slerp', base: 'a', models: ['b'] }, to),
      // @ts-expect-error ties has no t
      merge({ method: 'ties', ...pair, t: 0.5 }, to),
      // @ts-expect-error true or false
      merge({ method: 'linear', models: [task], weight: 1, normalize: 'yes' }, to),
      // @ts-expect-error no such dialect
      merge({ method: 'ties', ...pair, weight: 1, dialect: 'authors' }, to),
      // @ts-expect-error a gradient of numbers
      merge({ method: 'ties', ...pair, weight: 1, density: [0.5, 'x'] }, to),
      // @ts-expect-error a range is two numbers
      merge({ method: 'passthrough', slices: [{ sources: [{ model: 'a', layerRange: 4 }] }] }, to),
      // @ts-expect-error bf16 is misspelt
      merge({ method: 'soup', models: ['a'], dtype: 'bf61' }, to),
      // @ts-expect-error bf16 is misspelt
      planMerge({ method: 'soup', models: ['a'] }, { dtype: 'bf61' }),
      // @ts-expect-error the method is missing
      explainTensor({ models: ['a'] }, 'lm_head.weight'),
    ]);
  });

  it('of analyze and runExperiment', () => {
    void (() => [
      // @ts-expect-error input or output
      analyze({ base: 'a', experts: ['b'], rows: 'inputs' }, to),
      // @ts-expect-error a list of experts
      analyze({ base: 'a', experts: 'b' }, to),
      // @ts-expect-error input or output
      runExperiment({ ...experts, merges: [{ name: 'r', method: 'revert', rows: 'inputs' }] }, to),
      // @ts-expect-error no such method
      runExperiment({ ...experts, merges: [{ name: 's', method: 'layerswap' }] }, to),
      // @ts-expect-error bottom is misspelt
      runExperiment({ ...experts, merges: [{ name: 's', method: 'layer_swap', botom: [1, 2] }] }, to),
      // @ts-expect-error layer or size
      runExperiment({ ...experts, merges: [], layout: 'layers' }, to),
      // @ts-expect-error bf16 is misspelt
      runExperiment({ ...experts, merges: [], dtype: 'bf61' }, to),
      // @ts-expect-error the reference lacks its model
      runExperiment({ ...experts, merges: [], references: { joint: { role: 'joint' } } }, to),
      // @ts-expect-error a path or a model with a role
      runExperiment({ ...experts, merges: [], references: { joint: 1 } }, to),
    ]);
  });

  it('with wrong options', () => {
    void (() => [
      // @ts-expect-error hard
      merge('ties.yaml', { ...to, link: 'hardlink' }),
      // @ts-expect-error a number
      merge('ties.yaml', { ...to, threads: '4' }),
      // @ts-expect-error layer or size
      merge('ties.yaml', { ...to, layout: 'layers' }),
      // @ts-expect-error resume is misspelt
      merge('ties.yaml', { ...to, resum: true }),
      // @ts-expect-error a function
      merge('ties.yaml', { ...to, onProgress: true }),
    ]);
  });

  it('of tensorMethod', () => {
    const named = { name: 'm', title: 'M' };
    void (() => [
      tensorMethod({
        ...named,
        base: 'required',
        shared: { alpha: anyNumber() },
        // @ts-expect-error alpha is misspelt
        expression: ({ base, shared: { alhpa } }) => ({
          kind: 'linear',
          terms: [{ source: base, weight: alhpa }],
        }),
      }),
      tensorMethod({
        ...named,
        base: 'optional',
        // @ts-expect-error an optional base may be undefined
        expression: ({ base }) => ({ kind: 'copy', source: base }),
      }),
      tensorMethod({
        ...named,
        base: 'ignored',
        models: { least: 1, most: 1 },
        // @ts-expect-error one model
        expression: ({ models: [, second] }) => ({ kind: 'copy', source: second }),
      }),
      // @ts-expect-error a number
      anyNumber('1'),
      // @ts-expect-error no such base
      tensorMethod({ ...named, base: 'needed', expression: () => ({ kind: 'linear', terms: [] }) }),
    ]);
  });
});

describe('calls of the documentation compile', () => {
  it('of methods', () => {
    void (() => [
      layerSwap(
        { task, language, bottom: 5, top: 2 },
        { ...to, onProgress: ({ done, total }) => done / total },
      ),
      soup({ models: [task, language] }, to),
      revert({ base: './llama-3.1-8b', model: task, targetKept: 0.75, dtype: 'torch.bfloat16' }, to),
      relayout({ model: task }, to),
      merge('ties.yaml', to),
      merge({ method: 'ties', ...pair, weights: [1, 1], density: 0.5, dtype: 'BF16' }, to),
      merge(
        {
          method: 'ties',
          base: './llama-3.1-8b',
          models: [
            { model: task, weight: 1, density: [0.3, 0.7] },
            { model: { method: 'soup', models: [task, language] }, weight: 0.5 },
          ],
          density: [{ filter: 'self_attn', value: 0.2 }, { value: [0.5, 0.7] }],
          rescale: 'norm',
          lambda: 0.9,
          tokenizerSource: 'base',
        },
        to,
      ),
      merge(
        {
          method: 'passthrough',
          slices: [
            { sources: [{ model: task, layerRange: [0, 24] }] },
            { sources: [{ model: language, layerRange: [8, 32], scale: 0.5 }] },
          ],
        },
        to,
      ),
      layerSwap({ task: { method: 'ties', ...pair, weight: 1, dialect: 'paper' }, language }, to),
    ]);
  });

  it('of experiments', () => {
    const experiment: ExperimentInput = {
      ...experts,
      base: './llama-3.1-8b',
      merges: [
        { name: 'default', method: 'layer_swap' },
        { name: 'grid', method: 'layer_swap', bottom: [3, 4], top: 1, weights: ['uniform', 'magnitude'] },
        {
          name: 'ablate',
          method: 'layer_swap',
          layers: [
            [0, 0],
            [3, 1],
          ],
          weights: [1, 3],
        },
        {
          name: 'pairs',
          method: 'soup',
          weights: [
            [1, 1],
            [1, 3],
          ],
        },
        { name: 'two', method: ['ties', 'dare_ties'], density: [0.2, 0.5], task: 'soup', language: ['swh'] },
        { name: 'back', method: 'revert', model: 'task', threshold: [1e-5, 1e-4], rows: 'output' },
        { name: 'between', method: 'slerp', base: 'language', t: [0.25, 0.5] },
      ],
    };
    void (() => runExperiment(experiment, to));
  });
});

describe('types', () => {
  it('have every method', () => {
    expectTypeOf(isBuiltIn).guards.toEqualTypeOf<keyof RecipesByMethod>();
    expect([...methods.keys()].filter((name) => !isBuiltIn(name))).toEqual([]);
  });

  it('of models are checked at any depth', () => {
    expectTypeOf<LayerSwapParameters['task']>().toEqualTypeOf<ModelInput>();
    expectTypeOf<ModelInput>().toEqualTypeOf<string | RecipeInput>();
    expectTypeOf<RunOptions['link']>().toEqualTypeOf<'hard' | 'symbolic' | 'reflink' | 'copy' | undefined>();
  });

  it.each(['bfloat16', 'BF16', 'torch.float32', 'half', 'DOUBLE', 'torch.fp8_e5m2'] satisfies DtypeName[])(
    'take %s for a dtype, and so does the parser',
    (name) => expect(parseDtype(name)).toBeDefined(),
  );

  it('say in which parameters a schema and its interface differ', () => {
    interface Schema {
      models: string[];
      weights?: number[] | undefined;
      scaled?: boolean | undefined;
    }
    interface Documented {
      models: readonly string[];
      weights?: readonly string[] | undefined;
      base?: string | undefined;
    }
    expectTypeOf<Drift<Schema, Documented>>().toEqualTypeOf<'weights' | 'scaled' | 'base'>();
    expectTypeOf<Drift<SoupParameters, SoupParameters>>().toEqualTypeOf<never>();
  });

  it('of a tensor method follow from its spec', () => {
    tensorMethod({
      name: 'm',
      title: 'M',
      base: 'required',
      models: { least: 2, most: 2 },
      shared: { t: share(1), flat: flag(true), how: oneOf('a or b', ['a', 'b'], 'a') },
      perModel: { weight: anyNumber() },
      expression: ({ base, models, perModel, shared }) => {
        expectTypeOf(base).toEqualTypeOf<ModelTensor>();
        expectTypeOf(models).toEqualTypeOf<readonly [ModelTensor, ModelTensor]>();
        expectTypeOf(perModel[1].weight).toEqualTypeOf<number>();
        expectTypeOf(shared).toEqualTypeOf<{ t: number; flat: boolean; how: 'a' | 'b' }>();
        return { kind: 'copy', source: base };
      },
    });
  });
});

describe('plain JavaScript', () => {
  const untyped = (call: unknown) => call as (...given: unknown[]) => Promise<unknown>;

  it.each<[string, unknown, unknown[]]>([
    ['layerSwap', layerSwap, [{ task, language }]],
    ['soup', soup, [{ models: [task] }]],
    ['revert', revert, [{ base: task, model: language }]],
    ['relayout', relayout, [{ model: task }]],
    ['merge', merge, ['ties.yaml']],
    ['analyze', analyze, [{ base: task, experts: [language] }]],
    ['layerSwap with options', layerSwap, [{ task, language }, { threads: 1 }]],
  ])('is told by %s that it does not say where the output goes', async (_, call, given) => {
    const error = await untyped(call)(...given).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(LayerloomError);
    expect(error).toMatchObject({ code: 'INVALID_PARAMETER', details: { parameter: 'out', value: null } });
  });

  it.each<[string, unknown, unknown[], object]>([
    ['a model that is a number', layerSwap, [{ task: 42 }], { parameter: 'task', value: 42 }],
    ['a model that is missing', layerSwap, [{ task }, to], { parameter: 'language', value: null }],
    ['no parameters', soup, [], { parameter: 'models' }],
    ['no recipe', merge, [undefined, to], { parameter: 'recipe' }],
    ['a method that there is not', merge, [{ method: 'tise' }, to], { parameter: 'method', value: 'tise' }],
    ['a dtype that there is not', soup, [{ models: [task], dtype: 'bf61' }, to], { parameter: 'dtype' }],
  ])('is told of %s first', async (_, call, given, details) => {
    await expect(untyped(call)(...given)).rejects.toMatchObject({ code: 'INVALID_PARAMETER', details });
  });

  it('runs no plan without options', async () => {
    await expect(untyped(runPlan)({}, {})).rejects.toMatchObject({ code: 'PLAN_INVALID' });
  });
});
