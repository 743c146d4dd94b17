import { familyOfType } from '../../models/architecture/families.js';
import { roleOutside } from '../../models/architecture/roles.js';
import type { MergePlan } from '../plan.js';

type Json = Readonly<Record<string, unknown>>;

/** Methods that compute each element without other elements of its tensor. */
const byElement: ReadonlySet<string> = new Set([
  'linear',
  'passthrough',
  'task_arithmetic',
  'nearswap',
  'ram',
]);

/** Model types in the tables of mergekit 0.1.5; test/peers compares them. */
export const tabled: ReadonlySet<string> = new Set(
  [
    'afmoe apertus arcee baichuan bert chatglm cohere cohere2 distilbert exaone falcon gemma gemma2 gemma3 gemma3_text',
    'glm4 glm4_moe gpt2 gpt_bigcode gpt_neox granite granitemoehybrid internlm2 jais lfm2 llama llama4 mamba mistral',
    'mistral3 mixformer-sequential mixtral olmo2 phi phi-msft phi3 phi3small qwen qwen2 qwen2_5_vl qwen2_vl qwen3',
    'qwen3_moe qwen3_vl qwen3_vl_moe roberta solar stablelm stablelm_epoch starcoder2 t5 whisper',
  ].flatMap((line) => line.split(' ')),
);

/** Parts of names that mergekit's tables require, and models saved by transformers 5 may lack. */
export const required: ReadonlyMap<string, string> = new Map([
  ['bert', 'pooler.dense.weight'],
  ['falcon', 'lm_head.weight'],
  ['gemma3', 'vision_tower.vision_model.'],
  ['gpt_neox', 'attention.masked_bias'],
  ['t5', 'DenseReluDense.wi_0.weight'],
  ['whisper', 'decoderlayers.'],
]);

/** Warns that mergekit refuses the models, because they lack a tensor of its table. */
export const refusalOf = ({ shards, architecture: { family } }: MergePlan): string[] => {
  const name = required.get(family);
  if (
    name === undefined ||
    shards.some(({ tensors }) => tensors.some((tensor) => tensor.name.includes(name)))
  )
    return [];
  return [
    `mergekit's table of ${family} requires tensors ${name}, which these models lack: it refuses to merge them`,
  ];
};

/** Returns how mergekit's result differs because mergekit joins other tensors, or uses another slice. */
export const differencesOf = (
  { shards, architecture: { family } }: MergePlan,
  method: string,
  slices: readonly Json[] = [],
): string[] => {
  const tensors = shards.flatMap((shard) => shard.tensors);
  const hasExperts = tensors.some(({ name }) => /\.experts\.\d+\./.test(name));
  const isStack = withoutRanges(slices[0]) !== withoutRanges(slices.at(-1));
  const moved = tensors.find(
    ({ name, layer }) => layer === null && roleOutside(familyOfType(family), name) !== 'embedding',
  );
  return [
    ...(hasExperts && !byElement.has(method)
      ? [`mergekit merges all experts of a layer as one tensor, so that ${method} of these differs`]
      : []),
    ...(isStack && moved !== undefined && !tabled.has(family)
      ? [
          `mergekit has no table of ${family}, and takes tensors outside layers from the first slice, layerloom from the last: ${moved.name} differs`,
        ]
      : []),
  ];
};

const withoutRanges = (slice: Json | undefined): string =>
  JSON.stringify(slice, (key, value: unknown) => (key === 'layer_range' ? undefined : value));
