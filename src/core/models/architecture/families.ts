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
const perLayerInputs: Rules = [[/^(altup|laurel|per_layer_\w+|layer_scalar)(\.|$)/, 'residual']];
const perLayerEmbeddings: Rules = [
  [
    /(^|\.)(embed_tokens_per_layer|per_layer_(model_projection|projection_norm)|altup_projections)\./,
    'embedding',
  ],
  [/(^|\.)altup_unembed_projections\./, 'head'],
];
const backbone: Rules = [[/(^|\.)embeddings\.weight$/, 'embedding']];
const lastNorm: Rules = [
  [/(^|\.)(layer_norm|final_norm|embedding_norm|ln_out)\.(weight|bias)$/, 'finalNorm'],
];

/** BERT and models derived from its code. */
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

/** Known families. Other families are read by usual names, then by the names of these families. */
export const families: readonly Family[] = [
  { title: 'Llama', types: ['llama'], form: 'decoder' },
  { title: 'Mistral', types: ['mistral'], form: 'decoder' },
  { title: 'Mixtral', types: ['mixtral'], form: 'decoder' },
  { title: 'Qwen 2 and 2.5', types: ['qwen2', 'qwen2_5_vl'], form: 'decoder' },
  { title: 'Qwen 3', types: ['qwen3', 'qwen3_moe'], form: 'decoder' },
  { title: 'Qwen 3-Next and 3.5', types: ['qwen3_next', 'qwen3_5_text'], form: 'hybrid' },
  { title: 'Gemma 1 to 3', types: ['gemma', 'gemma2', 'gemma3', 'gemma3_text'], form: 'decoder' },
  {
    title: 'Gemma 3n',
    types: ['gemma3n', 'gemma3n_text'],
    form: 'decoder',
    inside: perLayerInputs,
    outside: perLayerEmbeddings,
  },
  {
    title: 'Gemma 4',
    types: ['gemma4', 'gemma4_text'],
    form: 'decoder',
    inside: perLayerInputs,
    outside: perLayerEmbeddings,
  },
  {
    title: 'RecurrentGemma',
    types: ['recurrent_gemma'],
    form: 'hybrid',
    inside: [
      [/^temporal_block\./, 'attention'],
      [/^mlp_block\./, 'feedForward'],
    ],
    outside: lastNorm,
  },
  { title: 'Phi', types: ['phi', 'phi3'], form: 'decoder' },
  { title: 'OLMo 2', types: ['olmo2'], form: 'decoder' },
  { title: 'SmolLM 3', types: ['smollm3'], form: 'decoder' },
  { title: 'StarCoder 2', types: ['starcoder2'], form: 'decoder' },
  { title: 'StableLM', types: ['stablelm'], form: 'decoder' },
  { title: 'Cohere 2', types: ['cohere2'], form: 'decoder' },
  { title: 'GLM 4', types: ['glm4'], form: 'decoder' },
  { title: 'DeepSeek V3', types: ['deepseek_v3'], form: 'decoder' },
  { title: 'gpt-oss', types: ['gpt_oss'], form: 'decoder' },
  { title: 'GPT-2 and GPT-J', types: ['gpt2', 'gptj'], form: 'decoder', wholes: ['transformer'] },
  { title: 'GPT-NeoX', types: ['gpt_neox'], form: 'decoder', wholes: ['gpt_neox'] },
  { title: 'Falcon', types: ['falcon'], form: 'decoder', wholes: ['transformer'] },
  { title: 'BLOOM', types: ['bloom'], form: 'decoder', wholes: ['transformer'] },
  { title: 'MPT', types: ['mpt'], form: 'decoder', wholes: ['transformer'] },
  { title: 'OPT', types: ['opt'], form: 'decoder' },
  { title: 'BioGPT', types: ['biogpt'], form: 'decoder', wholes: ['biogpt'], outside: lastNorm },
  { title: 'XGLM', types: ['xglm'], form: 'decoder', outside: lastNorm },
  { title: 'Doge', types: ['doge'], form: 'decoder', inside: [[/^\w+_residual$/, 'residual']] },
  {
    title: 'LongCat-Flash',
    types: ['longcat_flash'],
    form: 'decoder',
    inside: [
      [/^\w+norm\.\d+\./, 'blockNorm'],
      [/^mlps\./, 'feedForward'],
    ],
  },
  { title: 'Granite', types: ['granite'], form: 'decoder' },
  {
    title: 'Granite MoE with shared experts',
    types: ['granitemoeshared'],
    form: 'decoder',
    inside: sharedExperts,
  },
  {
    title: 'Granite 4',
    types: ['granitemoehybrid'],
    form: 'hybrid',
    inside: [...stateSpace, ...sharedExperts],
  },
  { title: 'Bamba', types: ['bamba'], form: 'hybrid', inside: stateSpace },
  { title: 'Falcon-H1', types: ['falcon_h1'], form: 'hybrid', inside: stateSpace },
  { title: 'Jamba', types: ['jamba'], form: 'hybrid', inside: stateSpace },
  { title: 'LFM 2', types: ['lfm2'], form: 'hybrid', inside: [[/^conv\./, 'attention']], outside: lastNorm },
  {
    title: 'Nemotron-H',
    types: ['nemotron_h'],
    wholes: ['backbone', 'model'],
    form: 'hybrid',
    inside: [[/^mixer\.(experts|gate|shared_experts|up_proj|down_proj)\./, 'feedForward'], ...stateSpace],
    outside: backbone,
  },
  {
    title: 'Mamba',
    types: ['mamba', 'mamba2', 'falcon_mamba'],
    wholes: ['backbone'],
    form: 'hybrid',
    inside: stateSpace,
    outside: backbone,
  },
  {
    title: 'RWKV 4',
    types: ['rwkv'],
    wholes: ['rwkv'],
    form: 'hybrid',
    inside: [[/^(ln\d|pre_ln)\.(weight|bias)$/, 'blockNorm']],
    outside: [...backbone, ...lastNorm, [/^head\.weight$/, 'head']],
  },
  { title: 'LLaVA', types: ['llava'], form: 'decoder' },
  {
    title: 'Llama 3.2 Vision',
    types: ['mllama', 'mllama_text_model'],
    wholes: ['language_model', 'model'],
    form: 'decoder',
    inside: [[/^cross_attn_\w+_gate$/, 'residual']],
  },
  { title: 'BERT, and MiniLM of BERT’s code', types: ['bert'], form: 'encoder', wholes: ['bert'], ...bert },
  {
    title: 'RoBERTa',
    types: ['roberta', 'xlm-roberta', 'camembert'],
    form: 'encoder',
    wholes: ['roberta'],
    ...bert,
  },
  { title: 'ELECTRA', types: ['electra'], form: 'encoder', wholes: ['electra'], ...bert },
  {
    title: 'DistilBERT',
    types: ['distilbert'],
    form: 'encoder',
    wholes: ['distilbert'],
    ...bert,
    stacks: ['transformer.layer'],
  },
  { title: 'MPNet', types: ['mpnet'], form: 'encoder', wholes: ['mpnet'], ...bert },
  { title: 'DeBERTa V2 and V3', types: ['deberta-v2'], form: 'encoder', wholes: ['deberta'], ...bert },
  {
    title: 'ModernBERT',
    types: ['modernbert'],
    form: 'encoder',
    outside: [[/(^|\.)embeddings\./, 'embedding'], ...lastNorm, [/^(head|decoder|classifier)\./, 'head']],
  },
  {
    title: 'T5 and FLAN-T5',
    types: ['t5', 'mt5'],
    form: 'encoder–decoder',
    ...t5,
    ofAllLayers: firstBlockPositions,
  },
  { title: 'UMT5', types: ['umt5'], form: 'encoder–decoder', ...t5 },
  { title: 'BART and mBART', types: ['bart', 'mbart'], form: 'encoder–decoder', ...bart },
  { title: 'M2M-100 and NLLB', types: ['m2m_100'], form: 'encoder–decoder', ...bart },
  { title: 'Marian', types: ['marian'], form: 'encoder–decoder', ...bart },
  { title: 'Pegasus', types: ['pegasus'], form: 'encoder–decoder', ...bart },
  { title: 'Whisper', types: ['whisper'], form: 'encoder–decoder', ...bart },
  {
    title: 'FLUX.1',
    types: ['FluxTransformer2DModel'],
    form: 'diffusion transformer',
    ...diffusion,
    stacks: ['transformer_blocks', 'single_transformer_blocks'],
  },
  {
    title: 'Stable Diffusion 3',
    types: ['SD3Transformer2DModel'],
    form: 'diffusion transformer',
    ...diffusion,
  },
  { title: 'PixArt', types: ['PixArtTransformer2DModel'], form: 'diffusion transformer', ...diffusion },
  {
    title: 'Qwen-Image',
    types: ['QwenImageTransformer2DModel'],
    form: 'diffusion transformer',
    ...diffusion,
  },
  {
    title: 'Wan',
    types: ['WanTransformer3DModel'],
    form: 'diffusion transformer',
    ...diffusion,
    stacks: usualStacks,
  },
];

/**
 * Language models within multimodal models, and the text models with the same names and arithmetic. Other
 * families, such as LLaVA's `llama`, have the text model's own type.
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

/** Keys of configurations of towers. */
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
