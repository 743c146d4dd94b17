import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  type MergeOptions,
  type MergePlan,
  merge,
  methods,
  planMerge,
  type RecipeInput,
  runPlan,
} from '../../src/index.js';
import { bytesOf, fenceOf } from '../fixtures/again.js';
import { llamaConfig, llamaShapes, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { everyMethod } from '../fixtures/every-method.js';
import { type Family, type Member, writeFamilyOf } from '../fixtures/family.js';

// A card, a layerloom.json and a saved recipe make the same files again, for every method and form.

const members: readonly Member[] = ['base', 'a', 'b', 'c'];

const writeModels = (): Family => {
  const options = { layers: 4 };
  const family = writeFamilyOf(llamaShapes(options), 'BF16', llamaConfig(options));
  for (const name of members)
    writeCheckpoint(family[name], {
      tensors: family.tensors[name],
      config: llamaConfig(options),
      files: { 'tokenizer_config.json': `{"name": "${name}"}`, LICENSE: 'free' },
    });
  return family;
};

type Form = RecipeInput | string;

const mergekitForms = ({ base, a, b, c }: Family): Record<string, string> => ({
  'mergekit: gradients and filters': `
merge_method: dare_ties
base_model: ${base}
models:
  - model: ${a}
    parameters:
      weight: [0.1, 0.7, 1]
      density:
        - {filter: mlp, value: [0.3, 0.9]}
        - {filter: self_attn, value: 0.5}
        - value: 0.4
  - model: ${b}
    parameters: {weight: 0.3}
parameters: {normalize: true, density: 0.6}
dtype: float32
out_dtype: bfloat16
tokenizer_source: ${b}
`,
  'mergekit: slices of two models': `
merge_method: slerp
base_model: ${a}
slices:
  - sources:
      - {model: ${a}, layer_range: [0, 3]}
      - {model: ${b}, layer_range: [1, 4]}
    parameters: {t: [0.2, 0.9]}
  - sources:
      - {model: ${a}, layer_range: [2, 4]}
      - {model: ${b}, layer_range: [2, 4]}
parameters:
  t: [{filter: self_attn, value: 0.3}, {value: 0.6}]
tokenizer_source: base
`,
  'mergekit: layers stacked': `
merge_method: passthrough
slices:
  - sources: [{model: ${a}, layer_range: [0, 3]}]
  - sources:
      - {model: ${b}, layer_range: [1, 4], parameters: {scale: [{filter: o_proj, value: 0}, {value: 1}]}}
`,
  'mergekit: a base that is no model of a linear': `
merge_method: linear
base_model: ${c}
models:
  - {model: ${a}, parameters: {weight: 0.4}}
  - {model: ${b}, parameters: {weight: [0.1, 0.9]}}
parameters: {weight: 0.25}
chat_template: "{{ a }}\\r\\n\`\`\`yaml\\n  {% if x %}: # y {% endif %} \\n\\n"
`,
  'mergekit: recipes that others use': `
name: inner
merge_method: task_arithmetic
base_model: ${base}
models: [{model: ${a}, parameters: {weight: 0.7}}, {model: ${b}, parameters: {weight: 0.2}}]
---
merge_method: ties
base_model: inner
models: [{model: inner}, {model: ${c}, parameters: {weight: 1, density: 0.5}}]
`,
});

const ourForms = ({ base, a, b, c }: Family): Record<string, Form> => ({
  layer_swap: { method: 'layer_swap', task: a, language: b, bottom: 1, top: 1, bottomTransition: 1 },
  'layer_swap, scaled': { method: 'layer_swap', base, task: a, language: b, bottom: 8, top: 4, scaled: true },
  'layer_swap by magnitude': {
    ...{ method: 'layer_swap', base, task: a, language: b, bottom: 1, top: 1, topTransition: 1 },
    ...{ weights: 'magnitude', others: 'lang', norms: 'average', dtype: 'float16' },
  } as RecipeInput,
  'soup of weights': { method: 'soup', models: [a, b, c], weights: [0.1, 1 / 3, -0.7] },
  'soup by magnitude of three': { method: 'soup', base, models: [a, b, c], weights: 'magnitude' },
  'revert by location': { method: 'revert', base, model: a, bottom: 1, top: 2, others: 'revert' },
  'revert by threshold': { method: 'revert', base, model: a, threshold: 0.0033, rows: 'output' },
  relayout: { method: 'relayout', model: a },
  'linear by weights in short': { method: 'linear', models: [a, b], weights: [1e-7, 3] },
  'slices of ours': {
    method: 'task_arithmetic',
    base,
    slices: [
      {
        sources: [
          { model: a, layerRange: [0, 2], weight: 0.3 },
          { model: b, layerRange: [0, 2] },
        ],
      },
      { sources: [{ model: c, layerRange: [2, 4] }], weight: [{ filter: 'mlp', value: 1 }, { value: 0.5 }] },
    ],
    weight: 0.2,
    lambda: [0.5, 1.5],
    tokenizerSource: c,
  },
  'a tokenizer of the base, named like the word': {
    ...{ method: 'linear', models: [a, base], weights: [1, 1], tokenizerSource: base },
    chatTemplate: '{{ messages }}',
  } as RecipeInput,
  'a template that ends in white space': {
    ...{ method: 'soup', models: [a, b], chatTemplate: '\n{{ messages }} \t\n\n' },
  },
  'magnitude in a nested recipe': {
    method: 'layer_swap',
    task: { method: 'soup', base, models: [a, c], weights: 'magnitude' },
    language: { method: 'revert', base, model: b, targetKept: 0.5 },
    bottom: 1,
    top: 1,
  },
});

const options: Readonly<Record<string, Partial<MergeOptions>>> = {
  layer_swap: { layout: 'layer' },
  'soup of weights': { layout: 'layer', maxShardSize: 3000 },
  relayout: { maxShardSize: '4KB' },
  karcher: { dtype: 'float32' },
};

const allForms = (family: Family): Record<string, Form> => ({
  ...everyMethod(family),
  ...ourForms(family),
  ...mergekitForms(family),
});

const names = Object.keys(allForms({ root: '', base: 'base', a: 'a', b: 'b', c: 'c', tensors: {} as never }));

const mergeForm = async (name: string) => {
  const family = writeModels();
  const form = allForms(family)[name] as Form;
  const given = typeof form === 'string' ? join(temporaryDirectory(), 'given.yaml') : form;
  if (typeof given === 'string') writeFileSync(given, form as string);
  const out = join(temporaryDirectory(), 'merged');
  const plan = await planMerge(given, { layout: 'size', ...options[name] });
  await runPlan(plan, { out, threads: 1 });
  return { family, out, method: plan.method, decided: decidedBy(plan) };
};

const decidedBy = ({ inputs, shards, files }: MergePlan) => ({
  inputs: inputs.map(({ path, name }) => ({ path, name })),
  shards,
  files: files.filter(({ name }) => name !== 'README.md'),
});

describe('a merge done again', () => {
  it.for(names)('has the same bytes: %s', async (name) => {
    const { family, out, method, decided } = await mergeForm(name);
    expect(decidedBy(await planMerge(join(out, 'layerloom.json')))).toEqual(decided);
    if (method === 'relayout') return;

    expect(decidedBy(await planMerge(join(out, 'README.md')))).toEqual(decided);
    const recipe = join(family.root, 'card.yaml');
    writeFileSync(recipe, fenceOf(out));
    const again = join(family.root, 'again');
    await merge(recipe, { out: again, threads: 1 });
    expect(bytesOf(again)).toEqual(bytesOf(out));
    expect(Object.keys(bytesOf(out))).toContain('config.json');
    expect(fenceOf(again)).toBe(fenceOf(out));
    expect(readFileSync(join(out, 'README.md'), 'utf8')).not.toContain(family.root);
  });

  it('is tried with every method', () => {
    const family = { root: '', base: 'base', a: 'a', b: 'b', c: 'c', tensors: {} as never };
    const forms = [
      ...Object.values(everyMethod(family)),
      ...Object.values(ourForms(family)),
    ] as RecipeInput[];
    // The omitted methods have their own tests: mixture, fisher, regmean and transplant in test/methods.
    const all = [...methods.keys()].filter(
      (name) => !['mixture', 'fisher', 'regmean', 'transplant'].includes(name),
    );
    expect([...new Set(forms.map(({ method }) => method))].sort()).toEqual(all.sort());
  });
});
