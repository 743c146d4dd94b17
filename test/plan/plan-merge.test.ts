import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { planMerge } from '../../src/api/plan-merge.js';
import { version } from '../../src/core/base/files/version.js';
import { encodeHeader } from '../../src/core/models/checkpoint/containers/safetensors/header.js';
import { quantisedTensors } from '../../src/core/plan/compile/quantised.js';
import { sourcesOf } from '../../src/core/plan/operands.js';
import type { MergePlan } from '../../src/core/plan/plan.js';
import {
  fill,
  llama,
  llamaConfig,
  llamaShapes,
  type TensorFixture,
  temporaryDirectory,
  writeCheckpoint,
  writePair,
} from '../fixtures/checkpoints.js';

const tensorsOf = (plan: MergePlan) =>
  new Map(plan.shards.flatMap(({ tensors }) => tensors.map((tensor) => [tensor.name, tensor] as const)));

const kinds = (plan: MergePlan): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const { expression } of tensorsOf(plan).values())
    counts[expression.kind] = (counts[expression.kind] ?? 0) + 1;
  return counts;
};

describe('planMerge', () => {
  it('decides every byte of the output, as plain JSON', async () => {
    const { task, language } = writePair();
    const plan = await planMerge({ method: 'layer_swap', task, language, bottom: 2, top: 1 });
    // A clone lacks symbols: the kinds of operands exist only in memory.
    expect(JSON.parse(JSON.stringify(plan))).toStrictEqual(structuredClone(plan));
    expect([...tensorsOf(plan).keys()].sort()).toEqual(Object.keys(llamaShapes()).sort());
    for (const { bytes, tensors } of plan.shards) {
      const header = encodeHeader(tensors.map((tensor) => ({ ...tensor, bytes: tensor.end - tensor.begin })));
      expect(tensors[0]?.begin).toBe(header.length);
      expect(tensors.at(-1)?.end).toBe(bytes);
    }
  });

  it('reads of each input only what the output needs', async () => {
    const { task, language } = writePair();
    const { cost, shards } = await planMerge({ method: 'layer_swap', task, language, bottom: 2, top: 1 });
    const outside = (24 * 16 + 16) * 2;
    const layers = 8 * (16 + 16 * 16 + 8 * 16 + 4 + 16 * 16 + 16 + 40 * 16 + 16 * 40) * 2;
    expect(cost).toMatchObject({
      bytesCopied: layers,
      bytesComputed: outside,
      bytesToRead: layers + 2 * outside,
    });
    expect(cost.bytesToWrite).toBe(shards.reduce((total, { bytes }) => total + bytes, 0));
  });

  it('takes names, dtypes and side files from the first model', async () => {
    const root = temporaryDirectory();
    const task = writeCheckpoint(join(root, 't'), {
      ...llama({ dtype: 'F32' }),
      files: { 'tokenizer.json': '{}', 'merges.txt': 't' },
    });
    const language = writeCheckpoint(join(root, 'l'), {
      ...llama({ dtype: 'BF16', seed: 2 }),
      files: { 'merges.txt': 'l', LICENSE: '' },
    });
    const plan = await planMerge({ method: 'layer_swap', task, language, bottom: 1, top: 1 });
    expect(new Set([...tensorsOf(plan).values()].map(({ dtype }) => dtype))).toEqual(new Set(['F32']));
    expect(plan.files.flatMap((file) => ('copyOf' in file ? [file.copyOf] : []))).toEqual([
      join(task, 'merges.txt'),
      join(task, 'tokenizer.json'),
    ]);
    // A swapped layer is then converted, not copied.
    expect(tensorsOf(plan).get('model.layers.0.self_attn.q_proj.weight')?.expression).toMatchObject({
      kind: 'linear',
      terms: [{ weight: 1 }],
    });
  });

  it('converts every floating tensor where a dtype is asked for, copied ones too, and no integers', async () => {
    const { task, language } = writePair();
    const plan = await planMerge({
      method: 'layer_swap',
      task,
      language,
      bottom: 2,
      top: 1,
      dtype: 'float32',
    });
    expect(kinds(plan)).toEqual({ linear: Object.keys(llamaShapes()).length });
    expect(plan.files.find(({ name }) => name === 'config.json')).toMatchObject({
      text: expect.stringContaining('"torch_dtype": "float32"'),
    });
  });

  it('copies a single model’s soup', async () => {
    const { task } = writePair();
    expect(kinds(await planMerge({ method: 'soup', models: [task] }))).toEqual({
      copy: Object.keys(llamaShapes()).length,
    });
  });

  const withExtra = (name: string, extra: TensorFixture, seed: number) => {
    const { tensors, config } = llama({ seed });
    return { tensors: { ...tensors, [name]: extra }, config };
  };
  const bytes = (dtype: string, ...values: number[]): TensorFixture => ({
    dtype,
    shape: [values.length],
    data: Uint8Array.from(values),
  });
  const pairWith = (name: string, a: TensorFixture, b: TensorFixture) => {
    const root = temporaryDirectory();
    return {
      task: writeCheckpoint(join(root, 't'), withExtra(name, a, 1)),
      language: writeCheckpoint(join(root, 'l'), withExtra(name, b, 2)),
    };
  };

  it('copies integers that would be averaged only when all are equal', async () => {
    const { task, language } = pairWith('model.position_ids', bytes('U8', 1, 2), bytes('U8', 1, 2));
    const plan = await planMerge({
      method: 'layer_swap',
      task,
      language,
      bottom: 1,
      top: 1,
      dtype: 'float32',
    });
    expect(tensorsOf(plan).get('model.position_ids')).toMatchObject({
      dtype: 'U8',
      expression: { kind: 'same', sources: [{}, {}] },
    });
  });

  it('copies dtypes that no kernel computes in, and averages float8', async () => {
    const one = pairWith('model.extra', bytes('F8_E8M0', 1, 2), bytes('F8_E8M0', 3, 4));
    const opaque = await planMerge({ method: 'layer_swap', ...one, bottom: 1, top: 1 });
    expect(tensorsOf(opaque).get('model.extra')?.expression.kind).toBe('same');
    const other = pairWith('model.extra', bytes('F8_E4M3', 1, 2), bytes('F8_E5M2', 3, 4));
    const float8 = await planMerge({ method: 'layer_swap', ...other, bottom: 1, top: 1 });
    expect(tensorsOf(float8).get('model.extra')).toMatchObject({
      dtype: 'F8_E4M3',
      expression: { kind: 'linear' },
    });
  });

  it('copies quantised weights and their scales, whatever dtype is asked for, and refuses to average them', async () => {
    const root = temporaryDirectory();
    const quantised = (seed: number) => {
      const { tensors, config } = llama({ seed });
      const scales = fill({ 'model.layers.3.mlp.up_proj.weight_scale': [1] }, 'F32', seed);
      return {
        tensors: { ...tensors, 'model.layers.3.mlp.up_proj.weight': bytes('F8_E4M3', 1, 2), ...scales },
        config,
      };
    };
    const task = writeCheckpoint(join(root, 't'), quantised(1));
    const language = writeCheckpoint(join(root, 'l'), quantised(2));
    const plan = await planMerge({
      method: 'layer_swap',
      task,
      language,
      bottom: 1,
      top: 1,
      dtype: 'float16',
    });
    for (const name of ['weight', 'weight_scale'])
      expect(tensorsOf(plan).get(`model.layers.3.mlp.up_proj.${name}`)?.expression.kind).toBe('copy');
    await expect(
      planMerge({ method: 'layer_swap', task, language, bottom: 3, bottomTransition: 1 }),
    ).rejects.toMatchObject({ code: 'QUANTISED_WEIGHTS', exitCode: 3 });
  });

  it.each([
    'weight_scale',
    'weight_scale_inv',
    'weight_global_scale',
    'input_scale',
    'weight_scales',
    'qzeros',
    'SCB',
  ])('knows a quantised module by its %s', (mark) => {
    const reference = { file: 0, begin: 0, end: 4, dtype: 'F32', shape: [1] } as const;
    const stored = [
      'model.layers.0.mlp.up_proj.weight',
      `model.layers.0.mlp.up_proj.${mark}`,
      'model.layers.0.mlp.up_proj.bias',
      'model.norm.weight',
    ];
    const names = quantisedTensors({
      tensors: new Map(stored.map((name) => [name, reference])),
      config: undefined,
    });
    expect([...names].sort()).toEqual(
      [`model.layers.0.mlp.up_proj.${mark}`, 'model.layers.0.mlp.up_proj.weight'].sort(),
    );
  });

  it('keeps each source inside its file', async () => {
    const { task, language } = writePair();
    const { inputs, shards } = await planMerge({ method: 'soup', models: [task, language] });
    for (const { tensors } of shards)
      for (const { expression } of tensors)
        for (const { input, file, end } of sourcesOf(expression))
          expect(end).toBeLessThanOrEqual(statSync(inputs[input]?.files[file]?.path ?? '').size);
  });

  it('writes a model card that names the models, what came from where, and the recipe', async () => {
    const { task, language } = writePair();
    writeFileSync(join(task, 'README.md'), '---\nlicense: apache-2.0\n---\n');
    writeFileSync(join(language, 'README.md'), '---\nlicense: apache-2.0\n---\n');
    const { files } = await planMerge({ method: 'layer_swap', task, language, bottom: 2, top: 1 });
    const card = files.find(({ name }) => name === 'README.md');
    const text = card !== undefined && 'text' in card ? card.text : '';
    expect(text.replace(version, 'VERSION')).toMatchInlineSnapshot(`
      "---
      base_model_relation: merge
      library_name: transformers
      pipeline_tag: text-generation
      tags:
        - merge
        - layerloom
        - layer-swap
      license: apache-2.0
      ---

      # Layer swap of task and language

      Merged with layerloom VERSION.

      | layers | from |
      | --- | --- |
      | outside the layers | 0.5 task + 0.5 language |
      | 7 | language |
      | 2–6 | task |
      | 0–1 | language |

      Recipe:

      \`\`\`yaml
      method: layer_swap
      task: ./task
      language: ./language
      bottom: 2
      top: 1
      bottom_transition: 0
      top_transition: 0
      weights: [1, 1]
      others: average
      norms: layer
      \`\`\`

      \`layerloom merge README.md -o merged\` merges this again, to the same bytes. A model that is written as \`./NAME\` must lie beside the recipe's file.

      ## Use

      \`\`\`python
      from transformers import AutoModelForCausalLM

      model_id = "."  # this folder, or the name of the model on the hub
      model = AutoModelForCausalLM.from_pretrained(model_id, torch_dtype="auto")
      \`\`\`

      ## Citation

      \`\`\`bibtex
      @misc{bandarkar2024layerswapping,
        title = {{Layer Swapping for Zero-Shot Cross-Lingual Transfer in Large Language Models}},
        author = {Bandarkar, Lucas and Muller, Benjamin and Yuvraj, Pritish and Hou, Rui and Singhal, Nayan and Lv, Hongjiang and Liu, Bing},
        year = {2024},
        eprint = {2410.01335},
        archivePrefix = {arXiv},
        url = {https://arxiv.org/abs/2410.01335}
      }
      \`\`\`
      "
    `);
  });

  it('says when a family is known by its pattern alone', async () => {
    const root = temporaryDirectory();
    const shapes = {
      'backbone.layers.0.mixer.weight': [4],
      'backbone.layers.1.mixer.weight': [4],
      'backbone.extra.weight': [4],
    };
    const models = ['t', 'l'].map((name, seed) =>
      writeCheckpoint(join(root, name), {
        tensors: fill(shapes, 'F32', seed),
        config: { model_type: 'novel' },
      }),
    );
    const [task = '', language = ''] = models;
    const { warnings } = await planMerge({ method: 'layer_swap', task, language, bottom: 1, top: 1 });
    expect(warnings).toEqual([
      expect.stringMatching(
        /family novel is not one layerloom knows.*2 layers are those named backbone\.layers\.N/,
      ),
    ]);
  });
});

