import { describe, expect, it } from 'vitest';
import { read, refusal, yaml } from './recipes.js';

const recipeOf = async (text: string) => (await read(text)).recipe;

describe('a file of mergekit-moe', () => {
  it('is the recipe of a mixture: its example with prompts', async () => {
    const text = yaml`
      base_model: org/base
      gate_mode: hidden
      dtype: bfloat16
      experts:
        - source_model: org/chat
          positive_prompts:
            - "Hello, who are you?"
            - "I need help with"
        - source_model: ./bio
          positive_prompts: ["As a doctor of medicine,"]
          negative_prompts: ["> get ye flask"]
          residual_scale: 0.5
          noise_scale: 0.01
      gates: gates.safetensors
    `;
    expect(await recipeOf(text)).toEqual({
      method: 'mixture',
      base: 'org/base',
      gateMode: 'hidden',
      dtype: 'bfloat16',
      gates: 'gates.safetensors',
      models: [
        { model: 'org/chat', positivePrompts: ['Hello, who are you?', 'I need help with'] },
        {
          model: './bio',
          positivePrompts: ['As a doctor of medicine,'],
          negativePrompts: ['> get ye flask'],
          residualScale: 0.5,
          noiseScale: 0.01,
        },
      ],
    });
  });

  it('may name a family, a shared expert, and how many experts a token has', async () => {
    const text = yaml`
      base_model: {model: {path: org/base, revision: main}}
      architecture: qwen
      gate_mode: random
      experts_per_token: 1
      seed: 5
      experts: [{source_model: a}, {source_model: b+lora}]
      shared_experts:
        - source_model: c
          residual_scale: 0.1
    `;
    expect(await recipeOf(text)).toEqual({
      method: 'mixture',
      base: 'org/base@main',
      architecture: 'qwen',
      gateMode: 'random',
      expertsPerToken: 1,
      seed: 5,
      models: [{ model: 'a' }, { model: 'b+lora' }],
      sharedExperts: [{ model: 'c', residualScale: 0.1 }],
    });
  });

  it('means the same by an empty key, or an empty list of shared experts, as by none', async () => {
    const text = yaml`
      base_model: a
      gate_mode: random
      dtype:
      shared_experts: []
      experts: [{source_model: b, residual_scale: null}]
    `;
    expect(await recipeOf(text)).toEqual({
      method: 'mixture',
      base: 'a',
      gateMode: 'random',
      models: [{ model: 'b' }],
    });
  });

  it('warns of keys that mergekit-moe ignores', async () => {
    const { warnings } = await read(
      'base_model: a\nrouter_aux_loss_coef: 0.1\nexperts: [{source_model: b, positive_prompt: [x]}]\n',
    );
    expect(warnings.map(({ text }) => text.replace(/^.*merge\.yaml:/, ''))).toEqual([
      '2:1: router_aux_loss_coef: unknown key of the recipe; ignored, as mergekit does',
      '3:29: positive_prompt: unknown key of the expert; ignored, as mergekit does; did you mean positive_prompts?',
    ]);
  });

  it.each([
    ['base_model: a\ngate_mode: random\n', '1:1: the recipe lacks experts'],
    ['base_model: a\nexperts: []\n', '2:10: experts: the list is empty; expected a list of experts'],
    ['base_model: a\nexperts: b\n', '2:10: experts: not a list'],
    ['experts: [{source_model: b}]\n', '1:1: the recipe lacks base_model'],
    ['base_model: a\nexperts: [b]\n', '2:11: experts: not a mapping; expected source_model and prompts'],
    ['base_model: a\nexperts: [{source_models: b}]\n', '2:12: source_models: unknown key of the expert'],
    ['base_model: a\nexperts: [{source_model: [b]}]\n', '2:26: a list, and no model'],
  ])('is refused at the place of what is wrong: %j', async (text, message) => {
    expect(await refusal(text)).toContain(`merge.yaml:${message}`);
  });
});
