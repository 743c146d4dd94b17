import type { CheckpointIndex } from '../checkpoint/checkpoint.js';
import { isObject } from '../checkpoint/files/json.js';
import type { Role } from './role.js';

/** Name patterns and their roles; the first match wins. */
export type Rules = readonly (readonly [RegExp, Role])[];

export type ModelKind = 'decoder' | 'hybrid' | 'encoder' | 'encoder–decoder' | 'diffusion transformer';

/** A family of models, with the tensor names that are unusual. */
export interface Family {
  readonly title: string;
  /** `model_type` of `config.json`, or `_class_name` in diffusers. */
  readonly types: readonly string[];
  readonly form: ModelKind;
  /** Parts of names directly before the layer number. Default: `usualStacks`. */
  readonly stacks?: readonly string[];
  /** Attributes that hold the base model (transformers' `base_model_prefix`). Default: `usualWholes`. */
  readonly wholes?: readonly string[];
  /** Roles of names after the layer number; tried before the usual rules. */
  readonly inside?: Rules;
  /** Roles of names outside the layers; tried before the usual rules. */
  readonly outside?: Rules;
  /** Numbered tensors that serve all layers, such as T5's position biases; they count as embeddings. */
  readonly ofAllLayers?: RegExp;
}

export const usualStacks: readonly string[] = ['layers', 'h', 'blocks'];

export const usualWholes: readonly string[] = ['model'];

const stateSpace: Rules = [[/^(mamba|mixer)\./, 'attention']];
const sharedExperts: Rules = [[/^shared_mlp\./, 'feedForward']];
const perLayer = {
  inside: [[/^(altup|laurel|per_layer_\w+|layer_scalar)(\.|$)/, 'residual']],
  outside: [
    [
      /(^|\.)(embed_tokens_per_layer|per_layer_(model_projection|projection_norm)|altup_projections)\./,
      'embedding',
    ],
    [/(^|\.)altup_unembed_projections\./, 'head'],
  ],
} satisfies Partial<Family>;
const backbone: Rules = [[/(^|\.)embeddings\.weight$/, 'embedding']];
const lastNorm: Rules = [
  [/(^|\.)(layer_norm|final_norm|embedding_norm|ln_out)\.(weight|bias)$/, 'finalNorm'],
];

const bert = {
  stacks: ['encoder.layer'],
  inside: [
    [/(^|\.)(LayerNorm|\w+_layer_norm)\.(weight|bias)$/, 'blockNorm'],
    [/^(attention|crossattention)\./, 'attention'],
    [/^(intermediate|output|ffn)\./, 'feedForward'],
  ],
  outside: [
    [
      /(^|\.)(cls|lm_head|pooler|classifier|qa_outputs|pre_classifier|generator_\w+|discriminator_predictions|vocab_\w+)\./,
      'head',
    ],
    [/(^|\.)embeddings(_project)?\./, 'embedding'],
    [/(^|\.)(rel_embeddings|relative_attention_bias|encoder\.LayerNorm|encoder\.conv)\./, 'embedding'],
  ],
} satisfies Partial<Family>;

const t5 = {
  stacks: ['encoder.block', 'decoder.block'],
  wholes: [],
  inside: [
    [/\.layer_norm\.weight$/, 'blockNorm'],
    [/^layer\.\d+\.(SelfAttention|EncDecAttention)\./, 'attention'],
    [/^layer\.\d+\.DenseReluDense\./, 'feedForward'],
  ],
  outside: [
    [/(^|\.)shared\.weight$/, 'embedding'],
    [/(^|\.)(classification_head|classifier|qa_outputs)\./, 'head'],
  ],
} satisfies Partial<Family>;
const firstBlockPositions = /\.block\.0\.layer\.0\.SelfAttention\.relative_attention_bias\.weight$/;

const bart = {
  inside: [[/^encoder_attn\./, 'attention']],
  outside: [
    [/(^|\.)(shared\.weight|layernorm_embedding\.(weight|bias))$/, 'embedding'],
    [/(^|\.)encoder\.conv[12]\.(weight|bias)$/, 'embedding'],
    [/(^|\.)(proj_out\.weight|final_logits_bias)$|(^|\.)classification_head\./, 'head'],
    ...lastNorm,
  ],
} satisfies Partial<Family>;

