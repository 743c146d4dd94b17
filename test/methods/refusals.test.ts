import { existsSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { mergeCommand } from '../../src/cli/work/merging/merge.js';
import { LayerloomError, planMerge } from '../../src/index.js';
import { llama, writeCheckpoint } from '../fixtures/checkpoints.js';
import { type Family, writeFamily } from '../fixtures/family.js';
import { yaml } from '../recipe/recipes.js';

const refusal = async (text: string, { root }: Family, strict = false): Promise<LayerloomError> => {
  const file = join(root, 'merge.yaml');
  writeFileSync(file, text);
  const error = await planMerge(file, { strict }).catch((thrown: unknown) => thrown);
  if (!(error instanceof LayerloomError)) throw new Error(`not refused: ${JSON.stringify(error)}`);
  for (const dryRun of [true, false])
    await expect(
      mergeCommand(file, { out: join(root, 'out'), strict, quiet: true, dryRun }),
    ).rejects.toMatchObject({ code: error.code });
  expect(existsSync(join(root, 'out'))).toBe(false);
  return error;
};

const placeOf = (text: string, part: string): string => {
  const before = text.slice(0, text.indexOf(part)).split('\n');
  return `${before.length}:${(before.at(-1)?.length ?? 0) + 1}`;
};

const ties = (more: string) => `method: ties
base: ./base
models:
  - {model: ./a, weight: 1}
  - {model: ./b, weight: 1}
${more}
`;

const stack = (...slices: string[]) => `method: linear
normalize: false
weight: 1
slices:
${slices.map((slice) => `  - sources: ${slice}\n`).join('')}`;

describe('a recipe', () => {
  it.each<[string, string, string, string, RegExp]>([
    [
      'an unknown method',
      'method: tise\nmodels: [./a]\n',
      'tise',
      'INVALID_PARAMETER',
      /did you mean ties\?/,
    ],
    [
      'an unknown parameter',
      ties('densty: 0.5'),
      'densty',
      'USAGE',
      /no parameter densty.*did you mean density\?/,
    ],
    [
      'an unknown parameter of a model',
      'method: linear\nmodels:\n  - {model: ./a, weight: 1}\n  - {model: ./b, wieght: 1}\n',
      'wieght',
      'USAGE',
      /did you mean weight\?/,
    ],
    [
      'a parameter of another method',
      'method: linear\nweight: 1\nmodels: [./a, ./b]\ndensity: 0.5\n',
      'density',
      'USAGE',
      /linear has no parameter density/,
    ],
    [
      'a density below 0',
      ties('density: -0.5'),
      '-0.5\n',
      'INVALID_PARAMETER',
      /density: expected a share from 0 to 1, got -0.5/,
    ],
    ['a density above 1', ties('density: 1.5'), '1.5', 'INVALID_PARAMETER', /got 1.5/],
    ['a density that is text', ties('density: half'), 'half', 'INVALID_PARAMETER', /got "half"/],
    [
      'a gradient with a density below 0',
      ties('density: [0.5, -1]'),
      '-1',
      'INVALID_PARAMETER',
      /density\.1/,
    ],
    [
      'a filter with a density above 1',
      ties('density:\n  - {filter: mlp, value: [0.1, 2]}\n  - 0.5'),
      '[0.1, 2]',
      'INVALID_PARAMETER',
      /density\.0\.value/,
    ],
    [
      'something else among filters',
      ties('density:\n  - {filter: mlp, value: 0.1}\n  - 0.5'),
      '0.5',
      'INVALID_PARAMETER',
      /list of \{filter, value\}/,
    ],
    [
      'an epsilon that leaves 0 to 1',
      ties('density: 0.9\nepsilon: 0.2').replace('ties', 'della'),
      '0.2',
      'INVALID_PARAMETER',
      /epsilon: .*between 0 and 1/,
    ],
    [
      'weights that sum to 0',
      'method: linear\nweights: [1, -1]\nmodels: [./a, ./b]\n',
      '[./a',
      'INVALID_PARAMETER',
      /sum is not 0/,
    ],
    [
      'a soup of weights that sum to 0',
      'method: soup\nweights: [1, -1]\nmodels: [./a, ./b]\n',
      '[1, -1]',
      'INVALID_PARAMETER',
      /sum is finite and not 0/,
    ],
    [
      'a weight too few',
      'method: linear\nweights: [1]\nmodels: [./a, ./b]\n',
      '[1]',
      'INVALID_PARAMETER',
      /one weight for each model/,
    ],
    [
      'no weight',
      'method: linear\nmodels: [./a, ./b]\n',
      './a',
      'INVALID_PARAMETER',
      /weight is missing: expected a finite number, which linear needs/,
    ],
    [
      'no base',
      'method: ties\nweight: 1\nmodels: [./a, ./b]\n',
      'method',
      'INVALID_PARAMETER',
      /base is missing: expected the model that the others were fine-tuned from/,
    ],
    [
      'no base to start from',
      'merge_method: slerp\nmodels: [{model: ./a}, {model: ./b}]\nparameters: {t: 0.5}\n',
      'merge_method',
      'INVALID_PARAMETER',
      /base is missing: expected one of the two models, the one that slerp starts from/,
    ],
    [
      'a model twice',
      'method: linear\nweight: 1\nmodels: [./a, ./a]\n',
      './a]',
      'INVALID_PARAMETER',
      /every model once/,
    ],
    [
      'too many models',
      'method: slerp\nbase: ./base\nmodels: [./a, ./b]\nt: 0.5\n',
      '[./a',
      'INVALID_PARAMETER',
      /1 model besides the base, which slerp takes/,
    ],
    [
      'too few models',
      'method: model_stock\nbase: ./base\nmodels: [./a]\n',
      '[./a',
      'INVALID_PARAMETER',
      /2 or more models/,
    ],
    [
      'models and slices',
      `${stack('[{model: ./a, layer_range: [0, 1]}]')}models: [./a]\n`,
      '\n  - sources',
      'INVALID_PARAMETER',
      /either models or slices/,
    ],
    ['an unknown dialect', ties('dialect: torch'), 'torch', 'INVALID_PARAMETER', /mergekit, paper, peft/],
    [
      'a gradient where the threshold is the model’s',
      ties('dialect: paper\ndensity: [0.1, 0.2]'),
      '[0.1',
      'INVALID_PARAMETER',
      /one value for all tensors in the paper dialect/,
    ],
    [
      'stacked layers where the threshold is the model’s',
      'method: ties\nbase: ./base\nweight: 1\ndialect: paper\nslices:\n  - sources: [{model: ./a, layer_range: [0, 2]}]\n',
      'paper',
      'INVALID_PARAMETER',
      /where layers are stacked/,
    ],
    [
      'layers out of bounds',
      stack('[{model: ./a, layer_range: [0, 2]}]', '[{model: ./b, layer_range: [2, 9]}]'),
      '[2, 9]',
      'INVALID_PARAMETER',
      /layers of b, which has 4 \(0 to 3/,
    ],
    [
      'layers that are none',
      stack('[{model: ./a, layer_range: [2, 2]}]'),
      '[2, 2]',
      'RECIPE_INVALID',
      /no range of layers/,
    ],
    [
      'sources of unequal length',
      stack('[{model: ./a, layer_range: [0, 2]}, {model: ./b, layer_range: [0, 3]}]'),
      '[{model',
      'INVALID_PARAMETER',
      /as many layers from each source/,
    ],
    [
      'an unknown tokenizer',
      ties('tokenizer_source: ./d'),
      './d',
      'INVALID_PARAMETER',
      /one of the recipe's models/,
    ],
    [
      'an unknown chat template',
      ties('chat_template: chatlm'),
      'chatlm',
      'INVALID_PARAMETER',
      /expected auto, chatml, .* did you mean chatml\?/,
    ],
    [
      'a chat template with an error',
      ties('chat_template: "{% for m in messages %}{{ m.content }}"'),
      '"{% for',
      'TEMPLATE_INVALID',
      /^[^\n]*merge\.yaml:\d+:\d+: chat_template: the template has an error in its syntax \(/,
    ],
    ['an unknown dtype', ties('dtype: int4'), 'int4', 'INVALID_PARAMETER', /bfloat16/],
    [
      'a mistake in a recipe inside',
      'method: soup\nmodels:\n  - ./a\n  - {method: ties, base: ./base, models: [./b, ./c], weight: 1, density: 3}\n',
      '3}',
      'INVALID_PARAMETER',
      /a share from 0 to 1, got 3/,
    ],
    [
      'a mistake in another document',
      'method: soup\nmodels: [./a, inner]\n---\nname: inner\nmethod: slerp\nbase: ./b\nmodels: [./c]\n',
      'name: inner',
      'INVALID_PARAMETER',
      /t is missing: expected a finite number, which slerp needs/,
    ],
    [
      'a misspelt key that mergekit needs',
      'merge_method: linear\nslices:\n  - sources: [{model: ./a, layer_ranges: [0, 4]}]\n',
      'layer_ranges',
      'RECIPE_INVALID',
      /did you mean layer_range\?/,
    ],
  ])('with %s is refused with its place, before a weight is read', async (_, text, part, code, words) => {
    const error = await refusal(text, writeFamily({ layers: 4 }));
    expect(error).toMatchObject({ code, exitCode: 2 });
    expect(error.message).toContain(`merge.yaml:${placeOf(text, part.trimStart())}: `);
    expect(error.message).toMatch(words);
    expect(error.message).toMatch(/\n +\^$/);
  });

  it.each<[string, string, (family: Family) => unknown, string]>([
    ['that is not there', 'MODEL_NOT_FOUND', () => undefined, './other'],
    [
      'that cannot be looked for',
      'READ_FAILED',
      ({ root }) => symlinkSync('other', join(root, 'other')),
      './other',
    ],
    [
      'of another width',
      'SHAPE_MISMATCH',
      ({ root }) =>
        writeCheckpoint(join(root, 'other'), { tensors: llama({ hidden: 32, layers: 4 }).tensors }),
      './other',
    ],
    [
      'of another depth',
      'LAYER_COUNT_MISMATCH',
      ({ root }) => writeCheckpoint(join(root, 'other'), llama({ layers: 5 })),
      './other',
    ],
    [
      'of another architecture',
      'CONFIG_MISMATCH',
      ({ root }) =>
        writeCheckpoint(join(root, 'other'), {
          ...llama({ layers: 4 }),
          config: { architectures: ['QwenForCausalLM'], model_type: 'qwen2', num_hidden_layers: 4 },
        }),
      './other',
    ],
  ])('with a model %s is refused with its place', async (_, code, prepare, part) => {
    const family = writeFamily({ layers: 4 });
    prepare(family);
    const text = 'method: linear\nweight: 1\nmodels:\n  - ./a\n  - model: ./other\n    weight: 2\n';
    const error = await refusal(text, family);
    expect(error).toMatchObject({ code, exitCode: 3 });
    expect(error.message).toMatch(/merge\.yaml:5:\d+: /);
    expect(error.message).toContain(part.slice(2));
  });

  it('of mergekit with a model that cannot be looked for is refused with its place', async () => {
    const family = writeFamily({ layers: 4 });
    const loop = join(family.root, 'loop');
    symlinkSync(loop, loop);
    const text = `merge_method: passthrough\nmodels:\n  - model: ${loop}\n`;
    const error = await refusal(text, family);
    expect(error).toMatchObject({ code: 'READ_FAILED' });
    expect(error.message).toContain(`merge.yaml:${placeOf(text, 'model: ')}: ${loop} cannot be read: `);
  });

  it('whose filter matches nothing is warned of, and with strict refused with its place, also inside another', async () => {
    const family = writeFamily({ layers: 4 });
    const inner = yaml`
      method: ties
      base: ./base
      weight: 1
      density:
        - {filter: mlp, value: 0.5}
        - {filter: mpl, value: 0.2}
        - {value: 0.7}
      models: [./a, ./b]
    `;
    const outer = `method: soup\nmodels: [./c, inner]\n---\nname: inner\n${inner}`;
    for (const text of [inner, outer]) {
      writeFileSync(join(family.root, 'merge.yaml'), text);
      const { warnings } = await planMerge(join(family.root, 'merge.yaml'));
      expect(warnings.join()).toMatch(/filter mpl \(.*density\.1\) matches no tensor/);
      const error = await refusal(text, family, true);
      expect(error).toMatchObject({ code: 'INVALID_PARAMETER', exitCode: 2 });
      expect(error.message).toContain(`merge.yaml:${placeOf(text, '{filter: mpl')}: `);
    }
  });

  it("of mergekit's with parameters that it ignores is warned of, and with strict refused with their place", async () => {
    const family = writeFamily({ layers: 4 });
    const { root } = family;
    const inner = `merge_method: sce
base_model: ${root}/base
models:
  - {model: ${root}/a, parameters: {weight: 0.5}}
  - {model: ${root}/b}
parameters: {select_topk: 0.5}
`;
    const outer = `merge_method: linear
models: [{model: inner}, {model: ${root}/c}]
parameters: {weight: 1}
---
name: inner
${inner}`;
    for (const text of [inner, outer]) {
      const file = join(root, 'merge.yaml');
      writeFileSync(file, text);
      const place = `${file}:${placeOf(text, 'weight: 0.5')}: `;
      expect((await planMerge(file)).warnings).toEqual([
        `${place}weight: sce has no such parameter; ignored, as mergekit does`,
      ]);
      const error = await refusal(text, family, true);
      expect(error).toMatchObject({ code: 'RECIPE_INVALID', exitCode: 2 });
      expect(error.message).toContain(`${place}weight: sce has no such parameter (\`strict\`)`);
    }
  });
});