describe('what cannot be compared', () => {
  it('for want of a side file is said', async () => {
    const { root, task, tensors } = writePair();
    writeFileSync(join(task, 'tokenizer.json'), '{}');
    const bare = writeCheckpoint(join(root, 'bare'), { tensors: tensors.language });
    const { warnings } = await planMerge({ method: 'layer_swap', task, language: bare, bottom: 1, top: 1 });
    expect(warnings).toEqual([
      'bare has no config.json, which could not be compared with that of task',
      'bare has no tokenizer.json, which could not be compared with that of task',
    ]);
  });
});

describe('tensors that say nothing of their own', () => {
  const inverse = fill({ 'model.layers.0.self_attn.rotary_emb.inv_freq': [4] }, 'F32', 9);
  const { tensors, config } = llama({ seed: 1 });
  const head = { 'lm_head.weight': tensors['model.embed_tokens.weight'] as TensorFixture };

  it.each<[string, typeof inverse]>([
    ['a constant table', inverse],
    ['the head of tied embeddings', head],
  ])('such as %s may be stored by one model alone, and are then left out', async (_, extra) => {
    const root = temporaryDirectory();
    const plain = writeCheckpoint(join(root, 'plain'), llama({ seed: 2 }));
    const storing = writeCheckpoint(join(root, 'storing'), { tensors: { ...tensors, ...extra }, config });
    for (const [task, language] of [
      [plain, storing],
      [storing, plain],
    ] as const) {
      const plan = await planMerge({ method: 'layer_swap', task, language, bottom: 1, top: 1 });
      expect([...tensorsOf(plan).keys()].sort()).toEqual(Object.keys(tensors).sort());
      expect(plan.warnings).toEqual([expect.stringContaining(Object.keys(extra)[0] ?? '')]);
    }
    const both = await planMerge({ method: 'soup', models: [storing] });
    expect(tensorsOf(both).has(Object.keys(extra)[0] ?? '')).toBe(true);
  });
});

