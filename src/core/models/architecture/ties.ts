import type { CheckpointIndex } from '../checkpoint/checkpoint.js';
import { isObject } from '../checkpoint/files/json.js';
import { byCanonicalName } from './canonical-names.js';

/** A tensor that copies another, in a model with tied embeddings. */
export interface Tie {
  readonly copy: string;
  readonly source: string;
}

const heads =
  /^(lm_head|lm_head\.decoder|lm_head\.out_proj|(cls\.)?predictions\.decoder|generator_lm_head|vocab_projector|output_projection|proj_out|pred_layer\.proj|lm_loss|head|head\.decoder|decoder|output)\.weight$/;

/** Canonical names of embeddings that a head may be tied to, likeliest first. */
const embeddings: readonly RegExp[] = [
  /^shared\.weight$/,
  /^(embed_tokens|wte|word_embeddings?|embed_in|tokens_embed|tok_embeddings|embeddings|w)\.weight$/,
  /^embeddings\.(word|tok)_embeddings\.weight$/,
  /^(text_model|decoder)\.embed_tokens\.weight$/,
];

const sharing = ['encoder.embed_tokens.weight', 'decoder.embed_tokens.weight'];

/** Modules whose bias older files store twice. */
const biases = ['cls.predictions', 'predictions', 'lm_head'];

export const embeddingOf = ({ tensors }: Pick<CheckpointIndex, 'tensors'>): string | undefined =>
  sourceIn(byCanonicalName(tensors.keys()));

const sourceIn = (names: ReadonlyMap<string, string>): string | undefined => {
  for (const pattern of embeddings)
    for (const [canonical, name] of names) if (pattern.test(canonical)) return name;
  return undefined;
};

/** Returns `lm_head.weight` if the checkpoint has no head. */
export const headOf = ({ tensors }: Pick<CheckpointIndex, 'tensors'>): string =>
  [...byCanonicalName(tensors.keys())].find(([canonical]) => heads.test(canonical))?.[1] ?? 'lm_head.weight';

export const tiesIn = ({ tensors }: Pick<CheckpointIndex, 'tensors'>): readonly Tie[] => {
  const names = byCanonicalName(tensors.keys());
  const source = sourceIn(names);
  const copies = [...names].flatMap(([canonical, copy]) =>
    heads.test(canonical) || sharing.includes(canonical) ? [copy] : [],
  );
  return [
    ...(source === undefined
      ? []
      : copies.filter((copy) => copy !== source).map((copy) => ({ copy, source }))),
    ...biases.flatMap((module) => {
      const [copy, own] = [names.get(`${module}.decoder.bias`), names.get(`${module}.bias`)];
      return copy === undefined || own === undefined ? [] : [{ copy, source: own }];
    }),
  ];
};

/** LUKE also ties its entities, and stores its head's bias under the decoder's name. */
const ofLuke = (names: ReadonlyMap<string, string>): Tie[] =>
  names.has('entity_predictions.bias')
    ? [
        ['entity_predictions.decoder.weight', 'entity_embeddings.entity_embeddings.weight'] as const,
        ['lm_head.bias', 'lm_head.decoder.bias'] as const,
      ].flatMap(([copy, canonical]) => {
        const source = names.get(canonical);
        return source === undefined ? [] : [{ copy, source }];
      })
    : [];

/** Returns the copies of tied embeddings that loaders make, and that an untied model lacks. */
export const absentCopies = ({ tensors }: Pick<CheckpointIndex, 'tensors'>): readonly Tie[] => {
  const names = byCanonicalName(tensors.keys());
  const shared = names.get('shared.weight');
  const prefix = shared?.slice(0, -'shared.weight'.length);
  const ofEmbeddings =
    shared === undefined ? [] : sharing.map((copy) => ({ copy: `${prefix}${copy}`, source: shared }));
  const ofBiases = biases.flatMap((module) => {
    const [weight, source] = [names.get(`${module}.decoder.weight`), names.get(`${module}.bias`)];
    return weight === undefined || source === undefined
      ? []
      : [{ copy: source.replace(/bias$/, 'decoder.bias'), source }];
  });
  return [...ofEmbeddings, ...ofBiases, ...ofLuke(names)].filter(({ copy }) => !tensors.has(copy));
};

/** Model types that transformers 5.24 ties whatever `config.json` says. */
const alwaysTied = new Set([
  't5',
  'mt5',
  'umt5',
  'longt5',
  'udop',
  'pop2piano',
  'hunyuan_vl',
  'paddleocr_vl',
]);

