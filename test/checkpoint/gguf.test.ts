import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { itemAt } from '../../src/core/base/errors/lookup.js';
import { diff, layerSwap, openCheckpoint, relayout, soup } from '../../src/index.js';
import { temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { hashOf } from '../fixtures/contents.js';
import { blockSizes, numbersOf, storedRow } from '../fixtures/gguf-blocks.mjs';
import { type GgufFixture, ggufModel, randomBlocks, value, writeGguf } from '../fixtures/gguf-files.js';
import { readTensors } from '../fixtures/merged.js';
import { encode } from '../fixtures/numbers.js';

/** Names as transformers' GGUF loader maps them, by architecture; N is a layer. */
const names: Readonly<Record<string, string>> = {
  'token_embd.weight': 'model.embed_tokens.weight',
  'output_norm.weight': 'model.norm.weight',
  'blk.N.attn_norm.weight': 'model.layers.N.input_layernorm.weight',
  'blk.N.attn_q.weight': 'model.layers.N.self_attn.q_proj.weight',
  'blk.N.attn_k.weight': 'model.layers.N.self_attn.k_proj.weight',
  'blk.N.attn_v.weight': 'model.layers.N.self_attn.v_proj.weight',
  'blk.N.attn_q.bias': 'model.layers.N.self_attn.q_proj.bias',
  'blk.N.attn_k.bias': 'model.layers.N.self_attn.k_proj.bias',
  'blk.N.attn_v.bias': 'model.layers.N.self_attn.v_proj.bias',
  'blk.N.attn_q_norm.weight': 'model.layers.N.self_attn.q_norm.weight',
  'blk.N.attn_k_norm.weight': 'model.layers.N.self_attn.k_norm.weight',
  'blk.N.attn_output.weight': 'model.layers.N.self_attn.o_proj.weight',
  'blk.N.ffn_gate.weight': 'model.layers.N.mlp.gate_proj.weight',
  'blk.N.ffn_up.weight': 'model.layers.N.mlp.up_proj.weight',
  'blk.N.ffn_down.weight': 'model.layers.N.mlp.down_proj.weight',
};

const normsOf = (architecture: string): Readonly<Record<string, string>> =>
  /^gemma[23]/.test(architecture)
    ? {
        'blk.N.ffn_norm.weight': 'model.layers.N.pre_feedforward_layernorm.weight',
        'blk.N.post_attention_norm.weight': 'model.layers.N.post_attention_layernorm.weight',
        'blk.N.post_ffw_norm.weight': 'model.layers.N.post_feedforward_layernorm.weight',
      }
    : { 'blk.N.ffn_norm.weight': 'model.layers.N.post_attention_layernorm.weight' };

const digest = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

const expected = ({ tensors }: GgufFixture, architecture: string, heads = 4, headsOfKeys = 2) =>
  Object.fromEntries(
    Object.entries(tensors).map(([name, { type, shape, data }]) => {
      const [, layer = ''] = /^blk\.(\d+)\./.exec(name) ?? [];
      const known = { ...names, ...normsOf(architecture) }[name.replace(/^blk\.\d+/, 'blk.N')] ?? '';
      const plus = architecture.startsWith('gemma') && name.endsWith('norm.weight') ? -1 : 0;
      const [rows = 1, width = 1] = shape;
      const isTurned = architecture === 'llama' && /attn_[qk]\.weight/.test(name);
      const head = isTurned ? rows / (name.includes('attn_q') ? heads : headsOfKeys) : 0;
      const found = numbersOf(type, data);
      const numbers = isTurned
        ? Array.from({ length: rows }, (_, row) => {
            const from = storedRow(row, head) * width;
            return found.slice(from, from + width);
          }).flat()
        : found;
      const shifted = plus === 0 ? numbers : numbers.map((number) => Math.fround(number + plus));
      return [known.replace('.N.', `.${layer}.`), digest(encode('F32', shifted))];
    }),
  );

const written = async (directory: string): Promise<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(await readTensors(directory)).map(([name, { data }]) => [name, digest(data)]),
  );

const place = (name = 'model.gguf') => join(temporaryDirectory(), name);

