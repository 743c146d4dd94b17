import { LayerloomError } from '../../base/errors/errors.js';
import { itemAt, valueAt } from '../../base/errors/lookup.js';
import { allRecipes } from '../../methods/recipe/recipe.js';
import type { CheckpointIndex, Quantisation } from '../../models/checkpoint/checkpoint.js';
import { isObject } from '../../models/checkpoint/files/json.js';
import {
  moduleOf,
  ofCache,
  originsOf,
  settingsText,
  storedName,
  unreadSettings,
} from '../../models/quantisation/dequantised.js';
import type { Settings } from '../../models/quantisation/scheme.js';
import type { QuantisationLayout } from '../../tensor/quantisation-layout.js';
import type { TensorReference } from '../../tensor/reference.js';
import { storedTensor } from '../../tensor/stored-tensor.js';
import type { UnplacedTensor } from '../layout.js';
import type { QuantisedTensor } from '../operands/quantised.js';
import { quantisedCopy, quantisedIn, sourcesOf } from '../operands.js';
import type { Composed } from './composed.js';
import type { OpenedInputs } from './inputs/opened-inputs.js';
import type { Cached, PlanningSession } from './inputs/session.js';
import { isCode, quantisedTensors } from './quantised.js';

const storedTensors: Cached<UnplacedTensor[]> = { most: 1 << 20 };
const storedFrames: Cached<object> = { most: 512 };

/**
 * Keeps the output quantised if all quantised tensors are unchanged copies from models with the same scheme
 * and settings; then `config.json` lists the unquantised modules. Otherwise dequantises all tensors and
 * removes the quantisation keys of `config.json`.
 */
export const inOneLayout = (composed: Composed, { checkpoints, session }: OpenedInputs): Composed => {
  const models = checkpoints.map(({ checkpoint }) => checkpoint);
  refuseRenumbered(composed, models);
  if (composed.adapter !== undefined || models.every(({ quantisation }) => quantisation === undefined))
    return composed;
  const copied = copiedIn(composed, models);
  if (copied === undefined) return unquantised(composed);
  const { first, unconverted } = copied;
  const tensors = composed.tensors.flatMap((tensor) => asStored(tensor, models, session));
  const { keys, settings, unconvertedKey } = first;
  const listed =
    unconvertedKey === undefined || (unconverted.length === 0 && !(unconvertedKey in settings))
      ? {}
      : { [unconvertedKey]: unconverted };
  return {
    ...composed,
    tensors,
    ...(composed.frame === undefined
      ? {}
      : { frame: session.remember(storedFrames, [session.idOf(composed.frame)], () => ({})) }),
    configEdits: { ...composed.configEdits, [itemAt(keys, 0)]: { ...settings, ...listed } },
  };
};

export const unquantised = (composed: Composed): Composed => {
  refuseCodes(composed);
  const edits = Object.fromEntries(configKeysOf(composed).map((key) => [key, undefined]));
  return {
    ...composed,
    configEdits: { ...composed.configEdits, ...edits },
    warnings: [...composed.warnings, ...withoutCache(composed)],
    ...(Object.keys(edits).length === 0 ? {} : { storedDtype: 'BF16' }),
  };
};

/** Warns of scales of the KV cache, which were measured beside the quantised weights. */
const withoutCache = ({ models }: Composed): string[] =>
  models.flatMap(({ checkpoint: { name, quantisation } }) => {
    const scales = [...(quantisation?.stored.keys() ?? [])].find((stored) => ofCache.test(stored));
    return scales === undefined
      ? []
      : [`${name} has scales of the KV cache (${scales}, …); the output has none, as it is not quantised`];
  });

/** Refuses codes of modules that are not read, since the output's `config.json` would not describe them. */
const refuseCodes = ({ tensors, models }: Composed): void => {
  const model = models.find(
    ({ checkpoint }) => checkpoint.quantisation !== undefined || unreadSettings(checkpoint) !== undefined,
  );
  const code = tensors.find(
    ({ expression, place, ...tensor }) =>
      expression.kind === 'copy' && place.role !== 'buffer' && isCode(tensor),
  );
  if (model !== undefined && code !== undefined)
    throw new LayerloomError('QUANTISED_WEIGHTS', { model: model.checkpoint.path, tensor: code.name });
};

const configKeysOf = ({ models }: Composed): readonly string[] =>
  models[0]?.checkpoint.quantisation?.keys ?? [];

/** Returns the copied tensors' quantisation with unquantised modules; undefined for dequantised outputs. */
const copiedIn = (
  composed: Composed,
  models: readonly CheckpointIndex[],
): { first: Quantisation; unconverted: readonly string[] } | undefined => {
  if (composed.compiled.mixture !== undefined) return undefined;
  if (allRecipes(composed.recipe).some(({ dtype }) => dtype !== undefined)) return undefined;
  if (
    composed.tensors.some(
      ({ expression }) => quantisedIn(expression).length > 0 && quantisedCopy(expression) === undefined,
    )
  )
    return undefined;
  const isQuantised = (name: string) =>
    models.some(({ tensors }) => tensors.get(name)?.quantised !== undefined);
  const inputs = new Set(
    composed.tensors.flatMap(({ name, expression }) =>
      isQuantised(name) || quantisedCopy(expression) !== undefined
        ? sourcesOf(expression).map(({ input }) => input)
        : [],
    ),
  );
  const contributing = [...inputs].sort((a, b) => a - b).map((input) => itemAt(models, input));
  const [first, ...others] = contributing.map(({ quantisation }) => quantisation);
  if (first === undefined || !composed.tensors.some(({ expression }) => quantisedCopy(expression)))
    return undefined;
  if (!others.every((other) => other !== undefined && wayOf(other) === wayOf(first))) return undefined;
  const isStacked = composed.compiled.layersLike !== undefined;
  // After stacking, settings by layer number would apply to other layers.
  if (isStacked && namesLayers(first.settings, first.unconvertedKey)) return undefined;
  const unconverted = unconvertedIn(composed.tensors, contributing, isStacked);
  // The scheme has no key for unquantised modules.
  return first.unconvertedKey === undefined && unconverted.length > 0 ? undefined : { first, unconverted };
};

