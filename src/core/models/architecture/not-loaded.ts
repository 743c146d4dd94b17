// Model types whose files name modules differently from transformers' classes, so that other loaders fail.
// test/peers/loads.test.ts loads an output of each type.

/** Types for which PEFT 0.21 loads an adapter incompletely if names are those in the base's files. */
const notByPeft = new Set(
  `axk1 axk2 bailing_hybrid blip-2 cosmos3_omni deepseek_v4 exaone flint granite_speech granite_speech_plus granitemoe_swa
  gte hrm_text hy_v3 hy_v4 ibert inkling_mm_model inkling_text instructblip instructblipvideo jamba jina_embeddings_v3
  kimi_k25 kimi_linear kolibri1 laguna lara_mini lfm2_moe lfm3 lfm3_vl mimo_v2_flash minimax_m3_vl minimax_m3_vl_text
  mistral4 mistral_large4 molmo2_text nemotron-h nemotron_h nomic_bert paddleocr_vl phimoe pi0 qianfan_ocr
  qwen2_5_omni_thinker qwen2_moe qwen3_5_moe qwen3_5_moe_text qwen3_vl_moe reformer sarvam_moe step3p7 t5gemma2 ultrabert
  video_llava vision-encoder-decoder zaya`.split(/\s+/),
);

/** Types for which transformers 5.24 loads block-wise FP8 weights incompletely. */
const notInFp8 = new Set(
  `granitemoe_swa gte hy_v4 inkling_mm_model inkling_text jina_embeddings_v3 lara_mini minimax_m3_vl_text mistral4
  molmo2_text nomic_bert qianfan_ocr qwen3_vl_moe sarvam_moe zaya`.split(/\s+/),
);

type Config = Readonly<Record<string, unknown>> | undefined;

const warningFor = (
  config: Config,
  types: ReadonlySet<string>,
  words: (type: string) => string,
): string[] => {
  const type = config?.['model_type'];
  return typeof type === 'string' && types.has(type) ? [words(type)] : [];
};

export const peftWarnings = (config: Config): string[] =>
  warningFor(
    config,
    notByPeft,
    (type) =>
      `PEFT 0.21 does not find all modules of a ${type} model by their names in its files, and loads such an adapter incompletely; layerloom adds it to its base whole`,
  );

export const fp8Warnings = (config: Config): string[] =>
  warningFor(
    config,
    notInFp8,
    (type) => `transformers 5.24 does not load block-wise FP8 weights of a ${type} model whole`,
  );
