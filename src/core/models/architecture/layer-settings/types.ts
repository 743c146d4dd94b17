import { type LayerSettings, layerSettings } from './families.js';
import { alikeTypes } from './traits/alike.js';
import type { Section } from './traits/saying.js';

const byType = new Map(layerSettings.flatMap((one) => one.types.map((type) => [type, one] as const)));
const alike = new Set(alikeTypes);

export const settingsOf = (type: string | undefined): LayerSettings | undefined =>
  type === undefined ? undefined : byType.get(type);

export const isAlike = (type: string | undefined): boolean => type !== undefined && alike.has(type);

/** Families of language models, each with the families that use it without naming it in `text_config`. */
const languageModels = `
qwen2: audioflamingo3 fast_vlm got_ocr2 internvl llava_onevision musicflamingo ovis2 pp_chart2table
qwen2: qwen2_audio vibevoice vibevoice_asr video_llama_3
cohere2: aya_vision cohere2_vision
opt: blip-2 instructblip instructblipvideo
qwen3_vl_text: cosmos3_omni
llama: deepseek_vl deepseek_vl_hybrid glmasr idefics3 janus llava llava_next llava_next_video omniasr
llama: perception_lm smolvlm video_llava vipllava voxtral
exaone4: exaone4_5
bart: florence2
qwen3: fun_asr_nano lighton_ocr moss_transcribe_diarize qianfan_ocr qwen3_asr
persimmon: fuyu
gemma4_unified_text: gemma4_unified_assistant
glm4v_text: glm46v glmga
granite: granite_speech granite_speech_plus
hyperclovax: hyperclovax_vision_v2
mistral: idefics2 mistral3
inkling_text: inkling_mm_model
qwen3_5_text: jev minicpm_ocr minicpmv4_6 minicpmv4_7
deepseek_v3: kimi_k25
lfm2: lfm2_vl
lfm3: lfm3_vl
modernbert: modernvbert
nemotron_h: nemo_speechlm nemotron_h_omni
gemma: paligemma
qwen2_5_omni_text: qwen2_5_omni_thinker
qwen3_omni_moe_text: qwen3_omni_moe_thinker
gemma3_text: shieldgemma2
step3p5: step3p7
t5gemma2_text: t5gemma2_encoder
ultrabert: ultravbert
`;
const languageModelOf = new Map(
  languageModels
    .trim()
    .split('\n')
    .flatMap((line) => {
      const [text = '', ...types] = line.split(/:? /);
      return types.map((type) => [type, text] as const);
    }),
);

const textOf = (config: Section, key: string): string | undefined => {
  const value = config[key];
  return typeof value === 'string' ? value : undefined;
};

/** Returns the family that loaders choose for a configuration's section; undefined if none is named. */
export const typeOf = (config: Section, path: readonly string[], section: Section): string | undefined => {
  const own = textOf(section, 'model_type') ?? textOf(section, '_class_name');
  const root = textOf(config, 'model_type');
  if (own !== undefined || path.length === 0 || root === undefined) return own ?? root;
  return languageModelOf.get(root) ?? `${root}_text`;
};
