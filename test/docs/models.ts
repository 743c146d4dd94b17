import { closeSync, ftruncateSync, mkdirSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { lora, writeAdapter } from '../fixtures/adapters.js';
import { assemble, fill, type Tensors, writeCheckpoint } from '../fixtures/checkpoints.js';
import { rowsOver, writeDistributed } from '../fixtures/distributed-files.js';
import { familyFixture } from '../fixtures/families.js';
import { fineTune } from '../fixtures/family.js';
import { ggufModel, writeGguf } from '../fixtures/gguf-files.js';
import { gramsOf, writeGrams } from '../fixtures/grams.js';
import { importancesOf, writeImportances } from '../fixtures/importances.js';
import { fusedMixture, mixtureConfig, separateMixture } from '../fixtures/mixtures.js';
import { writeTorchCheckpoint } from '../fixtures/torch-files.js';

const base = 'llama-3.1-8b';
const experts = ['math', 'swh', 'jpn'].flatMap((stem) => [1, 2, 3].map((index) => `${stem}-${index}`));

const adapters = ['math-lora', 'swh-lora', 'math-lora-2', 'swh-lora-2'];
const targets = [
  ['q_proj', 'v_proj', 'gate_proj', 'up_proj', 'down_proj'],
  ['q_proj', 'k_proj', 'v_proj', 'o_proj'],
];

const sizes = {
  full: { hidden: 4096, inner: 14336, kv: 1024, vocabulary: 128256, heads: 32 },
  small: { hidden: 16, inner: 40, kv: 8, vocabulary: 24, heads: 4 },
};
const layers = 32;

const shapesOf = ({ hidden, inner, kv, vocabulary }: typeof sizes.full): Record<string, number[]> => {
  const shapes: Record<string, number[]> = { 'model.embed_tokens.weight': [vocabulary, hidden] };
  for (let layer = 0; layer < layers; layer += 1)
    for (const [name, shape] of Object.entries({
      input_layernorm: [hidden],
      'self_attn.q_proj': [hidden, hidden],
      'self_attn.k_proj': [kv, hidden],
      'self_attn.v_proj': [kv, hidden],
      'self_attn.o_proj': [hidden, hidden],
      post_attention_layernorm: [hidden],
      'mlp.gate_proj': [inner, hidden],
      'mlp.up_proj': [inner, hidden],
      'mlp.down_proj': [hidden, inner],
    }))
      shapes[`model.layers.${layer}.${name}.weight`] = shape;
  return { ...shapes, 'model.norm.weight': [hidden], 'lm_head.weight': [vocabulary, hidden] };
};

const configOf = ({ hidden, inner, kv, vocabulary, heads }: typeof sizes.full) => ({
  architectures: ['LlamaForCausalLM'],
  model_type: 'llama',
  hidden_size: hidden,
  intermediate_size: inner,
  num_hidden_layers: layers,
  num_attention_heads: heads,
  num_key_value_heads: (heads * kv) / hidden,
  vocab_size: vocabulary,
  tie_word_embeddings: false,
  torch_dtype: 'bfloat16',
});

const begin = '<|begin_of_text|>';

const tokenizer = JSON.stringify({
  version: '1.0',
  added_tokens: [{ id: 0, content: begin, special: true }],
  model: {
    type: 'BPE',
    vocab: Object.fromEntries(
      Array.from({ length: sizes.small.vocabulary }, (_, id) => [id === 0 ? begin : `t${id}`, id]),
    ),
    merges: [],
  },
});

const sideFiles = {
  'tokenizer.json': tokenizer,
  'tokenizer_config.json': JSON.stringify({ bos_token: begin }),
  'generation_config.json': JSON.stringify({ do_sample: true }),
};

/** Two models of each other family: `NAME-1` and `NAME-2`. */
const others = { nllb: 'm2m-100', t5: 't5', bert: 'bert-embedding', mamba: 'mamba' };

export const writeSmallModels = (directory: string): void => {
  const shapes = shapesOf(sizes.small);
  const names = Object.keys(shapes);
  const half = names.indexOf(`model.layers.${layers / 2}.input_layernorm.weight`);
  const write = (name: string, tensors: Tensors) =>
    writeCheckpoint(join(directory, name), {
      tensors,
      shards: [names.slice(0, half), names.slice(half)],
      config: configOf(sizes.small),
      files: sideFiles,
    });
  const tensors = fill(shapes, 'BF16', 1);
  write(base, tensors);
  for (const [index, name] of experts.entries()) write(name, fineTune(tensors, index + 2));
  for (const [index, name] of ['math-1', 'swh-1'].entries()) {
    writeImportances(directory, name, importancesOf(tensors, index));
    writeGrams(directory, name, gramsOf(tensors, index));
  }
  let trained = tensors;
  for (const step of [100, 200, 300, 400, 500, 600]) {
    trained = fineTune(trained, step);
    write(join('run', `checkpoint-${step}`), trained);
  }
  writeTorchCheckpoint(join(directory, 'math-1-bin'), {
    tensors: fineTune(tensors, 2),
    config: configOf(sizes.small),
    files: sideFiles,
  });
  writeDistributed(join(directory, 'math-1-fsdp'), {
    tensors: fineTune(tensors, 2),
    config: configOf(sizes.small),
    cut: rowsOver(['__0_0.distcp', '__1_0.distcp']),
  });
  for (const [index, name] of ['math-q4', 'swh-q4'].entries())
    writeGguf(join(directory, `${name}.gguf`), ggufModel({ seed: index + 1 }));
  const mixture = separateMixture({ dtype: 'BF16' });
  const mixtures = {
    moe: mixture,
    'moe-1': fineTune(mixture, 2),
    'moe-2': fusedMixture({ of: fineTune(mixture, 3) }),
  };
  for (const [name, of] of Object.entries(mixtures))
    writeCheckpoint(join(directory, name), { tensors: of, config: mixtureConfig() });
  for (const [name, family] of Object.entries(others)) {
    const { shapes: ofFamily, config } = familyFixture(family);
    const first = fill(ofFamily, 'F32', 4);
    for (const expert of [1, 2])
      writeCheckpoint(join(directory, `${name}-${expert}`), {
        tensors: fineTune(first, expert),
        config: { ...config },
      });
  }
  for (const [index, name] of adapters.entries())
    writeAdapter(
      join(directory, name),
      lora({
        shapes,
        rank: 4 * (index + 1),
        alpha: 8,
        targets: targets[index % 2] ?? [],
        seed: index + 20,
        dtype: 'BF16',
      }),
    );
};

/** Writes models with the shapes of Llama 3.1 8B as sparse files: they can be planned but not merged. */
export const writeFullSizeModels = (directory: string): void => {
  const shapes = shapesOf(sizes.full);
  const names = Object.keys(shapes);
  const quarter = Math.ceil(names.length / 4);
  for (const name of [base, ...experts]) {
    const at = join(directory, name);
    mkdirSync(at, { recursive: true });
    writeFileSync(join(at, 'config.json'), JSON.stringify(configOf(sizes.full)));
    const weightMap: Record<string, string> = {};
    for (let part = 0; part < 4; part += 1) {
      const file = `model-0000${part + 1}-of-00004.safetensors`;
      // The name in the header makes the files of models differ, as their bytes would.
      const header: Record<string, unknown> = { __metadata__: { format: 'pt', name } };
      let end = 0;
      for (const tensor of names.slice(part * quarter, (part + 1) * quarter)) {
        const shape = shapes[tensor] as number[];
        const begin = end;
        end += 2 * shape.reduce((product, extent) => product * extent, 1);
        header[tensor] = { dtype: 'BF16', shape, data_offsets: [begin, end] };
        weightMap[tensor] = file;
      }
      const bytes = assemble(JSON.stringify(header));
      const descriptor = openSync(join(at, file), 'w');
      writeSync(descriptor, bytes);
      ftruncateSync(descriptor, bytes.length + end);
      closeSync(descriptor);
    }
    writeFileSync(
      join(at, 'model.safetensors.index.json'),
      JSON.stringify({ metadata: {}, weight_map: weightMap }),
    );
  }
};
