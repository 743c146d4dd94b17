import { ownValue } from '../../../base/errors/lookup.js';
import { type ArithmeticDtype, torchName } from '../../../tensor/dtype.js';
import { editJson, type JsonEdit, SpeltNumber, textAt } from '../../../texts/edit-json.js';
import { isObject } from '../files/json.js';
import { ropeDifferences } from './rope.js';

type Config = Readonly<Record<string, unknown>>;

/** Keys that experts of one base share. Shapes imply most of these values, but keys give clearer errors. */
const structural =
  /^(architectures|model_type|(hidden|intermediate|vocab)_size|head_dim|num_(hidden_layers|layers|attention_heads|heads|key_value_heads|kv_heads|(local_)?experts)|n_(embd|head|layer|inner))$/;

/** Keys that do not matter to a merge, or are compared elsewhere. */
const incidental =
  /^(_.*|transformers_version|(torch_)?dtype|use_cache|tie_word_embeddings|rope_.*|partial_rotary_factor|rotary_pct|\w+_config|initializer_range)$/;

const canonical = (value: unknown): string =>
  JSON.stringify(value, (_key, inner: unknown) =>
    isObject(inner) ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1))) : inner,
  );

const describe = (key: string, a: unknown, b: unknown): string =>
  `${key} ${JSON.stringify(a)} against ${JSON.stringify(b)}`;

/**
 * Compares two `config.json`. `errors` lists differences of the model (architecture, sizes, heads, RoPE),
 * `warnings` all others. Skips keys that only one file has: transformers versions omit different defaults.
 */
export const configDifferences = (
  a: Config,
  b: Config,
  ignored: ReadonlySet<string> = new Set(),
): { errors: string[]; warnings: string[] } => {
  const differing = Object.keys(a)
    .filter((key) => !ignored.has(key))
    .filter(
      (key) =>
        !incidental.test(key) &&
        !key.includes('dropout') &&
        a[key] !== null &&
        (ownValue(b, key) ?? null) !== null,
    )
    .filter((key) => canonical(a[key]) !== canonical(b[key]));
  const say = (key: string) => describe(key, a[key], b[key]);
  const rope = ropeDifferences(a, b).map(([key, one, other]) => describe(key, one, other));
  const [textA, textB] = [a['text_config'], b['text_config']];
  const text =
    isObject(textA) && isObject(textB)
      ? configDifferences(textA, textB, ignored)
      : { errors: [], warnings: [] };
  return {
    errors: [...differing.filter((key) => structural.test(key)).map(say), ...rope, ...text.errors],
    warnings: [...differing.filter((key) => !structural.test(key)).map(say), ...text.warnings],
  };
};

const dtypeKeys = ['dtype', 'torch_dtype'];

/** Makes `editConfig` write a decimal point: transformers 5 rejects 0 for 0.0. */
export const floatingNumber = (value: number): SpeltNumber =>
  new SpeltNumber(Number.isInteger(value) ? value.toFixed(1) : String(value));

/**
 * Returns the edit that changes a key's value and keeps the spelling of other numbers. Lists keep their
 * decimal points (`1.0`); in objects, only keys that differ are written.
 */
const editAt = (text: string, path: JsonEdit['path'], former: unknown, value: unknown): JsonEdit => {
  const areObjects = isObject(former) && isObject(value);
  const isList = Array.isArray(value) && value.every((entry) => typeof entry === 'number');
  const before = areObjects || isList ? textAt(text, path) : undefined;
  if (before === undefined) return { path, value };
  if (areObjects) {
    const edits = { ...absent(former), ...value };
    return { path, value: new SpeltNumber(editConfig(before, former, undefined, edits)) };
  }
  const hasPoints = before.startsWith('[') && /[.eE]/.test(before);
  return { path, value: isList && hasPoints ? value.map(floatingNumber) : value };
};

/** Maps an object's keys to undefined, so that keys that its replacement lacks are removed. */
const absent = (object: Config): Config =>
  Object.fromEntries(Object.keys(object).map((key) => [key, undefined]));

export const withoutKey = (text: string, key: string): string =>
  editJson(text, [{ path: [key], value: undefined }]);

/**
 * Returns the output's `config.json`: the original text without `_name_or_path`, which names a directory of
 * whoever trained it. Sets `dtype` and `torch_dtype` if the merge converts.
 *
 * @param edits further values; undefined removes a key. In an object such as `text_config`, only differing
 *   keys are set
 */
export const editConfig = (
  text: string,
  config: Config,
  dtype: ArithmeticDtype | undefined,
  edits: Readonly<Record<string, unknown>> = {},
): string => {
  const name = dtype === undefined ? undefined : torchName(dtype);
  const converts = name !== undefined && (config['dtype'] ?? config['torch_dtype']) !== name;
  const changed = Object.entries(edits).flatMap(([key, value]): JsonEdit[] => {
    const former = ownValue(config, key);
    if (isObject(former) && isObject(value))
      return differingKeys(former, value).map((inner) =>
        editAt(text, [key, inner], ownValue(former, inner), ownValue(value, inner)),
      );
    return canonical(former) === canonical(value) ? [] : [editAt(text, [key], former, value)];
  });
  const places = new Map(changed.map((edit) => [edit.path.join('\0'), edit]));
  const set = (path: JsonEdit['path'], value: unknown) => places.set(path.join('\0'), { path, value });
  if ('_name_or_path' in config) set(['_name_or_path'], undefined);
  if (converts) {
    for (const key of dtypeKeys) set([key], name);
    for (const [key, inner] of Object.entries(config))
      for (const dtypeKey of dtypeKeys)
        if (isObject(inner) && Object.hasOwn(inner, dtypeKey) && !places.has(key)) set([key, dtypeKey], name);
  }
  return places.size === 0 ? text : editJson(text, [...places.values()]);
};

const differingKeys = (a: Config, b: Config): string[] =>
  [...new Set([...Object.keys(a), ...Object.keys(b)])].filter(
    (key) => canonical(ownValue(a, key)) !== canonical(ownValue(b, key)),
  );