const diffusion = {
  stacks: ['transformer_blocks'],
  inside: [
    [/^(norm\w*\.linear|\w+_mod)\.|^scale_shift_table$/, 'residual'],
    [/^attn\w*\./, 'attention'],
    [/^(ff\w*|\w+_mlp|proj_mlp|proj_out)\./, 'feedForward'],
  ],
  outside: [
    [/^(norm_out\.|scale_shift_table$)/, 'finalNorm'],
    [/^proj_out\./, 'head'],
    [
      /^(pos_embed|time_text_embed|condition_embedder|context_embedder|x_embedder|patch_embedding|adaln_single|caption_projection|\w+_in|txt_norm)\./,
      'embedding',
    ],
  ],
} satisfies Partial<Family>;

const family = (title: string, names: string, form: ModelKind, more: Partial<Family> = {}): Family => ({
  ...{ title, types: names.split(' '), form },
  ...more,
});

/** Known families. Other families are read by usual names, then by the names of these families. */
export const families: readonly Family[] = [
  family('Llama', 'llama', 'decoder'),
  family('Mistral', 'mistral', 'decoder'),
  family('Mixtral', 'mixtral', 'decoder'),
  family('Qwen 2 and 2.5', 'qwen2 qwen2_5_vl', 'decoder'),
  family('Qwen 3', 'qwen3 qwen3_moe', 'decoder'),
  family('Qwen 3-Next and 3.5', 'qwen3_next qwen3_5_text', 'hybrid'),
  family('Gemma 1 to 3', 'gemma gemma2 gemma3 gemma3_text', 'decoder'),
  family('Gemma 3n', 'gemma3n gemma3n_text', 'decoder', perLayer),
  family('Gemma 4', 'gemma4 gemma4_text', 'decoder', perLayer),
  family('RecurrentGemma', 'recurrent_gemma', 'hybrid', {
    inside: [
      [/^temporal_block\./, 'attention'],
      [/^mlp_block\./, 'feedForward'],
    ],
    outside: lastNorm,
  }),
  family('Phi', 'phi phi3', 'decoder'),
  family('OLMo 2', 'olmo2', 'decoder'),
  family('SmolLM 3', 'smollm3', 'decoder'),
  family('StarCoder 2', 'starcoder2', 'decoder'),
  family('StableLM', 'stablelm', 'decoder'),
  family('Cohere 2', 'cohere2', 'decoder'),
  family('GLM 4', 'glm4', 'decoder'),
  family('DeepSeek V3', 'deepseek_v3', 'decoder'),
  family('gpt-oss', 'gpt_oss', 'decoder'),
  family('GPT-2 and GPT-J', 'gpt2 gptj', 'decoder', { wholes: ['transformer'] }),
  family('GPT-NeoX', 'gpt_neox', 'decoder', { wholes: ['gpt_neox'] }),
  family('Falcon', 'falcon', 'decoder', { wholes: ['transformer'] }),
  family('BLOOM', 'bloom', 'decoder', { wholes: ['transformer'] }),
  family('MPT', 'mpt', 'decoder', { wholes: ['transformer'] }),
  family('OPT', 'opt', 'decoder'),
  family('BioGPT', 'biogpt', 'decoder', { wholes: ['biogpt'], outside: lastNorm }),
  family('XGLM', 'xglm', 'decoder', { outside: lastNorm }),
  family('Doge', 'doge', 'decoder', { inside: [[/^\w+_residual$/, 'residual']] }),
  family('LongCat-Flash', 'longcat_flash', 'decoder', {
    inside: [
      [/^\w+norm\.\d+\./, 'blockNorm'],
      [/^mlps\./, 'feedForward'],
    ],
  }),
  family('Granite', 'granite', 'decoder'),
  family('Granite MoE with shared experts', 'granitemoeshared', 'decoder', { inside: sharedExperts }),
  family('Granite 4', 'granitemoehybrid', 'hybrid', { inside: [...stateSpace, ...sharedExperts] }),
  family('Bamba', 'bamba', 'hybrid', { inside: stateSpace }),
  family('Falcon-H1', 'falcon_h1', 'hybrid', { inside: stateSpace }),
  family('Jamba', 'jamba', 'hybrid', { inside: stateSpace }),
  family('LFM 2', 'lfm2', 'hybrid', { inside: [[/^conv\./, 'attention']], outside: lastNorm }),
  family('Nemotron-H', 'nemotron_h', 'hybrid', {
    wholes: ['backbone', 'model'],
    inside: [[/^mixer\.(experts|gate|shared_experts|up_proj|down_proj)\./, 'feedForward'], ...stateSpace],
    outside: backbone,
  }),
  family('Mamba', 'mamba mamba2 falcon_mamba', 'hybrid', {
    wholes: ['backbone'],
    inside: stateSpace,
    outside: backbone,
  }),
  family('RWKV 4', 'rwkv', 'hybrid', {
    wholes: ['rwkv'],
    inside: [[/^(ln\d|pre_ln)\.(weight|bias)$/, 'blockNorm']],
    outside: [...backbone, ...lastNorm, [/^head\.weight$/, 'head']],
  }),
  family('LLaVA', 'llava', 'decoder'),
  family('Llama 3.2 Vision', 'mllama mllama_text_model', 'decoder', {
    wholes: ['language_model', 'model'],
    inside: [[/^cross_attn_\w+_gate$/, 'residual']],
  }),
  family('BERT, and MiniLM of BERT’s code', 'bert', 'encoder', { wholes: ['bert'], ...bert }),
  family('RoBERTa', 'roberta xlm-roberta camembert', 'encoder', { wholes: ['roberta'], ...bert }),
  family('ELECTRA', 'electra', 'encoder', { wholes: ['electra'], ...bert }),
  family('DistilBERT', 'distilbert', 'encoder', {
    wholes: ['distilbert'],
    ...bert,
    stacks: ['transformer.layer'],
  }),
  family('MPNet', 'mpnet', 'encoder', { wholes: ['mpnet'], ...bert }),
  family('DeBERTa V2 and V3', 'deberta-v2', 'encoder', { wholes: ['deberta'], ...bert }),
  family('ModernBERT', 'modernbert', 'encoder', {
    outside: [[/(^|\.)embeddings\./, 'embedding'], ...lastNorm, [/^(head|decoder|classifier)\./, 'head']],
  }),
  family('T5 and FLAN-T5', 't5 mt5', 'encoder–decoder', { ...t5, ofAllLayers: firstBlockPositions }),
  family('UMT5', 'umt5', 'encoder–decoder', t5),
  family('BART and mBART', 'bart mbart', 'encoder–decoder', bart),
  family('M2M-100 and NLLB', 'm2m_100', 'encoder–decoder', bart),
  family('Marian', 'marian', 'encoder–decoder', bart),
  family('Pegasus', 'pegasus', 'encoder–decoder', bart),
  family('Whisper', 'whisper', 'encoder–decoder', bart),
  family('FLUX.1', 'FluxTransformer2DModel', 'diffusion transformer', {
    ...diffusion,
    stacks: ['transformer_blocks', 'single_transformer_blocks'],
  }),
  family('Stable Diffusion 3', 'SD3Transformer2DModel', 'diffusion transformer', diffusion),
  family('PixArt', 'PixArtTransformer2DModel', 'diffusion transformer', diffusion),
  family('Qwen-Image', 'QwenImageTransformer2DModel', 'diffusion transformer', diffusion),
  family('Wan', 'WanTransformer3DModel', 'diffusion transformer', { ...diffusion, stacks: usualStacks }),
];