describe('a GGUF file', () => {
  it.each(['llama', 'qwen2', 'qwen3', 'gemma', 'gemma2', 'gemma3'])(
    'of %s has the names, rows and values that transformers has',
    async (architecture) => {
      const fixture = ggufModel({ architecture });
      const model = writeGguf(place(), fixture);
      const { out } = await relayout({ model, dtype: 'float32' }, { out: place('out') });
      expect(await written(out)).toEqual(expected(fixture, architecture));
    },
  );

  it.each(Object.keys(blockSizes))('in %s gives each value as float32', async (type) => {
    const fixture = ggufModel({ type });
    const model = writeGguf(place(), fixture);
    const { out } = await relayout({ model, dtype: 'float32' }, { out: place('out') });
    expect(await written(out)).toEqual(expected(fixture, 'llama'));
  });

  it('has biases of queries and keys in turns too, a row for each element', async () => {
    const fixture = ggufModel({ type: 'F16' });
    const bias = randomBlocks('F32', [256], 7);
    const tensors = { ...fixture.tensors, 'blk.0.attn_q.bias': bias };
    const model = writeGguf(place(), { ...fixture, tensors });
    const { out } = await relayout({ model, dtype: 'float32' }, { out: place('out') });
    const numbers = numbersOf('F32', bias.data);
    const turned = numbers.map((_, row) => itemAt(numbers, storedRow(row, 64)));
    expect((await written(out))['model.layers.0.self_attn.q_proj.bias']).toBe(digest(encode('F32', turned)));
  });

  it('is merged with a model of safetensors as if it had been written as one', async () => {
    const root = temporaryDirectory();
    const [a, b] = [1, 2].map((seed) =>
      writeGguf(join(root, `${seed}.gguf`), ggufModel({ seed, type: 'Q5_K' })),
    ) as [string, string];
    const plain = await relayout({ model: b, dtype: 'float32' }, { out: join(root, 'b') });
    const mixed = await soup({ models: [a, plain.out] }, { out: join(root, 'mixed') });
    const both = await soup({ models: [a, b] }, { out: join(root, 'both') });
    expect(hashOf(mixed.out)).toBe(hashOf(both.out));
    expect(Object.values(await readTensors(both.out)).map(({ dtype }) => dtype)).toContain('BF16');
    const swapped = await layerSwap(
      { task: a, language: b, bottom: 1, top: 0, bottomTransition: 0, topTransition: 0 },
      { out: join(root, 'swap'), dtype: 'float32' } as never,
    );
    expect(swapped.out).toBeDefined();
    const { equal } = await diff(b, plain.out);
    expect(equal).toBe(true);
  });

  it('carries a config.json, made of its metadata', async () => {
    const { config, sideFiles } = await openCheckpoint(writeGguf(place(), ggufModel()));
    expect(sideFiles).toEqual(['config.json']);
    expect(config).toEqual({
      architectures: ['LlamaForCausalLM'],
      model_type: 'llama',
      num_hidden_layers: 2,
      max_position_embeddings: 2048,
      hidden_size: 256,
      intermediate_size: 512,
      num_attention_heads: 4,
      rms_norm_eps: 1e-5,
      num_key_value_heads: 2,
      head_dim: 64,
      rope_theta: 500_000,
      vocab_size: 8,
      tie_word_embeddings: true,
      hidden_act: 'silu',
      attention_bias: false,
      eos_token_id: 2,
      torch_dtype: 'bfloat16',
    });
  });

  it('gives way to a config.json beside it, and makes none of metadata that do not say all', async () => {
    const root = temporaryDirectory();
    writeGguf(join(root, 'any-name.gguf'), ggufModel());
    writeGguf(join(root, 'mmproj-model.gguf'), ggufModel());
    writeFileSync(join(root, 'config.json'), '{"model_type": "mistral"}');
    expect((await openCheckpoint(root)).config).toEqual({ model_type: 'mistral' });
    const plain = ggufModel();
    const factors = randomBlocks('F32', [32], 1);
    const scaled = { ...plain, tensors: { ...plain.tensors, 'rope_freqs.weight': factors } };
    for (const fixture of [scaled, ggufModel({ architecture: 'gemma2' })]) {
      const { config, tensors } = await openCheckpoint(writeGguf(place(), fixture));
      expect([config, [...tensors.keys()].filter((name) => name.includes('rope'))]).toEqual([undefined, []]);
    }
  });

  it('is one of several only where it is named', async () => {
    const root = temporaryDirectory();
    for (const name of ['a.gguf', 'b.gguf']) writeGguf(join(root, name), ggufModel());
    await expect(openCheckpoint(root)).rejects.toMatchObject({
      code: 'NOT_A_CHECKPOINT',
      message: expect.stringContaining('it has 2 files of weights; give one of them, such as '),
    });
    expect((await openCheckpoint(join(root, 'a.gguf'))).tensors.size).toBe(20);
    const beside = writeCheckpoint(join(root, 'both'), {
      tensors: { 'model.norm.weight': { dtype: 'F32', shape: [1], data: Buffer.alloc(4) } },
    });
    writeGguf(join(beside, 'c.gguf'), ggufModel());
    expect((await openCheckpoint(beside)).tensors.size).toBe(1);
  });

  it('of version 2, and with another alignment, is read as well', async () => {
    const fixture = ggufModel();
    const metadata = { ...fixture.metadata, 'general.alignment': value.u32(64) };
    const model = writeGguf(place(), { ...fixture, metadata, version: 2, alignment: 64 });
    const { out } = await relayout({ model, dtype: 'float32' }, { out: place('out') });
    expect(await written(out)).toEqual(expected(fixture, 'llama'));
  });
});
