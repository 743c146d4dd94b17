import * as z from 'zod';
import { LayerloomError } from '../../base/errors/errors.js';
import { ownValue } from '../../base/errors/lookup.js';
import { keptValue } from '../../base/way.js';
import { entriesInOrder, isObject, parseJsonObject } from '../checkpoint/files/json.js';
import type { AdapterConfig, ExpertLayout } from './adapter.js';
import { packingKeys, packingOf } from './expert-packing.js';
import { keyedKinds, plainLora } from './kinds/kinds.js';
import { tokenIndices, tokens } from './kinds/tokens.js';
import type { Tuner } from './kinds/tuner.js';
import { tuners } from './kinds/tuners.js';
import { type NumbersByPattern, numbersByModule } from './pattern/module-numbers.js';

export { adapterConfigName, adapterWeightsName } from '../checkpoint/files/file-names.js';

/** Keys of all kinds that do not affect a trained adapter's result. */
const alwaysIgnored = [
  ...['auto_mapping', 'base_model_class', 'parent_library', 'peft_version', 'revision', 'task_type'],
  // The names of tensors show which modules were trained.
  ...['inference_mode', 'target_modules', 'exclude_modules', 'layers_to_transform', 'layers_pattern'],
];

const alwaysHonoured = [
  ...['peft_type', 'base_model_name_or_path', 'modules_to_save', 'bias', 'fan_in_fan_out'],
];

const ignored = new Set([
  ...alwaysIgnored,
  ...['lora_dropout', 'megatron_core', 'qalora_group_size', 'runtime_config'],
  // Keys for initialising A and B; `init_lora_weights` says whether the base was changed too.
  ...['loftq_config', 'eva_config', 'corda_config', 'lora_ga_config', 'velora_config'],
]);

const honoured = new Set([
  ...alwaysHonoured,
  ...['r', 'lora_alpha', 'rank_pattern', 'alpha_pattern', 'use_rslora', 'lora_bias', 'target_parameters'],
  ...['init_lora_weights', 'trainable_token_indices', 'ensure_weight_tying'],
  ...Object.keys(packingKeys),
]);

/** Keys that affect the result in unsupported ways; the reasons name the arithmetic. */
const refused: Readonly<Record<string, string>> = {
  use_qalora: 'pools inputs by groups (QA-LoRA)',
  use_bdlora: 'has block-diagonal factors (BD-LoRA)',
  alora_invocation_tokens: 'acts on a part of the sequence only (activated LoRA)',
  arrow_config: 'routes between adapters (Arrow)',
  kasa_config: 'changes the base and has a third factor (KaSA)',
  monteclora_config: 'draws samples of its factors (MonteCLoRA)',
  layer_replication: 'repeats layers of the base',
  megatron_config: 'splits its factors for Megatron',
};

/** Keys of adapters that PEFT cannot merge either. */
const mergedNowhere = new Set(['alora_invocation_tokens', 'arrow_config', 'use_qalora', 'layer_replication']);

/** Initialisations that subtract B·A from the base: the adapter fits only the changed base. */
const changesBase = /^(pissa|corda|olora|lora_ga|loftq)/i;

/** Schema of a pattern's values; `entriesInOrder` reads the keys. */
const numbers = (isNumber: (value: unknown) => boolean, expected: string) =>
  z
    .custom<Record<string, number>>((value) => isObject(value) && Object.values(value).every(isNumber), {
      error: `expected ${expected} for each key`,
    })
    .nullish();
const names = z.union([z.string(), z.array(z.string())]).nullish();

/** Defaults are PEFT's, because older configurations lack later keys. */
const schema = z.looseObject({
  base_model_name_or_path: z.string().nullish(),
  r: z.int().min(1).default(8),
  lora_alpha: z.number().default(8),
  use_rslora: z.boolean().nullish(),
  fan_in_fan_out: z.boolean().nullish(),
  bias: z.enum(['none', 'all', 'lora_only', 'oft_only', 'boft_only', 'vera_only', 'hra_only']).nullish(),
  lora_bias: z.boolean().nullish(),
  rank_pattern: numbers(
    (value) => Number.isSafeInteger(value) && Number(value) > 0,
    'a whole number above 0',
  ),
  alpha_pattern: numbers(Number.isFinite, 'a number'),
  modules_to_save: z.array(z.string()).nullish(),
  target_modules: names,
  target_parameters: z.array(z.string()).nullish(),
  init_lora_weights: z.union([z.boolean(), z.string()]).nullish(),
  trainable_token_indices: tokenIndices.nullish(),
  ensure_weight_tying: z.boolean().nullish(),
  ...packingKeys,
});

const isUnused = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === false ||
  (Array.isArray(value) && value.length === 0) ||
  (isObject(value) && Object.keys(value).length === 0);