/**
 * Maps the type of a language model in a multimodal model to the text model with the same names and
 * arithmetic. Other language models, such as LLaVA's `llama`, already have the text model's type.
 */
const textModels: Readonly<Record<string, string>> = {
  ...{ qwen2_vl: 'qwen2', qwen2_vl_text: 'qwen2', qwen2_5_vl: 'qwen2', qwen2_5_vl_text: 'qwen2' },
  ...{ qwen3_vl_text: 'qwen3', qwen3_vl_moe_text: 'qwen3_moe' },
};

const byType = new Map(families.flatMap((family) => family.types.map((type) => [type, family])));

export const familyOfType = (type: string): Family | undefined => byType.get(type);

/** Returns a configuration's types: the whole model's, then the language model's. */
export const typesIn = (config: CheckpointIndex['config']): string[] => {
  const text = config?.['text_config'];
  const found = [
    config?.['model_type'],
    config?.['_class_name'],
    isObject(text) ? text['model_type'] : undefined,
  ];
  return found.filter((type) => typeof type === 'string');
};

/** Keys that hold the configurations of towers. */
export const towerKinds: readonly string[] = ['vision_config', 'audio_config'];

/** A model's language model: its settings, and its type, which is undefined without `config.json`. */
export interface LanguageModel {
  readonly settings: Readonly<Record<string, unknown>>;
  readonly type: string | undefined;
  /** True if the model also has towers, for pictures or sound. */
  readonly hasTowers: boolean;
}

export const languageModelOf = (config: CheckpointIndex['config'] = {}): LanguageModel => {
  const text = config['text_config'];
  const settings = isObject(text) ? text : config;
  const type = settings['model_type'];
  return {
    settings,
    type: typeof type === 'string' ? (textModels[type] ?? type) : undefined,
    hasTowers: towerKinds.some((key) => isObject(config[key])),
  };
};
