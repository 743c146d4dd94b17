import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { read, refusal, yaml } from './recipes.js';

describe('our dialect', () => {
  it('is read with keys in camel case', async () => {
    const text = yaml`
      method: layer_swap
      task: org/math
      language: org/swahili@main
      bottom: 5
      bottom_transition: 1
      weights: [1, 3]
      others: lang
      select_topk: 1e-1
      out_dtype: bfloat16
      tokenizer_source: base
      chat_template: auto
    `;
    expect((await read(text)).recipe).toEqual({
      method: 'layer_swap',
      task: 'org/math',
      language: 'org/swahili@main',
      bottom: 5,
      bottomTransition: 1,
      weights: [1, 3],
      others: 'lang',
      selectTopk: 0.1,
      outDtype: 'bfloat16',
      tokenizerSource: 'base',
      chatTemplate: 'auto',
    });
  });

  it('takes models as text, as mappings with parameters and as recipes', async () => {
    const text = yaml`
      method: ties
      base: org/base
      models:
        - org/one
        - {model: org/two, name: second, density: [0.2, 0.5], int8_mask: true}
        - {method: soup, models: [org/three, org/four]}
        - model: {merge_method: linear, models: [{model: org/five, parameters: {weight: 1}}]}
          parameters: {weight: 0.5}
    `;
    expect((await read(text)).recipe['models']).toEqual([
      'org/one',
      { model: 'org/two', name: 'second', density: [0.2, 0.5], int8Mask: true },
      { method: 'soup', models: ['org/three', 'org/four'] },
      {
        model: { method: 'linear', dialect: 'mergekit', models: [{ model: 'org/five', weight: 1 }] },
        weight: 0.5,
      },
    ]);
  });

  it('has slices as mergekit has them, with parameters beside the other keys or below', async () => {
    const text = yaml`
      method: linear
      slices:
        - sources:
            - {model: org/one, layer_range: [0, 4], weight: 1}
            - {model: org/two, layer_range: [4, 8], parameters: {weight: 0}}
          base: org/three
          density: 1
          parameters: {t: [0, 1]}
      parameters: {normalize: false}
    `;
    expect((await read(text)).recipe).toEqual({
      method: 'linear',
      slices: [
        {
          sources: [
            { model: 'org/one', layerRange: [0, 4], weight: 1 },
            { model: 'org/two', layerRange: [4, 8], weight: 0 },
          ],
          base: 'org/three',
          density: 1,
          t: [0, 1],
        },
      ],
      normalize: false,
    });
  });

  it('begins relative paths in the folder of the file', async () => {
    const { recipe, folder } = await read({
      'merge.yaml': yaml`
        method: soup
        models: [./one, ../two, NAME=./three, dir/here, bare, NAME=dir/here, dir/elsewhere, org/name@main, /abs]
        tokenizer_source: ./one
      `,
      'dir/here': '',
      bare: '',
    });
    expect(recipe).toMatchObject({
      models: [
        join(folder, 'one'),
        join(folder, '../two'),
        `NAME=${join(folder, 'three')}`,
        join(folder, 'dir/here'),
        join(folder, 'bare'),
        `NAME=${join(folder, 'dir/here')}`,
        'dir/elsewhere',
        'org/name@main',
        '/abs',
      ],
      tokenizerSource: join(folder, 'one'),
    });
  });

  it('has a tokenizer with models that it finds', async () => {
    const { recipe, folder } = await read(yaml`
      method: soup
      models: [./one, ./two]
      tokenizer:
        source: ./two
        pad_to_multiple_of: 8
        tokens:
          - {token: <pad>, source: {zero: true}, force: true}
          - {token: <eos>, source: {model: ./one, token_id: 2}}
          - {token: <bos>, source: ./one}
    `);
    const one = join(folder, 'one');
    expect(recipe['tokenizer']).toEqual({
      source: join(folder, 'two'),
      padToMultipleOf: 8,
      tokens: [
        { token: '<pad>', source: { zero: true }, force: true },
        { token: '<eos>', source: { model: one, tokenId: 2 } },
        { token: '<bos>', source: one },
      ],
    });
  });

  it.each<[string, string, string]>([
    [
      'a key with a hyphen',
      'method: layer_swap\ntask: a\nbottom-transition: 1\n',
      '3:1: bottom-transition: unknown key of the recipe; expected a name in snake_case; did you mean bottom_transition?\n  bottom-transition: 1\n  ^',
    ],
    [
      'a key in camel case',
      'method: layer_swap\nbottomTransition: 1\n',
      '2:1: bottomTransition: unknown key of the recipe; expected a name in snake_case; did you mean bottom_transition?\n  bottomTransition: 1\n  ^',
    ],
    [
      'a key that is no name',
      'method: soup\nmodels:\n  - model: a\n    "b c": 1\n',
      '4:5: b c: unknown key of the model; expected a name in snake_case\n      "b c": 1\n      ^',
    ],
    [
      'a misspelt method',
      'task: a\nmetod: layer_swap\n',
      '2:1: metod: unknown key of the recipe; expected one of method, merge_method; did you mean method?\n  metod: layer_swap\n  ^',
    ],
    [
      'no method',
      '\ntask: a\n',
      "2:1: the recipe names no method; expected method (layerloom's dialect) or merge_method (mergekit's)\n  task: a\n  ^",
    ],
    [
      'both methods',
      'method: soup\nmerge_method: linear\n',
      "2:1: merge_method: stands beside method; expected method in layerloom's dialect, merge_method in mergekit's\n  merge_method: linear\n  ^",
    ],
    [
      'a method that is no text',
      'method: [soup]\n',
      '1:9: method: no method; expected its name\n  method: [soup]\n          ^',
    ],
    [
      'a model that is none',
      'method: soup\nmodels: [a, 7]\n',
      '2:13: no model; expected a directory, org/name, a file or a recipe\n  models: [a, 7]\n              ^',
    ],
    [
      'several models in the place of one',
      'method: soup\nmodel: [a, b]\n',
      '2:8: a list, and no model: several stand under models; expected a directory, org/name, a file or a recipe\n  model: [a, b]\n         ^',
    ],
    [
      'a model without its value',
      'method: layer_swap\ntask:\n',
      '2:1: no model; expected a directory, org/name, a file or a recipe\n  task:\n  ^',
    ],
    [
      'an entry without a model',
      'method: soup\nmodels: [{name: a}]\n',
      '2:10: the model lacks model\n  models: [{name: a}]\n           ^',
    ],
    [
      'a parameter in two places',
      'method: soup\nmodels: [a]\nweights: [1]\nparameters: {weights: [1]}\n',
      '4:14: weights: the recipe sets this twice: directly, and under parameters\n  parameters: {weights: [1]}\n               ^',
    ],
    [
      'no range of layers',
      'method: linear\nslices: [{sources: [{model: a, layer_range: 3}]}]\n',
      '2:45: layer_range: no range of layers; expected the first layer and the one after the last: [0, 16]',
    ],
    [
      'a mistake in a recipe in place',
      'method: soup\nmodels:\n  - method: soup\n    models:\n      - {}\n',
      '5:9: the model lacks model\n        - {}\n          ^',
    ],
    [
      'a name of a recipe in place',
      'method: soup\nmodels:\n  - {method: soup, name: a, models: [b]}\n',
      '3:20: name: unknown key of a recipe in the place of a model',
    ],
  ])('refuses %s, at its place', async (_, text, message) => {
    expect(await refusal(text)).toContain(`merge.yaml:${message}`);
  });
});
