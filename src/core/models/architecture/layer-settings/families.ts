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
  /** `model_type`, or `_class_name` in diffusers. */
  readonly types: readonly string[];
  readonly traits?: readonly Trait[];
  /** Unusual keys that give the number of layers, each with its factor. */
  readonly counts?: Readonly<Record<string, number>>;
  /** The number of layers is the length of a list. */
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

/** Families whose layers differ, by configuration or code. */
export const layerSettings: readonly LayerSettings[] = [
  {
    types: ['afmoe'],
    traits: [
      types(lastOfEach('global_attn_every_n_layers', 4, [sliding, full])),
      one(firstDense(1, 'num_dense_layers')),
    ],
  },
  { types: ['axk1'], traits: [mlps(denseThenEach)] },
  {
    types: ['axk2'],
    traits: [indexed, mlps(denseThenEach)],
  },
  {
    types: ['bailing_hybrid'],
    traits: [types(lastOfEach('layer_group_size', 6, [linear, full])), mlps(firstDense(2))],
  },
  {
    types: ['bamba'],
    traits: [{ says: [indices('attn_layer_indices', [linear, full]), all(linear)] }],
  },
  { types: ['beam'], traits: [types(), mlps(), byItsNumber('model_type')] },
  {
    types: ['big_bird', 'bigbird_pegasus'],
    traits: [
      {
        ...byItsNumber('attention_type', ({ section }) => section['attention_type'] !== 'original_full'),
        of: 'encoder',
      },
    ],
  },
  { types: ['blt', 'idefics', 'evolla'], refused: ['model_type', outside] },
  { types: ['cohere2'], traits: [window(4)] },
  {
    types: ['cohere2_moe'],
    traits: [
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
    ],
  },
  { types: ['cohere_compass_text'], traits: [types(all(full)), deepstack] },
  { types: ['cwm'], traits: [types(rule((layer) => (layer % 4 === 0 ? full : sliding)))] },
  { types: ['deepseek_v2', 'mistral4'], traits: [one(firstDense(0))] },
  { types: ['deepseek_v3'], traits: [one(firstDense(3))] },
  { types: ['deepseek_v32'], traits: [mlps(firstDense(3)), indexed] },
  {
    types: ['deepseek_v4'],
    traits: [
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
    ],
  },
  { types: ['diffllama'], traits: [byItsNumber('model_type')] },
  { types: ['dory', 'hrm_text', 'inkling2_loop_text'], refused: ['model_type', otherwise] },
  {
    types: ['dots1'],
    traits: [
      one(firstDense(0)),
      types(
        rule((layer, _layers, { section }) =>
          section['sliding_window'] !== null && layer >= Number(section['max_window_layers'] ?? 62)
            ? sliding
            : full,
        ),
      ),
    ],
  },
  { types: ['dots3_note_text', 'unlimited_ocr_text'], traits: [types(), mlps()] },
  {
    types: ['ernie4_5_moe'],
    traits: [
      one(
        range(
          { first: 'moe_layer_start_index', last: 'moe_layer_end_index', period: 'moe_layer_interval' },
          [1, -1, 1],
          [dense, sparse],
        ),
      ),
    ],
  },
  { types: ['ernie4_5_vl_moe_text', 'glm4_moe_lite', 'hy_v3'], traits: [mlps(onlyFirstDense)] },
  { types: ['exaone4'], traits: [window(4)] },
  { types: ['exaone_moe'], traits: [window(4), mlps(firstDense(1))] },
  {
    types: ['flint'],
    traits: [
      types(rule((layer, layers) => (layer < 2 || layer % 4 === 1 || layer === layers - 1 ? full : sliding))),
      stepwise,
    ],
  },
  { types: ['gemma2', 'vaultgemma', 't5_gemma_module', 'gpt_oss'], traits: [types(every(2, sliding, full))] },
  {
    types: ['gemma3', 'gemma3_text', 't5gemma2_text', 't5gemma2_decoder'],
    traits: [
      types(
        lastOfEach('sliding_window_pattern', 6, [sliding, full]),
        // transformers 5 writes this key but does not read it.
        lastOfEach('_sliding_window_pattern', undefined, [sliding, full]),
      ),
    ],
  },
  {
    types: ['gemma3n', 'gemma3n_text'],
    traits: [
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
    ],
  },
  { types: ['gemma4', 'gemma4_text'], traits: [lastIsFull, sharedKeys(0), perLayerInputs(256)] },
  { types: ['gemma4_unified', 'gemma4_unified_text'], traits: [lastIsFull, sharedKeys(0)] },
  { types: ['embedding_gemma2_text'], traits: [lastIsFull, perLayerInputs(512)] },
  { types: ['glm4_moe', 'glm4v_moe_text', 'sarvam_mla', 'sarvam_moe'], traits: [one(firstDense(1))] },
  {
    types: ['glm_moe_dsa'],
    traits: [mlps(firstDense(3)), indexed, indexers],
  },
  { types: ['glm5_next_text'], traits: [types(), mlps(), indexers] },
  {
    types: ['hy_v4', 'hy_v4_vl_text'],
    traits: [mlps(onlyFirstDense), indexed, one(list('indexer_types'))],
  },
  {
    types: ['granite4_vision'],
    refused: ['spatial_target_layers', 'names layers of the language model that get features of pictures'],
  },
  { types: ['gpt2', 'gpt-sw3', 'imagegpt', 'decision_transformer'], traits: [scaledByNumber] },
  {
    types: ['gpt_neo'],
    traits: [{ says: [repeats('attention_types'), list('attention_layers')] }],
  },
  {
    types: ['granite_swa', 'granitemoe_swa'],
    traits: [
      types(rule((layer) => (layer % 4 === 0 ? full : sliding))),
      { says: [list('layer_rope_theta')], optional: true },
    ],
  },
  {
    types: ['granitemoehybrid'],
    traits: [types(list('layers_block_type'), all(linear))],
  },
  {
    types: ['hunyuan_v1_moe'],
    traits: ['num_experts', 'moe_topk', 'num_shared_expert', 'moe_intermediate_size'].map(perLayer),
  },
  {
    types: ['inkling_text'],
    traits: [
      types(indices('local_layer_ids', ['hybrid', 'hybrid_sliding']), every(6, 'hybrid_sliding', 'hybrid')),
      mlps(firstDense(0, 'dense_mlp_idx')),
    ],
  },
  { types: ['inkling2_text', 'inkling2'], refused: ['n_layers_per_attn_res_block', otherwise] },
  {
    types: ['jamba'],
    traits: [
      one(oneOfEach({ period: ['attn_layer_period', 8], offset: ['attn_layer_offset', 4] }, [linear, full])),
      one(
        oneOfEach({ period: ['expert_layer_period', 2], offset: ['expert_layer_offset', 1] }, [
          dense,
          sparse,
        ]),
      ),
    ],
  },
  {
    types: ['kimi_linear'],
    traits: [
      types(
        kimiLists,
        rule((layer) => (layer > 0 && layer % 4 === 0 ? full : linear)),
      ),
      mlps(firstDense(1)),
    ],
  },
  { types: ['kolibri1'], traits: [types(every(5, sliding, full))] },
  {
    types: ['laguna'],
    traits: [types(all(full)), mlps(onlyFirstDense), perLayer('num_attention_heads_per_layer')],
  },
  {
    types: ['lara_mini'],
    traits: [types(rule((layer) => [linear, sliding, linear, full, sliding][layer % 5]))],
  },
  { types: ['led', 'longformer'], traits: [{ ...perLayer('attention_window'), of: 'encoder' }] },
  { types: ['lfm2'], traits: [types(indices('full_attn_idxs', ['conv', full]), all(full))] },
  { types: ['lfm2_moe'], traits: [types(), one(from('num_dense_layers', 2, [dense, sparse]))] },
  {
    types: ['lfm3'],
    traits: [
      types(rule((layer) => (layer % 4 === 2 ? full : layer % 4 === 0 && layer > 0 ? sliding : 'conv'))),
    ],
  },
  {
    types: ['llama4', 'llama4_text'],
    traits: [
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
    ],
  },
  { types: ['longcat_flash'], counts: { num_layers: 1, num_hidden_layers: 2 } },
  {
    types: ['longt5', 'pop2piano', 'udop', 'pix2struct_text_model', 'rwkv'],
    traits: [firstDiffers],
  },
  { types: ['mellum'], traits: [types(all(full)), mlps(all(sparse))] },
  {
    types: ['mimo_v2_flash'],
    traits: [
      types(rule((layer) => (layer === 0 || (layer + 1) % 6 === 0 ? full : sliding))),
      mlps(onlyFirstDense),
    ],
  },
  {
    types: ['minicpm3'],
    traits: [byTheirNumber('scale_depth', ({ section }) => isGiven(section['scale_depth']))],
  },
  { types: ['minimax'], traits: [types(every(2, linear, full)), byItsNumber('model_type')] },
  {
    types: ['minimax_m3_vl_text', 'step3p5'],
    traits: [
      { says: [list('layer_types', {}, 'drafts')] },
      { says: [list('mlp_layer_types', {}, 'drafts'), list('moe_layer_freq', { 0: dense, 1: sparse })] },
      { says: [list('swiglu_limits', {}, 'drafts')], optional: true },
      { says: [list('swiglu_limits_shared', {}, 'drafts')], optional: true },
    ],
  },
  {
    types: ['ministral'],
    traits: [
      types(rule((_layer, _layers, { section }) => (section['sliding_window'] === null ? full : sliding))),
    ],
  },
  {
    types: ['mistral_large4_text'],
    traits: [mlps(firstDense(1)), indexed, indexers, noRope, keySources],
  },
  {
    types: ['mllama', 'mllama_text_model'],
    traits: [
      {
        says: [
          indices('cross_attention_layers', [full, 'cross_attention']),
          rule((layer) => (layer % 5 === 3 && layer < 40 ? 'cross_attention' : full)),
        ],
      },
    ],
  },
  {
    types: ['modernbert', 'modernbert-decoder'],
    traits: [types(firstOfEach('global_attn_every_n_layers', 3, [sliding, full])), firstDiffers],
  },
  {
    types: ['muse_glimmer_text'],
    traits: [
      types(rule((layer, layers) => ((layers - 1 - layer) % 4 === 0 ? full : sliding))),
      one(list('layer_rope_theta')),
    ],
  },
  {
    types: ['muse_spark_text'],
    traits: [
      types(rule((layer, layers) => ((layers - 1 - layer) % 4 === 0 ? full : sliding))),
      one(list('layer_rope_theta')),
      mlps(all(sparse)),
    ],
  },
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
  { types: ['nllb-moe'], traits: [steps('encoder'), steps('decoder')] },
  {
    types: ['molmo2_text'],
    traits: [{ says: [indices('rope_scaling_layers', ['plain', 'scaled']), all('scaled')] }],
  },
  { types: ['mvp'], traits: [byItsNumber('use_prompt', ({ section }) => section['use_prompt'] === true)] },
  { types: ['gpt_neox_japanese'], traits: [lastDiffers('model_type')] },
  {
    types: ['deberta-v2'],
    traits: [
      firstDiffersIf('conv_kernel_size', ({ section }) => Number(section['conv_kernel_size'] ?? 0) > 0),
    ],
  },
  {
    types: ['pegasus_x'],
    traits: [
      {
        of: 'encoder',
        says: [
          rule(
            (layer, _layers, { section }) => section['stagger_local_blocks'] !== false && layer % 2 === 1,
            ['stagger_local_blocks'],
          ),
        ],
        because: 'shifts the blocks of every second layer',
      },
    ],
  },
  { types: ['olmo3'], traits: [types(every(4, sliding, full))] },
  { types: ['olmo_hybrid'], traits: [typesWith(linear, full)] },
  { types: ['ultrabert'], traits: [types()] },
  { types: ['qwen2', 'qwen3', 'qwen2_5_omni_text'], traits: [types(windowsFrom(28))] },
  {
    types: ['qwen2_vl', 'qwen2_vl_text', 'qwen2_5_vl', 'qwen2_5_vl_text'],
    traits: [types(windowsFrom(80))],
  },
  {
    types: ['qwen2_moe'],
    traits: [
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
    ],
  },
  { types: ['qwen3_moe'], traits: [stepwise] },
  { types: ['qwen3_vl_text', 'granite_docling_text'], traits: [deepstack] },
  { types: ['qwen3_vl_moe_text', 'qwen3_omni_moe_text'], traits: [stepwise, deepstack] },
  {
    types: ['qwen3_next'],
    traits: [types(lastOfEach('full_attention_interval', 4, [linear, full])), stepwise],
  },
  {
    types: ['qwen3_5', 'qwen3_5_text', 'qwen3_5_moe', 'qwen3_5_moe_text'],
    traits: [types(lastOfEach('full_attention_interval', 4, [linear, full]))],
  },
  { types: ['qwen4_exp_text'], refused: ['ple_layer_ids', otherwise] },
  {
    types: ['recurrent_gemma'],
    traits: [one(cycle('block_types', ['recurrent', 'recurrent', 'attention']))],
  },
  { types: ['reformer'], countsByList: true, traits: [one(list('attn_layers'))] },
  {
    types: ['SD3Transformer2DModel'],
    traits: [
      { says: [indices('dual_attention_layers', ['one attention', 'two']), all('one attention')] },
      lastDiffers('_class_name'),
    ],
  },
  {
    types: ['smollm3'],
    traits: [
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
    ],
  },
  {
    types: ['switch_transformers'],
    traits: [firstDiffers, switched('encoder'), switched('decoder')],
  },
  { types: ['deepseek_ocr2_text'], traits: [mlps()] },
  { types: ['xlstm'], counts: { num_hidden_layers: 1, num_blocks: 1 } },
  { types: ['zaya'], traits: [types(all('hybrid')), firstDiffers] },
  { types: ['esmc'], traits: [byTheirNumber('model_type')] },
];
