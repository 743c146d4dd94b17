import { applyEdits, modify } from 'jsonc-parser';
import { type ArithmeticDtype, torchName } from '../tensor/dtype.js';
import { isObject } from './json.js';

type Config = Readonly<Record<string, unknown>>;

/** Keys that say which model the weights are of. Where two experts differ in one, they are not experts of one base. */
const structural =
  /^(architectures|model_type|\w*_size|num_\w+|n_(embd|head|layer|inner|positions)|head_dim|\w*_heads?|\w*rot(ary|e)\w*|hidden_act\w*|\w*_eps\w*|layer_types|sliding_window\w*|parallel_attn|new_decoder_architecture|use_parallel_residual)$/;

/** Keys whose difference changes nothing about a merge. */
const incidental =
  /^(_.*|transformers_version|(torch_)?dtype|use_cache|tie_word_embeddings|rope_.*|text_config|\w*dropout\w*|initializer_range)$/;

/** Comparable whatever the order of keys. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_key, inner: unknown) =>
    isObject(inner) ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1))) : inner,
  );

/**
 * RoPE as transformers 5 writes it (`rope_parameters`), also from what version 4 wrote (`rope_theta`, `rope_scaling`).
 * Undefined where the config does not speak of it: the class's default is not known here.
 */
const ropeOf = (config: Config): Record<string, unknown> | undefined => {
  if (isObject(config['rope_parameters'])) return config['rope_parameters'];
  if (config['rope_theta'] === undefined) return undefined;
  const scaling = isObject(config['rope_scaling']) ? config['rope_scaling'] : {};
  const { type, ...rest } = scaling;
  return { rope_type: type ?? 'default', ...rest, rope_theta: config['rope_theta'] };
};

const ropeDifferences = (a: Config, b: Config): string[] => {
  const [one, other] = [ropeOf(a), ropeOf(b)];
  if (one === undefined || other === undefined) return [];
  return (
    [...new Set([...Object.keys(one), ...Object.keys(other)])]
      // Version 4 keeps the partial factor elsewhere.
      .filter((key) => key !== 'partial_rotary_factor' || (key in one && key in other))
      .filter((key) => canonical(one[key]) !== canonical(other[key]))
      .map((key) => describe(`RoPE ${key}`, one[key], other[key]))
  );
};

const describe = (key: string, a: unknown, b: unknown): string =>
  `${key} ${JSON.stringify(a) ?? 'absent'} against ${JSON.stringify(b) ?? 'absent'}`;

/**
 * How two `config.json` differ: `errors` where they describe other models (architecture, sizes, heads, RoPE), `warnings`
 * elsewhere. A key that stands in one alone is not compared: versions of transformers leave out different defaults.
 */
export const configDifferences = (a: Config, b: Config): { errors: string[]; warnings: string[] } => {
  const shared = Object.keys(a).filter((key) => b[key] !== undefined && b[key] !== null && a[key] !== null);
  const differing = shared.filter((key) => canonical(a[key]) !== canonical(b[key]));
  const say = (key: string) => describe(key, a[key], b[key]);
  const own = {
    errors: [
      ...differing.filter((key) => structural.test(key) && !incidental.test(key)).map(say),
      ...ropeDifferences(a, b),
    ],
    warnings: differing.filter((key) => !structural.test(key) && !incidental.test(key)).map(say),
  };
  const [textA, textB] = [a['text_config'], b['text_config']];
  if (!isObject(textA) || !isObject(textB)) return own;
  const text = configDifferences(textA, textB);
  return { errors: [...own.errors, ...text.errors], warnings: [...own.warnings, ...text.warnings] };
};

/** As transformers 5 and 4 spell it. */
const dtypeKeys = ['dtype', 'torch_dtype'];

/**
 * `config.json` for the output: the text as it is, but for `_name_or_path`, which names a directory of whoever trained it,
 * and, where the merge converts, `dtype` and `torch_dtype`. Only these places of the text change, so that numbers stay
 * spelt as they were (`1e-05`, `10000.0`).
 */
export const editConfig = (text: string, config: Config, dtype: ArithmeticDtype | undefined): string => {
  // Where a line comes or goes its surroundings are formatted; where a value changes nothing else does.
  const tidy = { formattingOptions: { insertSpaces: true, tabSize: 2, eol: '\n' } };
  const set = (edited: string, path: string[], value: unknown, wholeLine: boolean): string =>
    applyEdits(edited, modify(edited, path, value, wholeLine ? tidy : {}));
  let edited = text;
  if ('_name_or_path' in config) edited = set(edited, ['_name_or_path'], undefined, true);
  if (dtype === undefined || (config['dtype'] ?? config['torch_dtype']) === torchName(dtype)) return edited;
  const name = torchName(dtype);
  for (const key of dtypeKeys) edited = set(edited, [key], name, !(key in config));
  for (const [key, inner] of Object.entries(config))
    for (const dtypeKey of dtypeKeys)
      if (isObject(inner) && dtypeKey in inner) edited = set(edited, [key, dtypeKey], name, false);
  return edited;
};
