import { isDeepStrictEqual } from 'node:util';
import { saysTied } from '../../models/architecture/ties.js';
import { ropeDifferences } from '../../models/checkpoint/config/rope.js';
import { isObject } from '../../models/checkpoint/files/json.js';
import { readSmallFile } from '../../models/checkpoint/files/small-file.js';
import type { OpenedCheckpoint } from '../../plan/compile/inputs/models.js';
import type { MergePlan } from '../../plan/plan.js';
import { jsonOrNone } from '../../texts/json.js';
import type { Fault } from './proof.js';

type Config = Readonly<Record<string, unknown>>;

type Difference = readonly [key: string, found: unknown, expected: unknown];

const ofTheWriter =
  /^(_name_or_path|architectures|torch_dtype|dtype|transformers_version|use_cache|_commit_hash|unsloth_\w+|name_or_path|pad_token_id)$/;

/** Keys that change what is computed from the same tensors. */
const computing = new RegExp(
  `^(${[
    'model_type|auto_map|num_(hidden_)?layers|n_layers?|layer_types|layers_block_type',
    'num_(attention|key_value)_heads|num_heads|n_heads?|head_dim|\\w+_head_dim|multi_query|new_decoder_architecture',
    '\\w*norm\\w*_eps(ilon)?|hidden_act(ivation)?|activation_function|mlp_hidden_act',
    'partial_rotary_factor|rotary_(pct|dim|emb_base)|alibi|position_embedding_type|no_rope_\\w+',
    '(use_)?sliding_window(_\\w+)?|max_window_layers|attention_chunk_size',
    '\\w+_multiplier|\\w+_softcapping|query_pre_attn_scalar|logit_scale|scale_\\w+|routed_scaling_factor',
    'use_parallel_residual|parallel_attn|attention_bias|mlp_bias|qkv_bias|clip_qkv|\\w*qk_(layer)?norm',
    'num_experts(_per_tok)?|num_local_experts|n_(routed|shared)_experts|norm_topk_prob|topk_\\w+|n_group',
    'scoring_func|first_k_dense_replace|mlp_only_layers|decoder_sparse_step',
  ].join('|')})$`,
);

/** Maximum length of a setting's key; a longer key would make the regular expression slow. */
const longestKey = 64;

const isComputing = (key: string): boolean => key.length <= longestKey && computing.test(key);

/** Keys that may change results if only one side has them, because their defaults are unknown. */
const decisive = /^(sliding_window|quantization_config|auto_map|\w+_multiplier|\w+_softcapping)$/;

const byMeaning = /^(rope_\w+|tie_word_embeddings)$/;

/** Compares an output's `config.json` with the planned one, and its tying with the inputs'. */
export const configDifferences = async (
  { files }: Pick<MergePlan, 'files'>,
  inputs: readonly OpenedCheckpoint[],
  { checkpoint }: OpenedCheckpoint,
): Promise<{ readonly faults: readonly Fault[]; readonly warnings: readonly string[] }> => {
  const planned = files.find(({ name }) => name === 'config.json');
  if (planned === undefined) return { faults: [], warnings: [] };
  if (checkpoint.config === undefined)
    return {
      faults: [],
      warnings: ['the output has no config.json: what loaders compute with its tensors is not known'],
    };
  const text = 'text' in planned ? Buffer.from(planned.text) : await readSmallFile(planned.copyOf);
  const expected = jsonOrNone(text, { python: true });
  if (!isObject(expected)) return { faults: [], warnings: [] };
  const { computed, others } = compare(checkpoint.config, expected);
  // If a model is tied, loaders may ignore its stored head.
  if (isTiedInWords(checkpoint) && !inputs.some((input) => isTiedInWords(input.checkpoint)))
    computed.push([tie, true, expected[tie] ?? false]);
  const sentences = computed.map(sentenceOf);
  const fault = {
    kind: 'config_differs',
    tensors: [],
    figures: { keys: computed.map(([key]) => key).join(', ') },
    sentence: `loaders compute otherwise with the same tensors: ${sentences.join('; ')}`,
  };
  return { faults: computed.length === 0 ? [] : [fault], warnings: others.map(sentenceOf) };
};

const sentenceOf = ([key, found, expected]: Difference): string =>
  `config.json has ${shortened(key)} ${shortened(JSON.stringify(found))}, and the expected merge ${shortened(JSON.stringify(expected))}`;

