import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openCheckpoint } from '../../src/index.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { ggufModel, randomBlocks, writeGguf } from '../fixtures/gguf-files.js';

// transformers drops biases that `config.json` does not turn on.

const on = (key: string) => ({ [key]: true });

it.each<[string, string, number, object | undefined]>([
  ['llama', 'ffn_up', 512, { attention_bias: false, ...on('mlp_bias') }],
  ['llama', 'attn_v', 128, on('attention_bias')],
  ['llama', 'attn_output', 256, on('attention_bias')],
  ['llama', 'attn_norm', 256, undefined],
  ['qwen2', 'ffn_up', 512, undefined],
  ['qwen2', 'attn_output', 256, undefined],
  ['qwen3', 'attn_k', 128, on('attention_bias')],
  ['qwen3', 'ffn_down', 256, undefined],
])(
  'a GGUF file of %s with biases of %s has a config.json for them, or none',
  async (architecture, module, rows, wanted) => {
    const { metadata, tensors } = ggufModel({ architecture });
    const bias = { [`blk.1.${module}.bias`]: randomBlocks('F32', [rows], 5) };
    const path = writeGguf(join(temporaryDirectory(), 'm.gguf'), {
      metadata,
      tensors: { ...tensors, ...bias },
    });
    const { config } = await openCheckpoint(path);
    if (wanted === undefined) expect(config).toBeUndefined();
    else expect(config).toMatchObject(wanted);
  },
);
