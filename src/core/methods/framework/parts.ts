import * as z from 'zod';
import { LayerloomError } from '../../base/errors/errors.js';
import { itemAt } from '../../base/errors/lookup.js';
import type { Place } from '../../models/architecture/architecture.js';
import type { Role } from '../../models/architecture/role.js';
import type { RecipePath } from './declaration/method.js';
import { modelSchema, normalise, weightsSchema } from './declaration/parameters.js';
import type { ModelInput } from './declaration/recipe-input.js';
import { formatLayers, type LayerSet, layerSetSchema, parseLayers } from './layer-set.js';

export const moduleNames = ['attention', 'feed_forward', 'norms', 'embeddings', 'head'] as const;

export type ModuleName = (typeof moduleNames)[number];

/** A set of tensors and their source. */
export interface PartParameters {
  /** A model, or the recipe's `task`, `language` or `base`. */
  model?: ModelInput | undefined;
  /** Models to average, instead of `model`. */
  models?: readonly ModelInput[] | undefined;
  /** A weight for each of `models`, divided by their sum; default: all 1. */
  weights?: readonly number[] | undefined;
  /** Layers (`0-4,30,31`), `outside` the layers, or `rest`: what no other part takes. Default: everywhere. */
  layers?: LayerSet | undefined;
  /** A group of modules, or several. Default: all. */
  modules?: ModuleName | readonly ModuleName[] | undefined;
}

const moduleName = z.enum(moduleNames, { error: `one of ${moduleNames.join(', ')}` });

export const partSchema: z.ZodType<PartParameters, PartParameters> = z
  .strictObject({
    model: modelSchema.optional(),
    models: z
      .array(modelSchema, { error: 'a list of models' })
      .min(1, { error: 'at least one model' })
      .optional(),
    weights: weightsSchema.optional(),
    layers: z
      .union([z.enum(['rest', 'outside']), layerSetSchema], {
        error: 'layers such as 0-4,30,31, each named once, or rest, or outside',
      })
      .optional(),
    modules: z
      .union(
        [
          moduleName,
          z.array(moduleName).min(1, { error: `one of ${moduleNames.join(', ')}, or a list of them` }),
        ],
        {
          error: `one of ${moduleNames.join(', ')}, or a list of them`,
        },
      )
      .optional(),
  })
  .superRefine(({ model, models, weights, layers, modules }, { addIssue }) => {
    const refuse = (path: string[], message: string) => addIssue({ code: 'custom', path, message });
    if ((model === undefined) === (models === undefined))
      refuse(['model'], 'either model, or models to average');
    if (weights !== undefined && weights.length !== models?.length)
      refuse(['weights'], 'one weight for each of models, in their order');
    if (layers === undefined && modules === undefined)
      refuse(
        ['layers'],
        'which layers or modules the part has; layers: rest means all that no other part has',
      );
  });

export interface Share {
  readonly of: ModelInput;
  /** The model's weight in the part's tensors; a part's weights sum to 1. */
  readonly weight: number;
}

export interface Part {
  readonly shares: readonly Share[];
  /** The part's layers; undefined for all tensors, in layers and outside. */
  readonly layers: ReadonlySet<number> | 'rest' | 'outside' | undefined;
  readonly modules: readonly ModuleName[] | undefined;
  readonly name: string;
  readonly path: RecipePath;
}

const rolesOf: Readonly<Record<ModuleName, readonly Role[]>> = {
  attention: ['attention'],
  feed_forward: ['feedForward'],
  norms: ['blockNorm', 'finalNorm'],
  embeddings: ['embedding'],
  head: ['head'],
};

export const partOf = (
  { model, models = model === undefined ? [] : [model], weights, layers, modules }: PartParameters,
  index: number,
): Part => {
  const normalised = normalise(weights ?? models.map(() => 1));
  return {
    shares: models
      .map((of, at): Share => ({ of, weight: itemAt(normalised, at) }))
      .filter(({ weight }) => weight !== 0),
    layers: layersOf(layers),
    modules: modules === undefined ? undefined : [modules].flat(),
    name: `part ${index + 1}`,
    path: ['parts', index],
  };
};

const layersOf = (layers: PartParameters['layers']): Part['layers'] =>
  layers === undefined || layers === 'rest' || layers === 'outside'
    ? layers
    : new Set(parseLayers(layers as LayerSet));

const takes = ({ layers, modules }: Part, { layer, role }: Place): boolean => {
  if (modules !== undefined && !modules.some((name) => rolesOf[name].includes(role))) return false;
  if (layers === undefined || layers === 'rest') return true;
  return layers === 'outside' ? layer === undefined : layer !== undefined && layers.has(layer);
};

/**
 * Returns the rank of a part: 1 for `rest` in some modules, 2 for `rest`, else 0. A tensor goes to the part of lowest
 * rank.
 */
const rankOf = ({ layers, modules }: Part): number => (layers !== 'rest' ? 0 : modules !== undefined ? 1 : 2);

/** Returns the parts that claim a place: several in an overlap, none in a gap. */
export const claimsOf = (parts: readonly Part[], place: Place): readonly Part[] => {
  const found = parts.filter((part) => takes(part, place));
  const first = Math.min(...found.map(rankOf));
  return found.filter((part) => rankOf(part) === first);
};

