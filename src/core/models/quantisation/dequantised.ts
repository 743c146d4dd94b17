import type { TensorReference } from '../../tensor/reference.js';
import type { CheckpointIndex } from '../checkpoint/checkpoint.js';
import { isObject } from '../checkpoint/files/json.js';
import { refusePieces } from '../checkpoint/pieces.js';
import type { FoundTensor, QuantisationScheme, Settings } from './scheme.js';
import { awq } from './schemes/awq.js';
import { bitsandbytes } from './schemes/bitsandbytes.js';
import { compressedTensors } from './schemes/compressed-tensors.js';
import { fp8 } from './schemes/fp8.js';
import { gptq } from './schemes/gptq.js';
import { modelopt } from './schemes/modelopt.js';
import { mxfp4 } from './schemes/mxfp4.js';

const schemes: readonly QuantisationScheme[] = [
  fp8,
  mxfp4,
  compressedTensors,
  modelopt,
  gptq,
  awq,
  bitsandbytes,
];

/** Keys of `config.json` that describe quantisation; the first one present is read. */
const configKeys = ['quantization_config', 'compression_config'];

const schemeOf = ({ quant_method }: Settings): QuantisationScheme | undefined =>
  schemes.find(({ methods }) => methods.includes(String(quant_method)));

/** Returns keys of settings about how the model was quantised. */
export const originsOf = (settings: Settings): readonly string[] => schemeOf(settings)?.origins ?? [];

/** Returns the settings of a quantisation that is not read, so that its tensors can only be copied. */
export const unreadSettings = ({
  config,
  quantisation,
}: Pick<CheckpointIndex, 'config' | 'quantisation'>): Settings | undefined =>
  quantisation === undefined
    ? [config, config?.['text_config']]
        .flatMap((one) => (isObject(one) ? configKeys.map((key) => one[key]) : []))
        .find(isObject)
    : undefined;

/** Returns the settings that say how unread tensors are stored, as a text to compare. */
export const unreadForm = (settings: Settings): string => {
  const { unconverted = [] } = schemeOf(settings) ?? {};
  return settingsText(settings, new Set([...originsOf(settings), ...unconverted]));
};

/** Returns settings as a text that depends on the order of keys in GPTQ's `dynamic` only. */
export const settingsText = (settings: Settings, without: ReadonlySet<string | undefined>): string =>
  JSON.stringify(
    Object.fromEntries(Object.entries(settings).filter(([key]) => !without.has(key))),
    (key, value: unknown) =>
      isObject(value) && key !== 'dynamic'
        ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
        : value,
  );

/** Matches tensors beside a weight that do not change its value, such as scales of activations. */
const beside = /^((input|output|activation)(_global)?_scale|weight_shape|(input|output)_zero_point)$/;

/** Matches scales of the KV cache. */
export const ofCache =
  /(^|\.)((k|v|q|kv|prob(_output)?)_(global_)?(scale|zero_point)|[kvq]_proj\.output_(scale|zero_point)|kv_cache_scaling_factor)$/;

/**
 * Lists a quantised checkpoint's tensors as in the original model, each with a description of the stored
 * parts that it replaces (`quantised`). Returns unquantised checkpoints and unknown schemes unchanged. Reads
 * no files.
 *
 * @throws QUANTISATION_INVALID
 */
export const dequantised = (checkpoint: CheckpointIndex): CheckpointIndex => {
  const { config, tensors, quantisation } = checkpoint;
  if (quantisation !== undefined) return checkpoint;
  const keys = configKeys.filter((key) => isObject(config?.[key]));
  const [key] = keys;
  const settings = key === undefined ? undefined : config?.[key];
  if (!isObject(settings)) return checkpoint;
  const scheme = schemeOf(settings);
  if (scheme === undefined) return checkpoint;
  const found = scheme.find({ checkpoint, settings });
  if (found.length === 0) return checkpoint;
  for (const part of found.flatMap(({ of }) => of)) {
    const reference = tensors.get(part);
    if (reference !== undefined)
      refusePieces(checkpoint, part, reference, 'save its whole state dict, and give that');
  }
  const { unconverted, origins = [] } = scheme;
  const unconvertedKey = unconverted.find((one) => one in settings) ?? unconverted[0];
  return {
    ...checkpoint,
    tensors: logicalTensors(tensors, found),
    quantisation: { keys, settings, unconvertedKey, origins, stored: tensors },
  };
};