/**
 * Parses an `adapter_config.json` of PEFT 0.21 or older. Ignores keys that do not change the computation; honours all
 * other keys, or refuses them by name. Refuses unknown keys that are set.
 *
 * @throws ADAPTER_UNSUPPORTED, ADAPTER_INVALID, CONFIG_INVALID
 */
export const parseAdapterConfig = (text: string, file: string): AdapterConfig => {
  const raw = parseJsonObject(text, file);
  const unsupported = (what: string, reason: string, remedy?: string): LayerloomError =>
    new LayerloomError('ADAPTER_UNSUPPORTED', { file, what, reason, remedy });
  const type = raw['peft_type'];
  const tuner = tuners.find((one) => one.type === type);
  if (tuner !== undefined) return tunerConfig(text, raw, tuner, file);
  if (type === undefined && typeof raw['fine_tune_type'] === 'string')
    throw unsupported(
      'fine_tune_type',
      'is a key of mlx-lm, whose adapters are not read here',
      'fuse it into its base by `python -m mlx_lm fuse --model BASE --adapter-path DIR --save-path OUT`, and give OUT',
    );
  if (type !== 'LORA')
    throw unsupported(
      `peft_type ${JSON.stringify(type ?? null)}`,
      `is not read here; read are LORA, ${tuners.map((one) => one.type).join(', ')}`,
    );
  const data = parsedBy(schema, raw, file);
  for (const [key, value] of Object.entries(raw)) {
    const isKind = value === true && keyedKinds.some((kind) => kind.key === key);
    if (ignored.has(key) || honoured.has(key) || isKind || isUnused(value)) continue;
    const reason = ownValue(refused, key);
    if (reason !== undefined)
      throw mergedNowhere.has(key)
        ? unsupported(
            key,
            `${reason}, which PEFT does not merge into a base either`,
            'load the adapter beside its base, or train one without it',
          )
        : unsupported(key, `${reason}, which is not supported`);
    throw unsupported(key, `is set (${JSON.stringify(value)}), and its meaning is unknown here`);
  }
  const { init_lora_weights: init } = data;
  if (typeof init === 'string' && changesBase.test(init))
    throw unsupported(
      `init_lora_weights ${JSON.stringify(init)}`,
      'has changed the base, unlike the one on disk',
      'convert it to plain LoRA with PEFT (save_pretrained with path_initial_model_for_weight_conversion), or merge it there',
    );
  const numbersOf = (option: 'rank_pattern' | 'alpha_pattern', fallback: number) =>
    numbersByModule(entriesInOrder(text, raw, option) as NumbersByPattern, fallback, { option, file });
  return {
    ...(data.base_model_name_or_path ? { base: data.base_model_name_or_path } : {}),
    title: 'LoRA',
    kind: keyedKinds.find(({ key = '' }) => raw[key] === true) ?? plainLora,
    tuners: isUnused(data.trainable_token_indices)
      ? []
      : [{ tuner: tokens, keys: { token_indices: data.trainable_token_indices } }],
    rank: data.r,
    alpha: data.lora_alpha,
    rsLora: data.use_rslora ?? false,
    fanInFanOut: data.fan_in_fan_out ?? false,
    bias: data.bias ?? 'none',
    loraBias: data.lora_bias ?? false,
    keepsTie: data.ensure_weight_tying ?? false,
    rankOf: numbersOf('rank_pattern', data.r),
    alphaOf: numbersOf('alpha_pattern', data.lora_alpha),
    modulesToSave: data.modules_to_save ?? [],
    targetModules: data.target_modules ?? undefined,
    targetParameters: data.target_parameters ?? [],
    expertLayout: expertLayoutOf(raw['peft_version']),
    expertPacking: packingOf(data, raw, file),
    raw,
  };
};

const parsedBy = <T>(by: z.ZodType<T>, raw: unknown, file: string): T => {
  const { data, error } = by.safeParse(raw);
  if (error === undefined) return data;
  const [issue] = error.issues;
  throw new LayerloomError('ADAPTER_INVALID', {
    file,
    reason: `${issue?.path.join('.')}: ${issue?.message}`,
    remedy: 'write it again with PEFT',
  });
};