/**
 * Maps a place to its part.
 *
 * @param places of the output's tensors; each must be in exactly one part
 * @throws PARTS_INVALID for an unknown layer, a place in several parts or in none, or a part without tensors
 */
export const divide = (
  parts: readonly Part[],
  layers: number,
  places: Iterable<Place>,
): ((place: Place) => Part) => {
  for (const part of parts) checkLayers(part, layers);
  const faults = new Map<string, { parts: readonly Part[]; places: Place[] }>();
  const used = new Set<Part>();
  let isEmpty = true;
  for (const place of places) {
    isEmpty = false;
    const claims = claimsOf(parts, place);
    for (const part of claims) used.add(part);
    if (claims.length === 1) continue;
    const key = claims.map(({ name }) => name).join();
    const fault = faults.get(key) ?? { parts: claims, places: [] };
    faults.set(key, fault);
    fault.places.push(place);
  }
  // Reports overlaps before gaps, because overlaps are more likely to be typos.
  const [fault] = [...faults.values()].sort((a, b) => b.parts.length - a.parts.length);
  if (fault !== undefined) throw refused(fault.parts, whereOf(fault.places));
  // Allows parts without tensors in adapters, which may lack all layers and modules that a part names.
  const idle = isEmpty ? undefined : parts.find((part) => !used.has(part) && part.modules !== undefined);
  if (idle !== undefined)
    throw invalidParts(
      [idle],
      `${idle.name} takes no tensor: the model has no ${wordsOf(idle)}`,
      'leave the part out; a head that is the embeddings goes with these',
    );
  return (place) => {
    const [part, ...others] = claimsOf(parts, place);
    if (part === undefined || others.length > 0)
      throw refused(part === undefined ? [] : [part, ...others], whereOf([place]));
    return part;
  };
};

const checkLayers = (part: Part, layers: number): void => {
  if (typeof part.layers !== 'object') return;
  const beyond = [...part.layers].filter((layer) => layer >= layers);
  if (beyond.length === 0) return;
  throw invalidParts(
    [part],
    `${part.name} names ${layersText(beyond)}, but the models have ${layers}: 0-${layers - 1}`,
    'name layers that there are',
    beyond,
  );
};

interface Where {
  readonly text: string;
  readonly layers: readonly number[];
}

const refused = (parts: readonly Part[], { text, layers }: Where): LayerloomError =>
  parts.length === 0
    ? invalidParts(parts, `no part takes ${text}`, 'add them to a part, or a part with layers: rest', layers)
    : invalidParts(
        parts,
        `${parts.map(({ name }) => name).join(' and ')} both take ${text}`,
        'every tensor comes from one part: take them out of the others',
        layers,
      );

const invalidParts = (
  parts: readonly Part[],
  problem: string,
  remedy: string,
  layers: readonly number[] = [],
): LayerloomError =>
  new LayerloomError(
    'PARTS_INVALID',
    { problem, remedy, parts: parts.map(({ name }) => name), layers: formatLayers(layers) },
    { context: { recipePath: parts.at(-1)?.path ?? ['parts'] } },
  );

const layersText = (layers: readonly number[]): string =>
  `${layers.length === 1 ? 'layer' : 'layers'} ${formatLayers(layers)}`;

/** Formats places: `layers 3-4 (attention) and embeddings outside the layers`. */
const whereOf = (places: readonly Place[]): Where => {
  const inside = places.filter(({ layer }) => layer !== undefined);
  const layers = [...new Set(inside.map(({ layer }) => Number(layer)))].sort((a, b) => a - b);
  const outside = [...new Set(places.filter(({ layer }) => layer === undefined).map(nameOf))];
  const modules = [...new Set(inside.map(nameOf))];
  const texts = [
    ...(layers.length === 0 ? [] : [`${layersText(layers)} (${modules.join(', ')})`]),
    ...(outside.length === 0 ? [] : [`${outside.join(', ')} outside the layers`]),
  ];
  return { text: texts.join(' and '), layers };
};

const nameOf = ({ role, module }: Place): string =>
  moduleNames.find((name) => rolesOf[name].includes(role)) ?? module;

const wordsOf = ({ layers, modules }: Part): string => {
  const inModules = modules === undefined ? '' : modules.join(', ');
  if (typeof layers !== 'object')
    return [inModules, layers === 'outside' ? 'outside the layers' : ''].filter(Boolean).join(' ');
  return [inModules, layersText([...layers])].filter(Boolean).join(' of ');
};

/** Returns a part with keys as in YAML; `nameOfModel` names its models. */
export const spellPart = (
  { shares, layers, modules }: Part,
  nameOfModel: (of: ModelInput) => unknown,
): Record<string, unknown> => {
  const [share, ...others] = shares;
  return {
    ...(share !== undefined && others.length === 0
      ? { model: nameOfModel(share.of) }
      : { models: shares.map(({ of }) => nameOfModel(of)), weights: shares.map(({ weight }) => weight) }),
    ...(layers === undefined
      ? {}
      : { layers: typeof layers === 'string' ? layers : formatLayers([...layers]) }),
    ...(modules === undefined ? {} : { modules }),
  };
};