describe('experts that were not made for each other', () => {
  const write = (root: string, name: string, fixture: Parameters<typeof writeCheckpoint>[1]) =>
    writeCheckpoint(join(root, name), fixture);
  const plan = (task: string, language: string) =>
    planMerge({ method: 'layer_swap', task, language, bottom: 1, top: 1 });

  it.each<[string, Parameters<typeof writeCheckpoint>[1], string]>([
    ['layer counts', llama({ layers: 7 }), 'LAYER_COUNT_MISMATCH'],
    ['tying', llama({ tied: false }), 'TIED_MISMATCH'],
    ['shapes', { tensors: llama({ hidden: 32 }).tensors }, 'SHAPE_MISMATCH'],
    [
      'names',
      { tensors: { ...llama().tensors, extra: { dtype: 'F32', shape: [1], data: new Uint8Array(4) } } },
      'TENSOR_NAMES_DIFFER',
    ],
    [
      'dtypes of which one is not floating',
      {
        tensors: {
          ...llama().tensors,
          'model.norm.weight': { dtype: 'I16', shape: [16], data: new Uint8Array(32) },
        },
      },
      'DTYPE_MISMATCH',
    ],
    [
      'sizes in the configuration',
      { tensors: llama().tensors, config: { ...llamaConfig(), num_attention_heads: 8 } },
      'CONFIG_MISMATCH',
    ],
    [
      'token ids',
      { ...llama(), files: { 'tokenizer.json': '{"model": {"vocab": {"a": 1}}}' } },
      'TOKENIZER_MISMATCH',
    ],
    [
      'the convention of names',
      { tensors: fill({ 'layers.0.attention.wq.weight': [2], 'tok_embeddings.weight': [2] }, 'BF16', 1) },
      'NAMING_MISMATCH',
    ],
  ])('by their %s are refused', async (_, other, code) => {
    const root = temporaryDirectory();
    const config = { ...llamaConfig(), num_attention_heads: 4 };
    const task = write(root, 't', {
      ...llama(),
      config,
      files: { 'tokenizer.json': '{"model": {"vocab": {"a": 0}}}' },
    });
    await expect(plan(task, write(root, 'l', other))).rejects.toMatchObject({ code, exitCode: 3 });
  });

  it('are told of the first few tensors that differ, and of their count', async () => {
    const root = temporaryDirectory();
    const task = write(root, 't', { tensors: llama().tensors });
    const language = write(root, 'l', { tensors: llama({ hidden: 32 }).tensors });
    await expect(plan(task, language)).rejects.toThrow(
      /model\.embed_tokens\.weight \[24, 32\] against \[24, 16\].*… \(66 in all\)/,
    );
  });

  it('may differ in chat template and generation config, which is said', async () => {
    const root = temporaryDirectory();
    const task = write(root, 't', {
      ...llama(),
      files: {
        'chat_template.jinja': 'a',
        'generation_config.json': '{"temperature": 1, "transformers_version": "4"}',
      },
    });
    const language = write(root, 'l', {
      ...llama({ seed: 2 }),
      files: { 'chat_template.jinja': 'b', 'generation_config.json': '{"temperature": 2}' },
    });
    const { warnings } = await plan(task, language);
    expect(warnings).toEqual([
      expect.stringContaining('chat template'),
      expect.stringContaining('generation config'),
    ]);
  });

  it('and a base that does not fit is refused too', async () => {
    const { root, task, language } = writePair();
    const base = write(root, 'base', llama({ layers: 7 }));
    await expect(
      planMerge({ method: 'layer_swap', task, language, base, bottom: 1, top: 1 }),
    ).rejects.toMatchObject({ code: 'LAYER_COUNT_MISMATCH' });
  });

  it('of one name in two folders are told apart by these', async () => {
    const root = temporaryDirectory();
    const [task, language] = [
      write(join(root, 'math'), 'final', llama({ seed: 1 })),
      write(join(root, 'swahili'), 'final', llama({ seed: 2 })),
    ];
    expect((await plan(task, language)).inputs.map(({ name }) => name)).toEqual([
      'math/final',
      'swahili/final',
    ]);
  });

  it('and so are models of a soup, unless two are given one name', async () => {
    const root = temporaryDirectory();
    const models = ['a', 'b'].map((name) => write(join(root, name), 'final', llama()));
    const apart = await planMerge({ method: 'soup', models });
    expect(apart.inputs.map(({ name }) => name)).toEqual(['a/final', 'b/final']);
    const [first, second] = models as [string, string];
    for (const clashing of [`x=${first}`, `final=${first}`])
      await expect(
        planMerge({ method: 'soup', models: [clashing, clashing.replace(first, second)] }),
      ).rejects.toMatchObject({ code: 'NAME_CLASH', exitCode: 2 });
    const named = await planMerge({
      method: 'soup',
      models: models.map((path, index) => `expert-${index}=${path}`),
    });
    expect(named.inputs.map(({ name }) => name)).toEqual(['expert-0', 'expert-1']);
  });
});
