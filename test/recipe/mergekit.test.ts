import { describe, expect, it } from 'vitest';
import { read, refusal, yaml } from './recipes.js';

const recipeOf = async (text: string) => (await read(text)).recipe;

describe("mergekit's dialect", () => {
  it('averages models with a weight each, negative ones too', async () => {
    const text = yaml`
      models:
        - model: org/one
          parameters:
            weight: 1.0
        - model: ./two
          parameters:
            weight: -0.3
      merge_method: linear
      parameters:
        normalize: false
      dtype: float16
    `;
    expect(await recipeOf(text)).toEqual({
      method: 'linear',
      dialect: 'mergekit',
      models: [
        { model: 'org/one', weight: 1 },
        { model: './two', weight: -0.3 },
      ],
      normalize: false,
      dtype: 'float16',
    });
  });

  it('interpolates spherically, by gradients and filters', async () => {
    const text = yaml`
      slices:
        - sources:
            - model: org/one
              layer_range: [0, 32]
            - model: org/two
              layer_range: [0, 32]
      merge_method: slerp
      base_model: org/one
      parameters:
        t:
          - filter: self_attn
            value: [0, 0.5, 0.3, 0.7, 1]
          - filter: mlp
            value: [1, 0.5, 0.7, 0.3, 0]
          - filter: "*"
            value: 0.4
      dtype: bfloat16
    `;
    expect(await recipeOf(text)).toEqual({
      method: 'slerp',
      dialect: 'mergekit',
      base: 'org/one',
      slices: [
        {
          sources: [
            { model: 'org/one', layerRange: [0, 32] },
            { model: 'org/two', layerRange: [0, 32] },
          ],
        },
      ],
      t: [
        { filter: 'self_attn', value: [0, 0.5, 0.3, 0.7, 1] },
        { filter: 'mlp', value: [1, 0.5, 0.7, 0.3, 0] },
        { value: 0.4 },
      ],
      dtype: 'bfloat16',
    });
  });

  it('stacks layers of several models, scaled where a source says so', async () => {
    const text = yaml`
      slices:
        - sources:
          - {model: org/one, layer_range: [0, 24]}
        - sources:
          - model: org/two
            layer_range: [8, 32]
            parameters:
              scale:
                - {filter: o_proj, value: 0.0}
                - {filter: down_proj, value: 0.0}
                - value: 1.0
      merge_method: passthrough
      dtype: float16
      out_dtype: bfloat16
    `;
    expect(await recipeOf(text)).toMatchObject({
      method: 'passthrough',
      slices: [
        { sources: [{ model: 'org/one', layerRange: [0, 24] }] },
        {
          sources: [
            {
              model: 'org/two',
              layerRange: [8, 32],
              scale: [{ filter: 'o_proj', value: 0 }, { filter: 'down_proj', value: 0 }, { value: 1 }],
            },
          ],
        },
      ],
      dtype: 'float16',
      outDtype: 'bfloat16',
    });
  });

  it('swaps layers as linear does, by weights of 0 and 1 in each slice', async () => {
    const slice = (first: number, end: number, weights: [number, number]) =>
      ['task', 'language']
        .map(
          (model, index) =>
            `{model: ${model}, layer_range: [${first}, ${end}], parameters: {weight: ${weights[index]}}}`,
        )
        .join(', ');
    const text = `merge_method: linear\nslices:\n  - {sources: [${slice(0, 4, [0, 1])}]}\n  - {sources: [${slice(4, 8, [1, 0])}]}\n`;
    expect((await recipeOf(text))['slices']).toEqual([
      {
        sources: [
          { model: 'task', layerRange: [0, 4], weight: 0 },
          { model: 'language', layerRange: [0, 4], weight: 1 },
        ],
      },
      {
        sources: [
          { model: 'task', layerRange: [4, 8], weight: 1 },
          { model: 'language', layerRange: [4, 8], weight: 0 },
        ],
      },
    ]);
  });

  it.each<[string, readonly string[], readonly string[]]>([
    ['ties', ['density', 'weight'], ['normalize', 'int8Mask', 'lambda']],
    ['dare_ties', ['density', 'weight'], ['normalize', 'int8Mask', 'lambda']],
    ['task_arithmetic', ['weight'], ['normalize', 'int8Mask', 'lambda']],
    ['sce', [], ['int8Mask', 'selectTopk']],
    ['model_stock', [], []],
  ])('merges task vectors by %s, by the parameters that it has', async (method, ofModel, shared) => {
    const text = yaml`
      models:
        - model: base
        - model: one
          parameters:
            density: [1, 0.7, 0.1]
            weight: 1.0
        - model: two
          parameters:
            density: 5e-1
            weight: [0, 0.3, "7e-1", 1]
      base_model: base
      parameters:
        normalize: yes
        int8_mask: true
        lambda: 1e-1
        select_topk: 0.1
      tokenizer_source: union
      chat_template: auto
      merge_method: METHOD
    `.replace('METHOD', method);
    const picked = (values: object, names: readonly string[]) =>
      Object.fromEntries(Object.entries(values).filter(([name]) => names.includes(name)));
    const { recipe, warnings } = await read(text);
    expect(recipe).toEqual({
      method,
      dialect: 'mergekit',
      base: 'base',
      models: [
        { model: 'base' },
        { model: 'one', ...picked({ density: [1, 0.7, 0.1], weight: 1 }, ofModel) },
        { model: 'two', ...picked({ density: 0.5, weight: [0, 0.3, 0.7, 1] }, ofModel) },
      ],
      ...picked({ normalize: true, int8Mask: true, lambda: 0.1, selectTopk: 0.1 }, shared),
      tokenizerSource: 'union',
      chatTemplate: 'auto',
    });
    expect(warnings).toHaveLength(2 * (2 - ofModel.length) + 4 - shared.length);
  });

  it('gives a slice its own base and parameters', async () => {
    const text = yaml`
      merge_method: ties
      base_model: null
      slices:
        - sources: [{model: a, layer_range: [0, 2], parameters: null}]
          base_model: b
          parameters: {weight: {filter: mlp, value: 1}}
    `;
    expect(await recipeOf(text)).toEqual({
      method: 'ties',
      dialect: 'mergekit',
      slices: [
        { sources: [{ model: 'a', layerRange: [0, 2] }], base: 'b', weight: { filter: 'mlp', value: 1 } },
      ],
    });
  });

  it('takes one module for the recipe, its parameters before those of all', async () => {
    const text = yaml`
      merge_method: linear
      modules:
        text_decoder:
          models: [{model: a}, {model: b}]
          parameters:
            weight: [{filter: mlp, value: 2}]
            normalize: false
      parameters: {weight: 1, normalize: true}
    `;
    expect(await recipeOf(text)).toEqual({
      method: 'linear',
      dialect: 'mergekit',
      models: [{ model: 'a' }, { model: 'b' }],
      // If no module filter matches, the global parameters apply.
      weight: [{ filter: 'mlp', value: 2 }, { value: 1 }],
      normalize: false,
    });
  });

  it('takes several modules that say the same for one', async () => {
    const text = 'merge_method: linear\nmodules:\n  text: &all {models: [{model: a}]}\n  vision: *all\n';
    expect((await recipeOf(text))['models']).toEqual([{ model: 'a' }]);
  });

  it('refers to models by text or by mapping', async () => {
    const text = yaml`
      merge_method: linear
      models:
        - model: org/name@v1
        - model: {model: org/name}
        - model: {model: {path: org/name, revision: abc}, lora: null}
        - model: {model: {path: ./here, revision: null}}
        - model: org/name+org/adapter
        - model: {model: {path: org/name, revision: abc}, lora: {path: org/adapter}}
        - model: {model: ./here, lora: ./adapter}
        - model: {model: org/name@v1, lora: org/adapter}
    `;
    expect((await recipeOf(text))['models']).toEqual(
      [
        'org/name@v1',
        'org/name',
        'org/name@abc',
        './here',
        'org/name+org/adapter',
        'org/name@abc+org/adapter',
        './here+./adapter',
        'org/name@v1+org/adapter',
      ].map((model) => ({ model })),
    );
  });

  it.each([
    ['tokenizer_source: base', 'base'],
    ['tokenizer_source: org/name', 'org/name'],
    ['tokenizer_source: {model: {path: org/name, revision: a}}', 'org/name@a'],
    ['tokenizer: {source: base}', 'base'],
    ['tokenizer: {tokens: null}', 'union'],
  ])('takes the tokenizer of %s', async (line, source) => {
    expect(await recipeOf(`merge_method: linear\nmodels: [{model: a}]\n${line}\n`)).toMatchObject({
      tokenizerSource: source,
    });
  });

  it('takes tokens with their sources, and a multiple of rows', async () => {
    const text = yaml`
      merge_method: linear
      models: [{model: a}]
      tokenizer:
        source: org/name
        tokens:
          <|im_start|>: {source: a}
          <pad>: {source: {kind: zero}, force: true}
          "7": {source: {kind: model_token, model: {model: {path: org/other, revision: v1}}, token_id: 3}}
          <|im_end|>: {source: {kind: model_token, model: a, token: </s>}}
          <new>: {}
        pad_to_multiple_of: 64
    `;
    expect((await recipeOf(text))['tokenizer']).toEqual({
      source: 'org/name',
      tokens: [
        { token: '<|im_start|>', source: 'a' },
        { token: '<pad>', source: { zero: true }, force: true },
        { token: '7', source: { model: 'org/other@v1', tokenId: 3 } },
        { token: '<|im_end|>', source: { model: 'a', token: '</s>' } },
        { token: '<new>' },
      ],
      padToMultipleOf: 64,
    });
  });

  const models = 'merge_method: linear\nmodels: [{model: a}]\n';
  it.each<[string, string, string]>([
    [
      'an unknown key of a source',
      'merge_method: linear\nslices:\n  - sources: [{model: a, layer_ranges: [0, 1]}]\n',
      '3:26: layer_ranges: unknown key of the source; expected one of layer_range; did you mean layer_range?',
    ],
    [
      'an unknown key of a slice',
      'merge_method: linear\nslices:\n  - source: []\n',
      '3:5: source: unknown key of the slice; expected one of sources; did you mean sources?',
    ],
    [
      'a setting without a value',
      `${models}parameters: {t: [{filter: mlp}]}\n`,
      '3:18: the setting lacks value',
    ],
    [
      'values of two kinds',
      `${models}parameters: {t: [1, {value: 1}]}\n`,
      '3:18: parameters: not a mapping; expected filter and value',
    ],
    [
      'a gradient of gradients',
      `${models}parameters: {t: [[1], [2]]}\n`,
      '3:17: no value of a parameter; expected a number, a list of numbers, or filter and value',
    ],
    [
      'parameters that are a list',
      `${models}parameters: [1]\n`,
      '3:13: parameters: not a mapping; expected names and values',
    ],
    [
      'nothing to merge',
      '# a\nmerge_method: linear\n',
      '2:1: nothing says what to merge; expected exactly one of models, slices, modules',
    ],
    [
      'models and slices',
      `${models}slices: [{sources: []}]\n`,
      '3:1: slices: stands beside models; expected exactly one of models, slices, modules',
    ],
    [
      'no models',
      'merge_method: linear\nmodels: []\n',
      '2:9: models: the list is empty; expected a list of models',
    ],
    [
      'models that are no list',
      'merge_method: linear\nmodels: a\n',
      '2:9: models: not a list; expected a list of models',
    ],
    [
      'a model that is text',
      'merge_method: linear\nmodels: [a]\n',
      '2:10: models: not a mapping; expected model and parameters',
    ],
    [
      'an entry without a model',
      'merge_method: linear\nmodels: [{parameters: {}}]\n',
      '2:10: the entry lacks model',
    ],
    [
      'a model that is a number',
      'merge_method: linear\nmodels: [{model: 7}]\n',
      '2:18: no model; expected a directory, org/name, a file or a recipe',
    ],
    [
      'a placeholder in the place of a model',
      'merge_method: linear\nmodels:\n  - model: {BASE}\n',
      '3:12: no model; expected a directory, org/name, a file or a recipe',
    ],
    [
      'a path that stands one level too high',
      'merge_method: linear\nmodels: [{model: {path: a}}]\n',
      '2:18: the model lacks model',
    ],
    [
      'a revision that is a number',
      'merge_method: linear\nmodels: [{model: {model: {path: a, revision: 12}}}]\n',
      '2:46: revision: no revision; expected text: put it in quotes',
    ],
    [
      'no range of layers',
      'merge_method: linear\nslices: [{sources: [{model: a, layer_range: [4, 2]}]}]\n',
      '2:45: layer_range: no range of layers; expected the first layer and the one after the last: [0, 16]',
    ],
    [
      'a source without its layers',
      'merge_method: linear\nslices: [{sources: [{model: a}]}]\n',
      '2:21: the source lacks layer_range',
    ],
    [
      'a slice without sources',
      'merge_method: linear\nslices: [{parameters: {}}]\n',
      '2:10: the slice lacks sources',
    ],
    [
      'two modules that differ',
      'merge_method: linear\nmodules:\n  text: {models: [{model: a}]}\n  vision: {models: [{model: b}]}\n',
      '4:3: vision: a module that is merged otherwise than text, which is not supported; expected modules that say the same',
    ],
    ['no module', 'merge_method: linear\nmodules: {}\n', '2:10: modules: empty; expected one module'],
    [
      'an empty module',
      'merge_method: linear\nmodules: {text: {parameters: {}}}\n',
      '2:17: nothing says what to merge; expected exactly one of models, slices',
    ],
    [
      'a kind of embedding that does not exist',
      `${models}tokenizer: {tokens: {a: {source: {kind: mean}}}}\n`,
      '3:41: kind: no kind of embedding; expected zero or model_token',
    ],
    [
      'an embedding of two tokens',
      `${models}tokenizer: {tokens: {a: {source: {kind: model_token, model: b, token: c, token_id: 1}}}}\n`,
      '3:34: the embedding has both token and token_id; expected token, its text, or token_id, its number: one of the two',
    ],
    [
      'an embedding of no token',
      `${models}tokenizer: {tokens: {a: {source: {kind: model_token, model: b}}}}\n`,
      '3:34: the embedding names no token;',
    ],
    [
      'two tokenizers',
      `${models}tokenizer_source: base\ntokenizer: {source: base}\n`,
      '4:1: tokenizer: stands beside tokenizer_source; expected one of them',
    ],
    [
      'a method that is no text',
      'merge_method: 1\nmodels: [{model: a}]\n',
      '1:15: merge_method: no method; expected its name',
    ],
  ])('refuses %s, at its place', async (_, text, message) => {
    expect(await refusal(text)).toContain(`merge.yaml:${message}`);
  });

  it.each<[string, string, string]>([
    [
      'a key of the recipe',
      `${models}base-model: b\n`,
      '3:1: base-model: unknown key of the recipe; ignored, as mergekit does; did you mean base_model?',
    ],
    [
      'a parameter at the top',
      `${models}normalize: false\n`,
      '3:1: normalize: unknown key of the recipe; ignored, as mergekit does; expected normalize under parameters',
    ],
    [
      'a key of a model',
      'merge_method: linear\nmodels:\n  - model: a\n    paramters: {}\n',
      '4:5: paramters: unknown key of models; ignored, as mergekit does; did you mean parameters?',
    ],
    [
      'a parameter beside a model',
      'merge_method: linear\nmodels:\n  - model: a\n    weight: 1\n',
      '4:5: weight: unknown key of models; ignored, as mergekit does; expected weight under parameters',
    ],
    [
      'a key of a setting',
      `${models}parameters:\n  weight: [{filer: mlp, value: 1}]\n`,
      '4:13: filer: unknown key of the setting; ignored, as mergekit does; did you mean filter?',
    ],
    [
      'a key of the recipe under parameters',
      `${models}parameters:\n  out_dtype: float32\n`,
      '4:3: out_dtype: linear has no such parameter; ignored, as mergekit does; expected out_dtype beside parameters',
    ],
    [
      'a parameter in another spelling',
      `${models}parameters: {Normalize: true}\n`,
      '3:14: Normalize: linear has no such parameter; ignored, as mergekit does; did you mean normalize?',
    ],
    [
      'a list of our own',
      `${models}parameters: {weights: [1]}\n`,
      '3:14: weights: linear has no such parameter; ignored, as mergekit does; did you mean weight?',
    ],
    [
      'a parameter of the whole merge at a model',
      'merge_method: linear\nmodels: [{model: a, parameters: {normalize: false}}]\n',
      '2:34: normalize: a parameter of the whole merge, not of one model; ignored, as mergekit does; expected it under the parameters of the recipe',
    ],
    [
      'another architecture',
      'merge_method: linear\nmodels: [{model: {model: a, override_architecture: b}}]\n',
      '2:29: override_architecture: tensors are taken by their names, whatever the architecture; ignored',
    ],
    [
      'a residual weight',
      'merge_method: linear\nslices: [{sources: [{model: a, layer_range: [0, 1]}], residual_weight: 1}]\n',
      '2:55: residual_weight: unknown key of slices; ignored, as mergekit does',
    ],
    [
      'a revision beside a model',
      'merge_method: linear\nslices: [{sources: [{model: a, revision: b, layer_range: [0, 1]}]}]\n',
      '2:32: revision: unknown key of sources; ignored, as mergekit does',
    ],
    [
      'a key of the module',
      'merge_method: linear\nmodules: {text: {model: [], models: [{model: a}]}}\n',
      '2:18: model: unknown key of the module; ignored, as mergekit does; did you mean models?',
    ],
    [
      'a key that stands twice, of which the last counts',
      'merge_method: linear\nmodels: [{model: b}]\nmodels: [{model: a}]\n',
      '3:1: models: this key stands twice in one mapping; the last one counts, as in mergekit',
    ],
  ])('ignores %s, and warns at its place', async (_, text, warning) => {
    const { recipe, warnings, folder } = await read(text);
    expect(warnings.map((one) => one.text.replaceAll(`${folder}/`, ''))).toEqual([`merge.yaml:${warning}`]);
    expect(warnings[0]?.error).toMatchObject({ code: 'RECIPE_INVALID', exitCode: 2 });
    expect(JSON.stringify(recipe)).not.toMatch(/"b"|normalize|weights|residual/);
  });

  it.each([
    [
      'genome: {models: [a], merge_method: linear}\ntasks: [{name: x}]\n',
      '1:1: genome: this is a file of mergekit-evolve and no recipe',
    ],
    ['layer_slices: [{model: a, start: 0, end: 4}]\n', '1:1: layer_slices: this is a file of bakllama'],
  ])('refuses a file of another program of mergekit by its name: %j', async (text, message) => {
    expect(await refusal(text)).toContain(`merge.yaml:${message}`);
  });

  it('takes numbers for what is true or false, and the reverse, as pydantic does', async () => {
    const text = yaml`
      merge_method: dare_ties
      base_model: a
      models: [{model: b, parameters: {weight: true, density: "0.5"}}]
      parameters:
        normalize: 1.0
        int8_mask: [{filter: mlp, value: 0}, {value: "yes"}]
        rescale: 0.0
    `;
    expect(await recipeOf(text)).toMatchObject({
      models: [{ model: 'b', weight: 1, density: 0.5 }],
      normalize: true,
      int8Mask: [{ filter: 'mlp', value: false }, { value: true }],
      rescale: false,
    });
  });

  it('takes for absent what is empty: text, and lists beside one that is not', async () => {
    const text = yaml`
      merge_method: linear
      models: [{model: a, parameters: {weight: 1}}]
      slices: []
      modules: {}
      dtype: ""
      out_dtype: ""
      chat_template: ""
      tokenizer_source: ""
    `;
    expect(await read(text)).toMatchObject({ warnings: [] });
    expect(await recipeOf(text)).toEqual({
      method: 'linear',
      dialect: 'mergekit',
      models: [{ model: 'a', weight: 1 }],
    });
  });

  it('takes numbers as Python spells them, and numbers of layers and rows in quotes', async () => {
    const text = yaml`
      merge_method: linear
      slices:
        - sources: [{model: a, layer_range: ["0", "16.0"], parameters: {weight: 1_0}}]
        - sources: [{model: a, layer_range: [16, 32], parameters: {weight: " .5 "}}]
      tokenizer: {source: base, pad_to_multiple_of: "64"}
    `;
    expect(await recipeOf(text)).toMatchObject({
      slices: [
        { sources: [{ layerRange: [0, 16], weight: 10 }] },
        { sources: [{ layerRange: [16, 32], weight: 0.5 }] },
      ],
      tokenizer: { padToMultipleOf: 64 },
    });
    expect(await recipeOf(text.replace('"64"', '0'))).toMatchObject({ tokenizerSource: 'base' });
  });

  it('takes a share above 1 for 1, and a local model without its revision', async () => {
    const text = yaml`
      merge_method: ties
      base_model: test@main
      models: [{model: b, parameters: {weight: 1, density: 1.5}}]
    `;
    const { recipe, warnings } = await read(text);
    expect(recipe).toMatchObject({ base: 'test', models: [{ density: 1 }] });
    expect(warnings.map(({ text }) => text.replace(/^.*merge.yaml/, 'merge.yaml'))).toEqual([
      'merge.yaml:2:13: @main: test is a local model, which has no revisions; ignored, as mergekit does',
      'merge.yaml:3:54: density 1.5: more than 1; read as 1',
    ]);
    expect(await recipeOf(text.replace('test@main', 'org/none@main'))).toMatchObject({
      base: 'org/none@main',
    });
  });

  it('ignores a chat template of an unknown name, unless a tokenizer is built', async () => {
    const text = yaml`
      merge_method: linear
      models: [{model: a, parameters: {weight: 1}}]
      chat_template: chatlm
    `;
    const { recipe, warnings } = await read(text);
    expect(recipe).not.toHaveProperty('chatTemplate');
    expect(warnings.map(({ text }) => text).join()).toMatch(/merge.yaml:3:16: .*did you mean chatml\?$/);
    expect(await recipeOf(`${text}tokenizer_source: union\n`)).toMatchObject({ chatTemplate: 'chatlm' });
  });
});