const typeOf = (config: CheckpointIndex['config']): string => {
  const type = config?.['model_type'];
  return typeof type === 'string' ? type : '';
};

/** True if transformers ties the model whatever `config.json` says, unless values differ. */
export const isAlwaysTied = (config: CheckpointIndex['config']): boolean => alwaysTied.has(typeOf(config));

/** True for a family whose head and embeddings have different rows. */
export const hasOtherRows = (config: CheckpointIndex['config']): boolean => neverTied.has(typeOf(config));

const neverTied = new Set([
  ...['nemotron_h', 'mllama', 'mllama_text_model', 'llama4', 'moshi', 'kimi_linear', 'molmo2', 'reformer'],
  ...['rembert', 'xlstm', 'qwen2_audio', 'pix2struct', 'fsmt', 'blip-2', 'instructblip', 'voxtral'],
]);

const tiedByDefault = new Set(
  `albert aya_vision bart bert bert-generation big_bird bigbird_pegasus biogpt blenderbot blenderbot-small bloom camembert
  cohere cohere2 cohere2_moe cohere2_vision convbert ctrl data2vec-text deberta deberta-v2 deepseek_vl distilbert electra
  ernie ernie4_5 ernie4_5_moe ernie4_5_vl_moe esm falcon falcon_mamba florence2 fnet funnel gemma gemma2 gemma3 gemma3_text
  gemma3n gemma3n_text gemma4 gemma4_text got_ocr2 gpt-sw3 gpt2 gpt_bigcode gpt_neo gpt_neox_japanese granite_docling
  granite_speech gte ibert internvl janus jetmoe layoutlm led lfm2 lfm2_moe lfm2_vl longformer luke m2m_100 mamba marian
  mbart megatron-bert minicpm3 mistral3 mobilebert modernbert modernbert-decoder moonshine mpnet mpt mra mvp nllb-moe
  nomic_bert nystromformer openai-gpt opt ovis2 paligemma pegasus pegasus_x plbart prophetnet recurrent_gemma roberta
  roberta-prelayernorm roc_bert roformer shieldgemma2 smollm3 speech_to_text squeezebert starcoder2 switch_transformers
  t5gemma t5gemma2 trocr vaultgemma whisper xglm xlm xlm-roberta xlm-roberta-xl xlnet xmod yoso youtu zamba zamba2`.split(
    /\s+/,
  ),
);

const untiedByDefault = new Set(
  `apertus arcee bamba bitnet codegen dbrx deepseek_v2 deepseek_v3 diffllama doge dots1 exaone4 falcon_h1 flex_olmo glm glm4
  glm4_moe glm4v gpt_neox gpt_oss gptj granite granitemoe granitemoehybrid granitemoeshared helium hunyuan_v1_dense
  hunyuan_v1_moe idefics3 jamba llama llama4_text llava llava_next llava_onevision longcat_flash mamba2 minimax ministral
  mistral mixtral nemotron olmo olmo2 olmo3 olmoe persimmon phi phi3 phimoe qwen2 qwen2_5_vl qwen2_moe qwen2_vl qwen3
  qwen3_5_text qwen3_moe qwen3_next qwen3_vl qwen3_vl_moe rwkv seed_oss smolvlm stablelm`.split(/\s+/),
);

/** True if transformers 5.24 ties the embeddings; undefined for an unknown family without a setting. */
export const saysTied = (config: CheckpointIndex['config']): boolean | undefined => {
  if (config === undefined) return undefined;
  const type = typeOf(config);
  if (alwaysTied.has(type)) return true;
  if (neverTied.has(type)) return false;
  const text = config['text_config'];
  const [own, ofText] = [config, isObject(text) ? text : {}].map((of) => of['tie_word_embeddings']);
  // The language model's setting also ties the whole model.
  if (own === true || ofText === true) return true;
  if (typeof own === 'boolean') return own;
  if (tiedByDefault.has(type)) return true;
  return untiedByDefault.has(type) || typeof ofText === 'boolean' ? false : undefined;
};

/** True for a family whose default for tied embeddings is known. */
export const isKnownFamily = (config: CheckpointIndex['config']): boolean =>
  [tiedByDefault, untiedByDefault].some((types) => types.has(typeOf(config)));

/** True if the head equals the embeddings, as `Architecture.tied` says. */
export const isTied = (checkpoint: CheckpointIndex): boolean =>
  checkpoint.tied ?? (saysTied(checkpoint.config) === true || !checkpoint.tensors.has(headOf(checkpoint)));