/** Parses a configuration of another kind than LoRA. Unknown keys that are set are refused. */
const tunerConfig = (
  text: string,
  raw: Readonly<Record<string, unknown>>,
  tuner: Tuner,
  file: string,
): AdapterConfig => {
  const { numbers: named, title, noSum } = tuner;
  const patterns = named === undefined ? [] : [named.rank, named.alpha, 'rank_pattern', 'alpha_pattern'];
  const known = new Set([
    ...[...alwaysIgnored, ...alwaysHonoured, ...Object.keys(tuner.keys), ...tuner.ignored, ...patterns],
  ]);
  const unsupported = (what: string, reason: string): LayerloomError =>
    new LayerloomError('ADAPTER_UNSUPPORTED', { file, what, reason });
  for (const [key, value] of Object.entries(raw))
    if (!known.has(key) && !isUnused(value))
      throw unsupported(
        key,
        `is set (${JSON.stringify(value)}), and its meaning for ${title} is unknown here`,
      );
  const keys = parsedBy(z.object(tuner.keys), raw, file);
  const refusal = tuner.refusal?.(keys);
  if (refusal !== undefined) throw unsupported(refusal.what, refusal.reason);
  const own = named === undefined ? {} : { r: raw[named.rank], lora_alpha: raw[named.alpha] };
  const { r: _, lora_alpha: __, rank_pattern: ___, alpha_pattern: ____, ...others } = raw;
  const ranks =
    named === undefined ? {} : { rank_pattern: raw['rank_pattern'], alpha_pattern: raw['alpha_pattern'] };
  const data = parsedBy(schema, { ...others, ...own, ...ranks }, file);
  const numbersOf = (option: 'rank_pattern' | 'alpha_pattern', fallback: number) =>
    numbersByModule(
      named === undefined ? [] : (entriesInOrder(text, raw, option) as NumbersByPattern),
      fallback,
      { option, file },
    );
  return {
    ...(data.base_model_name_or_path ? { base: data.base_model_name_or_path } : {}),
    title,
    kind: { key: `peft_type ${tuner.type}`, noSum, change: plainLora.change },
    tuners: [{ tuner, keys }],
    rank: data.r,
    alpha: data.lora_alpha,
    rsLora: false,
    fanInFanOut: data.fan_in_fan_out ?? false,
    bias: data.bias ?? 'none',
    loraBias: false,
    keepsTie: false,
    rankOf: numbersOf('rank_pattern', data.r),
    alphaOf: numbersOf('alpha_pattern', data.lora_alpha),
    modulesToSave: data.modules_to_save ?? [],
    targetModules: data.target_modules ?? undefined,
    targetParameters: [],
    expertLayout: expertLayoutOf(raw['peft_version']),
    expertPacking: 'rank_major',
    raw,
  };
};

/** PEFT records its version since 0.18. */
const expertLayoutOf = (version: unknown): ExpertLayout => {
  const [, major, minor, patch] = /^(\d+)\.(\d+)\.(\d+)/.exec(String(version ?? '0.17.0')) ?? [];
  if (major === '0' && Number(minor) < 19) return 'before 0.19';
  return major === '0' && minor === '19' && patch === '0' ? '0.19.0' : 'since 0.19.1';
};

export const scaleOf = (rank: number, alpha: number, rsLora: boolean): number =>
  alpha / (rsLora ? Math.sqrt(rank) : rank);

export interface AdapterConfigContent
  extends Partial<Pick<AdapterConfig, 'base' | 'rsLora' | 'fanInFanOut' | 'bias' | 'loraBias'>> {
  readonly rank: number;
  readonly alpha: number;
  /** Keys are full module names or suffixes. */
  readonly rankPattern?: Readonly<Record<string, number>>;
  readonly alphaPattern?: Readonly<Record<string, number>>;
  /** Modules with factors. PEFT compares suffixes. */
  readonly targetModules: readonly string[] | string;
  readonly modulesToSave?: readonly string[];
  readonly targetParameters?: readonly string[];
  /** The version whose expert layout the factors have. */
  readonly peftVersion?: string;
  /** Default `CAUSAL_LM`. */
  readonly taskType?: string | null;
}

/**
 * Returns the text of an `adapter_config.json`, with keys in PEFT's order. A full module name as a pattern
 * key matches only that module.
 */
export const adapterConfigText = (content: AdapterConfigContent): string =>
  `${JSON.stringify(
    {
      alpha_pattern: content.alphaPattern ?? {},
      auto_mapping: null,
      base_model_name_or_path: content.base ?? null,
      bias: content.bias ?? 'none',
      fan_in_fan_out: content.fanInFanOut ?? false,
      inference_mode: true,
      init_lora_weights: true,
      layers_pattern: null,
      layers_to_transform: null,
      lora_alpha: content.alpha,
      lora_bias: content.loraBias ?? false,
      lora_dropout: 0,
      modules_to_save: listOrNull(content.modulesToSave),
      peft_type: 'LORA',
      ...(content.peftVersion === undefined ? {} : { peft_version: content.peftVersion }),
      r: content.rank,
      rank_pattern: content.rankPattern ?? {},
      revision: null,
      target_modules: content.targetModules,
      target_parameters: listOrNull(content.targetParameters),
      task_type: content.taskType === undefined ? 'CAUSAL_LM' : content.taskType,
      use_dora: false,
      use_rslora: content.rsLora ?? false,
    },
    keptValue,
    2,
  )}\n`;

const listOrNull = (list: readonly string[] | undefined): readonly string[] | null =>
  list === undefined || list.length === 0 ? null : list;
