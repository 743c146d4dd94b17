import { isGiven } from '../../checkpoint/files/json.js';
import { firstOfEach, from, lastOfEach, oneOfEach, range, rule } from './traits/numbers.js';
import { byNumber, cycle, indices, letters, list, listOrOne, repeats, type Saying } from './traits/saying.js';
import type { Trait } from './traits/trait.js';
import {
  all,
  byItsNumber,
  byTheirNumber,
  deepstack,
  dense,
  denseThenEach,
  every,
  firstDense,
  firstDiffers,
  firstDiffersIf,
  full,
  hasRope,
  indexed,
  indexers,
  keySources,
  kimiLists,
  lastDiffers,
  lastIsFull,
  linear,
  mlps,
  noRope,
  onlyFirstDense,
  perLayerInputs,
  scaledByNumber,
  sharedKeys,
  sliding,
  sparse,
  steps,
  stepwise,
  switched,
  types,
  typesWith,
  window,
  windowsFrom,
} from './traits/traits.js';

/** How a family configures its layers in `config.json`, as transformers 5.24 reads it. */
export interface LayerSettings {
  readonly types: readonly string[];
  readonly traits?: readonly Trait[];
  /** Unusual keys that give the number of layers, each with its factor. */
  readonly counts?: Readonly<Record<string, number>>;
  /** True if no key gives the number of layers, only the length of a per-layer list. */
  readonly countsByList?: boolean;
  /** A key and the reason why no stack can be described. */
  readonly refused?: readonly [key: string, reason: string];
}

const sharesWeights = 'lets layers share weights, which are stored with the first of them only';
const outside = 'stands for weights outside the layers that belong to some of them';
const otherwise = 'stands for code that treats groups of layers, which another order would not have';
const one = (says: Saying): Trait => ({ says: [says] });
const perLayer = (key: string): Trait => ({ says: [listOrOne(key)], optional: true });

/** Per-layer settings in any transformers configuration: lists of checked length, and overrides. */
export const common: readonly Trait[] = [
  { says: [list('layer_types')], optional: true },
  { says: [list('mlp_layer_types')], optional: true },
  { says: [byNumber('per_layer_config')], optional: true },
];

const family = (names: string, ...traits: readonly Trait[]): LayerSettings => ({
  types: names.split(' '),
  traits,
});

