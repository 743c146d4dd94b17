// @ts-check
// Checkpoints with the tensors of Llama 3.1 8B and next to no weights, for what grows with the number of tensors and merges.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { encodeHeader } from 'layerloom';

const [layers, hidden, inner, vocabulary] = [32, 8, 16, 16];

/** Names and shapes. @returns {[string, number[]][]} */
const tensors = () => [
  ['model.embed_tokens.weight', [vocabulary, hidden]],
  ...Array.from({ length: layers }, (_, layer) =>
    Object.entries({
      input_layernorm: [hidden],
      'mlp.down_proj': [hidden, inner],
      'mlp.gate_proj': [inner, hidden],
      'mlp.up_proj': [inner, hidden],
      post_attention_layernorm: [hidden],
      'self_attn.k_proj': [hidden, hidden],
      'self_attn.o_proj': [hidden, hidden],
      'self_attn.q_proj': [hidden, hidden],
      'self_attn.v_proj': [hidden, hidden],
    }).map(
      ([module, shape]) =>
        /** @type {[string, number[]]} */ ([`model.layers.${layer}.${module}.weight`, shape]),
    ),
  ).flat(),
  ['model.norm.weight', [hidden]],
  ['lm_head.weight', [vocabulary, hidden]],
];

const config = {
  architectures: ['LlamaForCausalLM'],
  model_type: 'llama',
  hidden_size: hidden,
  intermediate_size: inner,
  num_hidden_layers: layers,
  num_attention_heads: 1,
  num_key_value_heads: 1,
  vocab_size: vocabulary,
  tie_word_embeddings: false,
  torch_dtype: 'bfloat16',
};

/**
 * Makes a checkpoint of 291 tensors, 80 KB, in each of the directories.
 *
 * @param {string} directory @param {readonly string[]} names
 */
export const makeSmallCheckpoints = (directory, names) => {
  for (const [index, name] of names.entries()) {
    const path = join(directory, name);
    mkdirSync(path, { recursive: true });
    const listed = tensors().map(([tensor, shape]) => ({
      name: tensor,
      dtype: /** @type {const} */ ('BF16'),
      shape,
      bytes: 2 * shape.reduce((a, b) => a * b),
    }));
    const bytes = listed.reduce((total, tensor) => total + tensor.bytes, 0);
    const weights = Uint16Array.from({ length: bytes / 2 }, (_, at) => 0x3c00 + ((at * 7 + index * 13) % 64));
    writeFileSync(
      join(path, 'model.safetensors'),
      Buffer.concat([encodeHeader(listed), Buffer.from(weights.buffer)]),
    );
    writeFileSync(join(path, 'config.json'), `${JSON.stringify(config)}\n`);
  }
};