const mostShown = 200;

const shortened = (text = 'none'): string =>
  text.length > mostShown ? `${text.slice(0, mostShown)}…` : text;

/** Keys for which null means a value derived from other settings. Loaders may write that value. */
const derived = /^(num_key_value_heads|head_dim|hidden_activation)$/;

/** Keys without effect if `use_sliding_window` is false; loaders may then save other values. */
const ofWindow = /^(sliding_window|max_window_layers)$/;

/** Removes settings without effect. Gemma's loaders read `gelu` as its tanh approximation. */
const withEffect = (config: Config): Config => {
  const isGemma = /^gemma/.test(String(config['model_type'])) && config['hidden_act'] === 'gelu';
  const all = isGemma ? { ...config, hidden_act: 'gelu_pytorch_tanh' } : config;
  const stated = Object.entries(all).filter(
    ([key, value]) =>
      !(value === null && derived.test(key)) &&
      !(config['use_sliding_window'] === false && ofWindow.test(key)),
  );
  return Object.fromEntries(stated);
};

const compare = (
  foundAsWritten: Config,
  expectedAsWritten: Config,
): { readonly computed: Difference[]; readonly others: readonly Difference[] } => {
  const [found, expected] = [withEffect(foundAsWritten), withEffect(expectedAsWritten)];
  const computed = ropeIn(found, expected);
  const others: Difference[] = [];
  for (const key of new Set([...Object.keys(expected), ...Object.keys(found)])) {
    const [own, wanted] = [found[key], expected[key]];
    if (ofTheWriter.test(key) || byMeaning.test(key) || isSame(own, wanted)) continue;
    if (key.endsWith('_config') && key !== 'quantization_config' && isObject(own) && isObject(wanted)) {
      const nested = compare(own, wanted);
      const prefixed = ([inner, ...values]: Difference): Difference => [`${key}.${inner}`, ...values];
      computed.push(...nested.computed.map(prefixed));
      others.push(...nested.others.map(prefixed));
    } else if (own !== undefined && wanted !== undefined)
      (isComputing(key) ? computed : others).push([key, own, wanted]);
    // `auto_map` makes loaders run the repository's code instead of transformers'.
    else if (key === 'auto_map' && isStated(own)) computed.push([key, own, wanted]);
    else if (decisive.test(key) && isStated(own) !== isStated(wanted)) others.push([key, own, wanted]);
  }
  return { computed, others };
};

const isStated = (value: unknown): boolean => value !== undefined && value !== null && value !== false;

/**
 * True for equal values. Numbers may have been rounded to float32; code may be preceded by its repository.
 */
const isSame = (a: unknown, b: unknown): boolean =>
  typeof a === 'number' && typeof b === 'number'
    ? a === b || Math.fround(a) === Math.fround(b)
    : isDeepStrictEqual(withoutRepository(a), withoutRepository(b));

const withoutRepository = (value: unknown): unknown =>
  isObject(value) && Object.values(value).every((one) => typeof one === 'string')
    ? Object.fromEntries(Object.entries(value).map(([key, one]) => [key, String(one).replace(/^.*--/, '')]))
    : value;

const tie = 'tie_word_embeddings';

/** True if the configuration ties the head to the embeddings, even if the tensors contradict it. */
const isTiedInWords = ({ config, configEdits }: OpenedCheckpoint['checkpoint']): boolean =>
  configEdits?.[tie] === false || saysTied(config) === true;

/**
 * Returns differences of RoPE's parameters, whichever generation of transformers wrote them. A scaling on
 * only one side is a difference too.
 */
const ropeIn = (found: Config, expected: Config): Difference[] => {
  const differences = ropeDifferences(found, expected);
  const [own, wanted] = [found, expected].map(scalingOf);
  return differences.length > 0 ||
    isDeepStrictEqual(own, wanted) ||
    (own !== undefined && wanted !== undefined)
    ? differences
    : [['rope_scaling', own, wanted]];
};

/** Returns a RoPE scaling, unless it is the default. */
const scalingOf = ({ rope_scaling: scaling, rope_parameters: parameters }: Config): unknown => {
  const stated = isObject(scaling) ? scaling : isObject(parameters) ? parameters : {};
  const type = stated['rope_type'] ?? stated['type'] ?? 'default';
  return type === 'default' ? undefined : stated;
};