/** Adds the stored tensors that do not change a weight's value, to compare quantised models. */
export const withBeside = <T extends Pick<CheckpointIndex, 'tensors' | 'quantisation'>>(checkpoint: T): T => {
  const stored = [...(checkpoint.quantisation?.stored ?? [])].filter(([name]) => isBeside(name));
  return { ...checkpoint, tensors: new Map([...checkpoint.tensors, ...stored]) };
};

const isBeside = (name: string): boolean => ofCache.test(name) || beside.test(lastOf(name));

/** Puts each tensor in the place of its codes; unquantised tensors keep their places. */
const logicalTensors = (
  stored: ReadonlyMap<string, TensorReference>,
  found: readonly FoundTensor[],
): ReadonlyMap<string, TensorReference> => {
  const hidden = new Set(found.flatMap(({ of }) => of));
  const byCodes = new Map(found.map((tensor) => [tensor.of[0], tensor]));
  const owners = new Map<string, FoundTensor>();
  for (const tensor of found)
    for (const module of modulesOf(tensor.name).slice(1)) owners.set(module, tensor);
  for (const tensor of found) owners.set(moduleOf(tensor.name), tensor);
  const extra = new Map<FoundTensor, string[]>();
  for (const name of stored.keys()) {
    const around = ofCache.test(name) ? modulesOf(name) : beside.test(lastOf(name)) ? [moduleOf(name)] : [];
    const [owner] = around.flatMap((module) => owners.get(module) ?? []);
    if (owner === undefined || hidden.has(name)) continue;
    hidden.add(name);
    extra.set(owner, [...(extra.get(owner) ?? []), name]);
  }
  const tensors = new Map<string, TensorReference>();
  for (const [name, reference] of stored) {
    const tensor = byCodes.get(name);
    if (tensor === undefined) {
      if (!hidden.has(name)) tensors.set(name, reference);
      continue;
    }
    const { file, begin, end } = reference;
    const parts = new Map(
      [...tensor.of, ...(extra.get(tensor) ?? [])].flatMap((part): [string, TensorReference][] => {
        const found = stored.get(part);
        return found === undefined ? [] : [[pathFrom(moduleOf(tensor.name), part), found]];
      }),
    );
    tensors.set(tensor.name, {
      file,
      begin,
      end,
      dtype: 'BF16',
      shape: tensor.shape,
      quantised: { ...tensor.form, parts },
    });
  }
  return tensors;
};

export const moduleOf = (name: string): string => name.slice(0, Math.max(0, name.lastIndexOf('.')));

/** Returns the modules around a tensor, innermost first, within its layer; at most eight. */
const modulesOf = (name: string): readonly string[] => {
  const modules = [moduleOf(name)];
  for (
    let [last = ''] = modules;
    modules.length < 8 && last !== '' && !isLayer.test(last);
    modules.push(last)
  )
    last = moduleOf(last);
  return modules;
};

const isLayer = /(^|\.)\d+$/;

/** Returns a name as seen from a module: `../` leads out of it. */
const pathFrom = (module: string, name: string): string => {
  if (module === '') return name;
  return name.startsWith(`${module}.`)
    ? name.slice(module.length + 1)
    : `../${pathFrom(moduleOf(module), name)}`;
};

/** Reverses `pathFrom`. */
export const storedName = (module: string, path: string): string => {
  if (path.startsWith('../')) return storedName(moduleOf(module), path.slice(3));
  return module === '' ? path : `${module}.${path}`;
};

const lastOf = (name: string): string => name.slice(name.lastIndexOf('.') + 1);
