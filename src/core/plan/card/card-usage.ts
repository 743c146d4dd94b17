import { parseHubId } from '../../models/address/remote.js';
import { isObject } from '../../models/checkpoint/files/json.js';
import { fenced } from './markdown.js';

type Config = Readonly<Record<string, unknown>>;

/** Transformers' auto classes, by the end of an architecture's name. */
const autoClasses: readonly (readonly [RegExp, string])[] = [
  [/(ForCausalLM|LMHeadModel)$/, 'AutoModelForCausalLM'],
  [/ForSequenceClassification$/, 'AutoModelForSequenceClassification'],
  [/ForTokenClassification$/, 'AutoModelForTokenClassification'],
  [/ForQuestionAnswering$/, 'AutoModelForQuestionAnswering'],
  [/ForMaskedLM$/, 'AutoModelForMaskedLM'],
];

const architectureOf = (config: Config): string => {
  const names = config['architectures'];
  return Array.isArray(names) ? String(names[0] ?? '') : '';
};

const autoClassOf = (config: Config): string => {
  const architecture = architectureOf(config);
  if (architecture.endsWith('ForConditionalGeneration'))
    return config['is_encoder_decoder'] === true && !isObject(config['vision_config'])
      ? 'AutoModelForSeq2SeqLM'
      : 'AutoModelForImageTextToText';
  return autoClasses.find(([pattern]) => pattern.test(architecture))?.[1] ?? 'AutoModel';
};

export const usageFrontMatter = (config: Config | undefined): Record<string, string> =>
  config === undefined
    ? {}
    : {
        library_name: 'transformers',
        ...(autoClassOf(config) === 'AutoModelForCausalLM' ? { pipeline_tag: 'text-generation' } : {}),
      };

/** Returns the card's usage example; empty if the model has no `config.json`. */
export const usageText = (config: Config | undefined, sideFiles: readonly string[]): string[] => {
  if (config === undefined) return [];
  const autoClass = autoClassOf(config);
  const hasTokenizer = sideFiles.some((name) => /^(tokenizer|spiece|vocab|tekken)/.test(name));
  const trust = isObject(config['auto_map']) ? ', trust_remote_code=True' : '';
  const code = [
    `from transformers import ${[autoClass, ...(hasTokenizer ? ['AutoTokenizer'] : [])].join(', ')}`,
    '',
    'model_id = "."  # this folder, or the name of the model on the hub',
    ...(hasTokenizer ? [`tokenizer = AutoTokenizer.from_pretrained(model_id${trust})`] : []),
    `model = ${autoClass}.from_pretrained(model_id, torch_dtype="auto"${trust})`,
  ];
  return ['## Use', '', ...fenced('python', code.join('\n')), ''];
};

/** Returns the base's name for a card; undefined for a local path, which must not be published. */
const publicBase = (base: string | null): string | undefined =>
  base !== null && parseHubId(base) !== undefined ? base : undefined;

export const adapterFrontMatter = (base: string | null): Record<string, string> => {
  const id = publicBase(base);
  return {
    ...(id === undefined ? {} : { base_model: id, base_model_relation: 'adapter' }),
    library_name: 'peft',
  };
};

export const adapterUsageText = (base: string | null): string[] => {
  const code = [
    'from peft import PeftModel',
    'from transformers import AutoModelForCausalLM',
    '',
    `base = AutoModelForCausalLM.from_pretrained(${JSON.stringify(publicBase(base) ?? './base')})`,
    'model = PeftModel.from_pretrained(base, ".")  # this folder, or the name of the adapter on the hub',
  ];
  return ['## Use', '', ...fenced('python', code.join('\n')), ''];
};