const wayOf = ({ settings, unconvertedKey, origins }: Quantisation): string =>
  settingsText(settings, new Set([...origins, 'version', unconvertedKey]));

/**
 * True if settings may name layers: a text has a path of layers, a number that no letter precedes, or a
 * pattern of digits. Ignores versions, the list of unquantised modules, and how the model was quantised.
 */
const namesLayers = (settings: Settings, unconvertedKey?: string): boolean => {
  const without = [unconvertedKey, ...originsOf(settings)];
  const said = Object.entries(settings).filter(([key]) => !without.includes(key));
  return textsIn(Object.fromEntries(said)).some((text) =>
    /\b(layers?|blocks?|h)\\*\.|(?<!\w)\d|\\[dDwW]|[[{]/.test(text),
  );
};

const textsIn = (value: unknown): readonly string[] => {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.flatMap(textsIn);
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, one]) =>
    key.endsWith('version') ? [] : [key, ...textsIn(one)],
  );
};

/** Refuses to renumber layers if settings of an unread quantisation scheme name layers. */
const refuseRenumbered = ({ compiled }: Composed, models: readonly CheckpointIndex[]): void => {
  if (compiled.layersLike === undefined) return;
  for (const model of models) {
    const [tensor] = namesLayers(unreadSettings(model) ?? {}) ? quantisedTensors(model) : [];
    if (tensor !== undefined) throw new LayerloomError('QUANTISED_WEIGHTS', { model: model.path, tensor });
  }
};

const asStored = (
  tensor: UnplacedTensor,
  models: readonly CheckpointIndex[],
  session: PlanningSession,
): UnplacedTensor[] => {
  const copy = quantisedCopy(tensor.expression);
  if (copy === undefined) return [tensor];
  return session.remember(storedTensors, [session.idOf(tensor)], () => {
    const module = moduleOf(tensor.name);
    return [...formOf(copy, models, session).parts].map(
      ([path, reference]): UnplacedTensor => ({
        name: storedName(module, path),
        dtype: reference.dtype,
        shape: reference.shape,
        bytes: reference.end - reference.begin,
        place: tensor.place,
        expression: { kind: 'copy', source: storedTensor(copy.of.input, reference) },
      }),
    );
  });
};

const forms: Cached<ReadonlyMap<string, QuantisationLayout<TensorReference>>> = { most: 256 };

const placeOf = ({ file, begin }: { readonly file: number; readonly begin: number }): string =>
  `${file} ${begin}`;

const formOf = (
  { of }: QuantisedTensor,
  models: readonly CheckpointIndex[],
  session: PlanningSession,
): QuantisationLayout<TensorReference> => {
  const model = itemAt(models, of.input);
  const found = session.remember(
    forms,
    [session.idOf(model)],
    () =>
      new Map(
        [...model.tensors.values()].flatMap((reference): [string, QuantisationLayout<TensorReference>][] =>
          reference.quantised === undefined ? [] : [[placeOf(reference), reference.quantised]],
        ),
      ),
  );
  return valueAt(found, placeOf(of));
};

/**
 * Lists unquantised modules for `config.json`: the models' entries, except those that may name a quantised
 * module, and modules that only some models quantise.
 *
 * Patterns are untrusted and never matched. A pattern is dropped if a module that is unquantised in its model
 * is quantised in the output. For stacked layers, all modules are named.
 */
const unconvertedIn = (
  tensors: readonly UnplacedTensor[],
  models: readonly CheckpointIndex[],
  isStacked: boolean,
): readonly string[] => {
  const quantised = new Set<string>();
  const plain = new Set<string>();
  for (const { name, shape, expression } of tensors)
    if (quantisedCopy(expression) !== undefined) quantised.add(moduleOf(name));
    else if (shape.length >= 2) plain.add(moduleOf(name));
  // A module with an unquantised bias may still be quantised.
  for (const module of quantised) plain.delete(module);
  const entries = models.flatMap(({ tensors: own, quantisation }) => {
    const plainHere = new Set([...own.keys()].map(moduleOf));
    for (const [name, { quantised: form }] of own) if (form !== undefined) plainHere.delete(moduleOf(name));
    const wrong = [...quantised].filter((module) => isStacked || plainHere.has(module));
    const listed = quantisation?.settings[quantisation.unconvertedKey ?? ''];
    const kept = (Array.isArray(listed) ? (listed as unknown[]) : []).filter(
      (entry): entry is string =>
        typeof entry === 'string' && (wrong.length === 0 || !wrong.some((module) => mayName(entry, module))),
    );
    const named = wrong.length === 0 ? [] : [...plainHere].filter((module) => plain.has(module));
    return [...kept, ...named];
  });
  const elsewhere = [...plain].filter(
    (module) =>
      isStacked || models.some(({ tensors: own }) => own.get(`${module}.weight`)?.quantised !== undefined),
  );
  return [...new Set([...entries, ...elsewhere])];
};

/** True if an entry may name a module: it is a pattern, or a part of the module's name, as vLLM's AWQ reads it. */
const mayName = (entry: string, module: string): boolean =>
  !/^[\w.-]+$/.test(entry) || module.includes(entry);
