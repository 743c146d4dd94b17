import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type LayerloomError, type MixtureParameters, planMerge } from '../../src/index.js';
import { lora, writeAdapter } from '../fixtures/adapters.js';
import { type Tensors, writeCheckpoint } from '../fixtures/checkpoints.js';
import {
  type DenseModels,
  type DenseOptions,
  dense,
  denseShapes,
  gatesFile,
  hidden,
  prompted,
  randomMixture,
  writeDense,
} from '../fixtures/dense.js';
import { encode } from '../fixtures/numbers.js';

describe('a mixture is refused', () => {
  const refusal = async (models: DenseModels, more: Partial<MixtureParameters>) =>
    planMerge(randomMixture(models, more)).then(
      () => 'not refused',
      (error: LayerloomError) => `${error.code}: ${error.message}`,
    );
  const hiddenMode = { gateMode: 'hidden' } as const;

  it.each<[string, (models: DenseModels) => Partial<MixtureParameters>, string]>([
    ['without experts', () => ({ models: [] }), 'models is missing: expected at least one expert'],
    [
      'with more experts a token than there are',
      () => ({ expertsPerToken: 4 }),
      'expertsPerToken: expected at most 3, the number of experts',
    ],
    ['with no expert a token', () => ({ expertsPerToken: 0 }), 'expected a whole number from 1 on'],
    [
      'with a mode that there is not',
      () => ({ gateMode: 'hiden' as 'hidden' }),
      'gateMode: expected one of hidden',
    ],
    [
      'with a negative noise',
      ({ a }) => ({ models: [{ model: a, noiseScale: -1 }] }),
      'models.0.noiseScale: expected a finite number, 0 or more',
    ],
    [
      'with a scale that is no number',
      ({ a }) => ({ models: [{ model: a, residualScale: Number.POSITIVE_INFINITY }] }),
      'models.0.residualScale: expected a finite number',
    ],
    [
      'with a key that an expert does not have',
      ({ a }) => ({ models: [{ model: a, positivePrompt: [] } as never] }),
      'has no parameter positive_prompt',
    ],
    [
      'without prompts where routers are made of them',
      () => hiddenMode,
      'models.0.positivePrompts is missing: expected texts that are to be routed to the expert, which gate_mode hidden needs; gate_mode random needs none',
    ],
    [
      'with the same prompts for all',
      ({ a, b }) => ({ ...hiddenMode, models: [a, b].map((model) => ({ model, positivePrompts: ['x'] })) }),
      'models: expected experts with other prompts than each other',
    ],
    [
      'without the file of its routers',
      ({ a, b }) => ({ ...hiddenMode, models: prompted([a, b]) }),
      'gates is missing: expected the file of the routers, which gate_mode hidden needs: `python -m layerloom_gates RECIPE -o gates.safetensors` makes it',
    ],
    [
      'with a file that it does not need',
      () => ({ gates: 'x.safetensors' }),
      'gates: expected no file where gate_mode is random',
    ],
    [
      'with two shared experts',
      ({ a, b }) => ({ sharedExperts: [a, b] }),
      'sharedExperts: expected one shared expert at most',
    ],
    [
      'in a family that there is not',
      () => ({ architecture: 'gpt' }),
      'architecture: expected the beginning of one of Mixtral, DeepSeek MoE, Qwen MoE, Qwen3 MoE',
    ],
    [
      'in a family that has no shared expert',
      ({ a }) => ({ architecture: 'mixtral', sharedExperts: [a] }),
      'Mixtral has no shared expert: leave it out',
    ],
    [
      'in a family that needs a shared expert',
      () => ({ architecture: 'qwen moe' }),
      'Qwen MoE needs a shared expert: name one under shared_experts',
    ],
    [
      'in a family of other models',
      () => ({ architecture: 'qwen3' }),
      'Qwen3 MoE is made of qwen3, and these are llama',
    ],
  ])('%s', async (_, of, message) => {
    const models = writeDense();
    expect(await refusal(models, of(models))).toContain(message);
  });

  it.each<[string, DenseOptions, string]>([
    [
      'of another architecture',
      { family: 'mistral' },
      "models.1.model: expected a model of the base's model_type, llama, and this is mistral",
    ],
    ['with other widths', { inner: 48 }, 'SHAPE_MISMATCH'],
    ['with fewer layers', { layers: 1 }, 'expected a dense model of 2 layers, and this lacks model.layers.1'],
    [
      'with biases',
      { more: { 'model.layers.1.mlp.up_proj.bias': [40] } },
      'and this has model.layers.1.mlp.up_proj.bias',
    ],
  ])('with an expert %s', async (_, options, message) => {
    const models = writeDense();
    writeCheckpoint(models.b, dense({ ...options, seed: 3 }));
    expect(await refusal(models, {})).toContain(message);
  });

  it('of a base with tensors that the family has no place for', async () => {
    const models = writeDense({ more: { 'model.layers.0.self_attn.o_proj.bias': [hidden] } });
    expect(await refusal(models, {})).toMatch(
      /base: expected a model without model\.layers\.0\.self_attn\.o_proj\.bias, for which Mixtral has no place; try another architecture/,
    );
  });

  it.each<[string, (file: Tensors) => Tensors, number, string]>([
    [
      'for fewer experts',
      () => ({}),
      1,
      'gates: expected a file with model.layers.0.mlp.gate.weight [2, 16] in a floating dtype, and this has F32 [1, 16]',
    ],
    [
      'of integers',
      () => ({
        'model.layers.1.mlp.gate.weight': { dtype: 'I32', shape: [2, hidden], data: new Uint8Array(128) },
      }),
      2,
      'in a floating dtype, and this has I32',
    ],
    [
      'with a NaN',
      () => ({
        'model.layers.1.mlp.gate.weight': {
          dtype: 'F32',
          shape: [2, hidden],
          data: encode(
            'F32',
            Array.from({ length: 32 }, (_, i) => (i === 21 ? Number.NaN : 1)),
          ),
        },
      }),
      2,
      'gates: expected finite numbers, and element 21 of model.layers.1.mlp.gate.weight is NaN or infinite',
    ],
    [
      'with an infinity in bfloat16',
      () => ({
        'model.layers.0.mlp.gate.weight': {
          dtype: 'BF16',
          shape: [2, hidden],
          data: encode(
            'BF16',
            Array.from({ length: 32 }, (_, i) => (i === 3 ? -Infinity : 1)),
          ),
        },
      }),
      2,
      'element 3 of model.layers.0.mlp.gate.weight is NaN or infinite',
    ],
  ])('with a file of routers %s', async (_, changes, rows, message) => {
    const models = writeDense();
    const { file } = gatesFile(models.root, rows, changes({}));
    const more = { ...hiddenMode, gates: file, models: prompted([models.a, models.b]) };
    expect(await refusal(models, more)).toContain(message);
  });

  it('with a file of routers of fewer layers, or that is not there', async () => {
    const models = writeDense();
    const { file } = gatesFile(models.root, 2, {}, 1);
    const more = { ...hiddenMode, models: prompted([models.a, models.b]) };
    expect(await refusal(models, { ...more, gates: file })).toContain(
      'model.layers.1.mlp.gate.weight [2, 16]',
    );
    expect(await refusal(models, { ...more, gates: join(models.root, 'no.safetensors') })).toContain(
      'gates: expected the file of the routers that `python -m layerloom_gates` makes, which is not there, got',
    );
  });

  it('in the place of a model, since it is none like the others', async () => {
    const models = writeDense();
    await expect(planMerge({ method: 'soup', models: [randomMixture(models), models.a] })).rejects.toThrow(
      'expected a model, and no recipe of mixture: merge that first, in a step of its own',
    );
  });

  it('with a bare adapter as an expert', async () => {
    const models = writeDense();
    const adapter = writeAdapter(join(models.root, 'adapter'), lora({ shapes: denseShapes() }));
    expect(await refusal(models, { models: [models.a, adapter] })).toContain('adapter');
  });
});