/** Families whose layers differ, by configuration or code. */
export const layerSettings: readonly LayerSettings[] = [
  family(
    'afmoe',
    types(lastOfEach('global_attn_every_n_layers', 4, [sliding, full])),
    one(firstDense(1, 'num_dense_layers')),
  ),
  family('axk1', mlps(denseThenEach)),
  family('axk2', indexed, mlps(denseThenEach)),
  family('bailing_hybrid', types(lastOfEach('layer_group_size', 6, [linear, full])), mlps(firstDense(2))),
  family('bamba', { says: [indices('attn_layer_indices', [linear, full]), all(linear)] }),
  family('beam', types(), mlps(), byItsNumber('model_type')),
  family('big_bird bigbird_pegasus', {
    ...byItsNumber('attention_type', ({ section }) => section['attention_type'] !== 'original_full'),
    of: 'encoder',
  }),
  { types: ['blt', 'idefics', 'evolla'], refused: ['model_type', outside] },
  family('cohere2', window(4)),
  family(
    'cohere2_moe',
    types(
      rule(
        (layer, _layers, { section }) => {
          const first = Number(section['first_k_dense_replace'] ?? 0);
          const [period, number] =
            layer < first
              ? [section['prefix_dense_sliding_window_pattern'] ?? 1, layer]
              : [section['sliding_window_pattern'] ?? 4, layer - first];
          return (number + 1) % Number(period) === 0 ? full : sliding;
        },
        ['sliding_window_pattern'],
      ),
    ),
    mlps(firstDense(0)),
  ),
  family('cohere_compass_text', types(all(full)), deepstack),
  family('cwm', types(rule((layer) => (layer % 4 === 0 ? full : sliding)))),
  family('deepseek_v2 mistral4', one(firstDense(0))),
  family('deepseek_v3', one(firstDense(3))),
  family('deepseek_v32', mlps(firstDense(3)), indexed),
  family(
    'deepseek_v4',
    {
      says: [
        list('layer_types', {}, 'drafts'),
        list(
          'compress_ratios',
          { 0: sliding, 4: 'compressed_sparse_attention', 128: 'heavily_compressed_attention' },
          'drafts',
        ),
        rule((layer) =>
          layer >= 2 && layer % 2 === 1 ? 'compressed_sparse_attention' : 'heavily_compressed_attention',
        ),
      ],
    },
    { says: [list('mlp_layer_types', {}, 'drafts'), from('num_hash_layers', 3, ['hash_moe', 'moe'])] },
  ),
  family('diffllama', byItsNumber('model_type')),
  { types: ['dory', 'hrm_text', 'inkling2_loop_text'], refused: ['model_type', otherwise] },
  family(
    'dots1',
    one(firstDense(0)),
    types(
      rule((layer, _layers, { section }) =>
        section['sliding_window'] !== null && layer >= Number(section['max_window_layers'] ?? 62)
          ? sliding
          : full,
      ),
    ),
  ),
  family('dots3_note_text unlimited_ocr_text', types(), mlps()),
  family(
    'ernie4_5_moe',
    one(
      range(
        { first: 'moe_layer_start_index', last: 'moe_layer_end_index', period: 'moe_layer_interval' },
        [1, -1, 1],
        [dense, sparse],
      ),
    ),
  ),
  family('ernie4_5_vl_moe_text glm4_moe_lite hy_v3', mlps(onlyFirstDense)),
  family('exaone4', window(4)),
  family('exaone_moe', window(4), mlps(firstDense(1))),
  family(
    'flint',
    types(rule((layer, layers) => (layer < 2 || layer % 4 === 1 || layer === layers - 1 ? full : sliding))),
    stepwise,
  ),
  family('gemma2 vaultgemma t5_gemma_module gpt_oss', types(every(2, sliding, full))),
  family(
    'gemma3 gemma3_text t5gemma2_text t5gemma2_decoder',
    types(
      lastOfEach('sliding_window_pattern', 6, [sliding, full]),
      // transformers 5 writes this key but does not read it.
      lastOfEach('_sliding_window_pattern', undefined, [sliding, full]),
    ),
  ),
  family(
    'gemma3n gemma3n_text',
    types(every(5, sliding, full)),
    one(listOrOne('intermediate_size')),
    {
      says: [
        listOrOne('activation_sparsity_pattern'),
        rule((layer, layers) => (layers > 10 && layer < 10 ? 0.95 : 0)),
      ],
    },
    sharedKeys(15),
    perLayerInputs(256),
  ),
  family('gemma4 gemma4_text', lastIsFull, sharedKeys(0), perLayerInputs(256)),
  family('gemma4_unified gemma4_unified_text', lastIsFull, sharedKeys(0)),
  family('embedding_gemma2_text', lastIsFull, perLayerInputs(512)),
  family('glm4_moe glm4v_moe_text sarvam_mla sarvam_moe', one(firstDense(1))),
  family('glm_moe_dsa', mlps(firstDense(3)), indexed, indexers),
  family('glm5_next_text', types(), mlps(), indexers),
  family('hy_v4 hy_v4_vl_text', mlps(onlyFirstDense), indexed, one(list('indexer_types'))),
  {
    types: ['granite4_vision'],
    refused: ['spatial_target_layers', 'names layers of the language model that get features of pictures'],
  },
  family('gpt2 gpt-sw3 imagegpt decision_transformer', scaledByNumber),
  family('gpt_neo', { says: [repeats('attention_types'), list('attention_layers')] }),
  family('granite_swa granitemoe_swa', types(rule((layer) => (layer % 4 === 0 ? full : sliding))), {
    says: [list('layer_rope_theta')],
    optional: true,
  }),
  family('granitemoehybrid', types(list('layers_block_type'), all(linear))),
  family(
    'hunyuan_v1_moe',
    ...['num_experts', 'moe_topk', 'num_shared_expert', 'moe_intermediate_size'].map(perLayer),
  ),
  family(
    'inkling_text',
    types(indices('local_layer_ids', ['hybrid', 'hybrid_sliding']), every(6, 'hybrid_sliding', 'hybrid')),
    mlps(firstDense(0, 'dense_mlp_idx')),
  ),
  { types: ['inkling2_text', 'inkling2'], refused: ['n_layers_per_attn_res_block', otherwise] },
  family(
    'jamba',
    one(oneOfEach({ period: ['attn_layer_period', 8], offset: ['attn_layer_offset', 4] }, [linear, full])),
    one(
      oneOfEach({ period: ['expert_layer_period', 2], offset: ['expert_layer_offset', 1] }, [dense, sparse]),
    ),
  ),
  family(
    'kimi_linear',
    types(
      kimiLists,
      rule((layer) => (layer > 0 && layer % 4 === 0 ? full : linear)),
    ),
    mlps(firstDense(1)),
  ),
  family('kolibri1', types(every(5, sliding, full))),
  family('laguna', types(all(full)), mlps(onlyFirstDense), perLayer('num_attention_heads_per_layer')),
  family('lara_mini', types(rule((layer) => [linear, sliding, linear, full, sliding][layer % 5]))),
  family('led longformer', { ...perLayer('attention_window'), of: 'encoder' }),
  family('lfm2', types(indices('full_attn_idxs', ['conv', full]), all(full))),
  family('lfm2_moe', types(), one(from('num_dense_layers', 2, [dense, sparse]))),
  family(
    'lfm3',
    types(rule((layer) => (layer % 4 === 2 ? full : layer % 4 === 0 && layer > 0 ? sliding : 'conv'))),
  ),
  family(
    'llama4 llama4_text',
    noRope,
    {
      says: [
        indices('moe_layers', [dense, sparse]),
        lastOfEach('interleave_moe_layer_step', 1, [dense, sparse]),
      ],
    },
    types(
      rule((layer, layers, given) =>
        hasRope({ ...given, layers })[layer] && given.section['attention_chunk_size'] !== null
          ? 'chunked_attention'
          : full,
      ),
    ),
  ),
  { types: ['longcat_flash'], counts: { num_layers: 1, num_hidden_layers: 2 } },
  family('longt5 pop2piano udop pix2struct_text_model rwkv', firstDiffers),
  family('mellum', types(all(full)), mlps(all(sparse))),
  family(
    'mimo_v2_flash',
    types(rule((layer) => (layer === 0 || (layer + 1) % 6 === 0 ? full : sliding))),
    mlps(onlyFirstDense),
  ),
  family(
    'minicpm3',
    byTheirNumber('scale_depth', ({ section }) => isGiven(section['scale_depth'])),
  ),
  family('minimax', types(every(2, linear, full)), byItsNumber('model_type')),
  family(
    'minimax_m3_vl_text step3p5',
    { says: [list('layer_types', {}, 'drafts')] },
    { says: [list('mlp_layer_types', {}, 'drafts'), list('moe_layer_freq', { 0: dense, 1: sparse })] },
    { says: [list('swiglu_limits', {}, 'drafts')], optional: true },
    { says: [list('swiglu_limits_shared', {}, 'drafts')], optional: true },
  ),
  family(
    'ministral',
    types(rule((_layer, _layers, { section }) => (section['sliding_window'] === null ? full : sliding))),
  ),
  family('mistral_large4_text', mlps(firstDense(1)), indexed, indexers, noRope, keySources),
  family('mllama mllama_text_model', {
    says: [
      indices('cross_attention_layers', [full, 'cross_attention']),
      rule((layer) => (layer % 5 === 3 && layer < 40 ? 'cross_attention' : full)),
    ],
  }),
  family(
    'modernbert modernbert-decoder',
    types(firstOfEach('global_attn_every_n_layers', 3, [sliding, full])),
    firstDiffers,
  ),
  family(
    'muse_glimmer_text',
    types(rule((layer, layers) => ((layers - 1 - layer) % 4 === 0 ? full : sliding))),
    one(list('layer_rope_theta')),
  ),
  family(
    'muse_spark_text',
    types(rule((layer, layers) => ((layers - 1 - layer) % 4 === 0 ? full : sliding))),
    one(list('layer_rope_theta')),
    mlps(all(sparse)),
  ),
  {
    types: ['nemotron_h'],
    countsByList: true,
    traits: [
      {
        says: [
          list('layers_block_type'),
          list('layer_types'),
          letters('hybrid_override_pattern', { M: linear, E: 'moe', '*': full, '-': 'mlp' }),
        ],
      },
    ],
  },
  { types: ['neomme', 'zamba', 'zamba2'], refused: ['layers_block_type', sharesWeights] },
  family('nllb-moe', steps('encoder'), steps('decoder')),
  family('molmo2_text', { says: [indices('rope_scaling_layers', ['plain', 'scaled']), all('scaled')] }),
  family(
    'mvp',
    byItsNumber('use_prompt', ({ section }) => section['use_prompt'] === true),
  ),
  family('gpt_neox_japanese', lastDiffers('model_type')),
  family(
    'deberta-v2',
    firstDiffersIf('conv_kernel_size', ({ section }) => Number(section['conv_kernel_size'] ?? 0) > 0),
  ),
  family('pegasus_x', {
    of: 'encoder',
    says: [
      rule(
        (layer, _layers, { section }) => section['stagger_local_blocks'] !== false && layer % 2 === 1,
        ['stagger_local_blocks'],
      ),
    ],
    because: 'shifts the blocks of every second layer',
  }),
  family('olmo3', types(every(4, sliding, full))),
  family('olmo_hybrid', typesWith(linear, full)),
  family('ultrabert', types()),
  family('qwen2 qwen3 qwen2_5_omni_text', types(windowsFrom(28))),
  family('qwen2_vl qwen2_vl_text qwen2_5_vl qwen2_5_vl_text', types(windowsFrom(80))),
  family(
    'qwen2_moe',
    types(
      rule((layer, _layers, { section }) =>
        section['use_sliding_window'] === true &&
        (layer + 1) % 2 === 1 &&
        layer < Number(section['max_window_layers'] ?? 28)
          ? sliding
          : full,
      ),
    ),
    stepwise,
  ),
  family('qwen3_moe', stepwise),
  family('qwen3_vl_text granite_docling_text', deepstack),
  family('qwen3_vl_moe_text qwen3_omni_moe_text', stepwise, deepstack),
  family('qwen3_next', types(lastOfEach('full_attention_interval', 4, [linear, full])), stepwise),
  family(
    'qwen3_5 qwen3_5_text qwen3_5_moe qwen3_5_moe_text',
    types(lastOfEach('full_attention_interval', 4, [linear, full])),
  ),
  { types: ['qwen4_exp_text'], refused: ['ple_layer_ids', otherwise] },
  family('recurrent_gemma', one(cycle('block_types', ['recurrent', 'recurrent', 'attention']))),
  { types: ['reformer'], countsByList: true, traits: [one(list('attn_layers'))] },
  family(
    'SD3Transformer2DModel',
    { says: [indices('dual_attention_layers', ['one attention', 'two']), all('one attention')] },
    lastDiffers('_class_name'),
  ),
  family(
    'smollm3',
    noRope,
    types(
      rule((layer, layers, given) =>
        !hasRope({ ...given, layers })[layer] &&
        given.section['use_sliding_window'] === true &&
        isGiven(given.section['sliding_window'])
          ? sliding
          : full,
      ),
    ),
  ),
  family('switch_transformers', firstDiffers, switched('encoder'), switched('decoder')),
  family('deepseek_ocr2_text', mlps()),
  { types: ['xlstm'], counts: { num_hidden_layers: 1, num_blocks: 1 } },
  family('zaya', types(all('hybrid')), firstDiffers),
  family('esmc', byTheirNumber('model_type')),
];
