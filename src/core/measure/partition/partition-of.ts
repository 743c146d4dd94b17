import { LayerloomError } from '../../base/errors/errors.js';
import { invalidParameter } from '../../base/errors/invalid-parameter.js';
import { itemAt, valueAt } from '../../base/errors/lookup.js';
import { optionName } from '../../base/errors/option-name.js';
import { paperCounts, paperLayers, scaledCount } from '../../methods/framework/counts.js';
import { type Architecture, type Place, requireLayers } from '../../models/architecture/architecture.js';
import { isFloating } from '../../tensor/dtype.js';
import { elementsOf, type TensorReference } from '../../tensor/reference.js';
import type { AnalysedExpert } from './analysed-expert.js';
import { byChange } from './by-change.js';
import {
  type FoundByAnalysis,
  type FoundByLocation,
  type Granularity,
  isMixture,
  type Partition,
  type PartitionBase,
  type PartName,
  partitionFormat,
  partNames,
} from './partition.js';

/** A partition by location. Defaults are the paper's (§4.2), for 32 layers. */
export interface PartitionByLocation {
  /** First layers that belong to the language: 0 or more. Default 5. */
  bottom?: number | undefined;
  /** Last layers that belong to the language: 0 or more. Default 2. */
  top?: number | undefined;
  /** Scales both counts from 32 layers to the model's L: count·L/32, rounded half up. Default false. */
  scaled?: boolean | undefined;
  /** Part that gets embeddings, final norm and head. Default `language`, because they are next to its layers. */
  others?: PartName | undefined;
  /** Whether norms in layers go with their layer, or with `others`. Default `layer`. */
  norms?: 'layer' | 'others' | undefined;
}

export interface PartitionByAnalysis {
  experts: { readonly language: AnalysedExpert; readonly task: AnalysedExpert };
  /** The unit that is assigned as a whole. Default `module`. */
  granularity?: Granularity | undefined;
  /** Part that gets parameters outside the layers; default: as the analysis decides. */
  others?: PartName | undefined;
  norms?: 'layer' | 'others' | undefined;
}

/**
 * Assigns each parameter of a model to one part. Buffers, integers, other towers (vision, audio) and draft
 * heads go to `neither`, because no side trains them.
 *
 * @throws INVALID_PARAMETER, TOO_MANY_LAYERS, NO_LAYERS, STACKS_AMBIGUOUS, LAYER_MISSING, PARTITION_INVALID
 *   for an expert that changed nothing
 */
export const partitionOf = (
  base: PartitionBase,
  parameters: PartitionByLocation | PartitionByAnalysis,
): Partition => {
  const { checkpoint, architecture } = base;
  requireLayers(architecture, checkpoint.path);
  check(parameters);
  const { found, partOf } =
    'experts' in parameters ? byAnalysis(base, parameters) : byLocation(architecture.layers, parameters);
  const tied = tiedHead(architecture);
  const ofMixture = isMixture(checkpoint.tensors.keys());
  const parts = empty<string[]>(() => []);
  const linear = empty<string[]>(() => []);
  const counts = empty(() => 0);
  for (const [name, reference] of checkpoint.tensors) {
    const place = valueAt(architecture.places, name);
    // Assigns a tied head like the embeddings.
    const of = tied?.head === name ? tied.embedding : name;
    const part = isTrainable(reference, place) ? partOf(of, valueAt(architecture.places, of)) : 'neither';
    parts[part].push(name);
    counts[part] += elementsOf(reference.shape);
    if (isLinear(name, reference, place) && (!ofMixture || place.role === 'attention'))
      linear[part].push(name.replace(/\.weight$/, ''));
  }
  return {
    format: partitionFormat,
    base: { name: checkpoint.name, path: checkpoint.path },
    family: architecture.family,
    layers: architecture.layers,
    stack: itemAt(architecture.stacks, 0),
    found,
    parts,
    linear,
    parameters: counts,
  };
};

interface Rule {
  readonly found: FoundByLocation | FoundByAnalysis;
  partOf(name: string, place: Place): PartName;
}

const byLocation = (
  layers: number,
  {
    bottom = paperCounts.bottom,
    top = paperCounts.top,
    scaled = false,
    others = 'language',
    norms = 'layer',
  }: PartitionByLocation,
): Rule => {
  const [b, u] = scaled ? [scaledCount(bottom, layers), scaledCount(top, layers)] : [bottom, top];
  if (b + u > layers)
    throw new LayerloomError('TOO_MANY_LAYERS', {
      layers,
      requested: b + u,
      counts: { bottom: b, top: u },
      ...(layers === paperLayers || scaled
        ? {}
        : { remedy: `lower the counts or use ${optionName('scaled')}` }),
    });
  return {
    found: { by: 'location', bottom: b, top: u, others, norms },
    partOf: (_name, place) => {
      if (isOutside(place, norms)) return others;
      const layer = place.layer as number;
      return layer < b || layer > layers - 1 - u ? 'language' : 'task';
    },
  };
};

const byAnalysis = (
  base: PartitionBase,
  { experts, granularity = 'module', others, norms = 'layer' }: PartitionByAnalysis,
): Rule => {
  const isFree = (place: Place) => isOutside(place, norms);
  const sideOf = byChange(base, experts, granularity, isFree);
  const { language, task } = experts;
  return {
    found: {
      by: 'analysis',
      language: { name: language.name, file: language.file },
      task: { name: task.name, file: task.file },
      granularity,
      others: others ?? null,
      norms,
    },
    partOf: (name, place) => (others !== undefined && isFree(place) ? others : sideOf(name)),
  };
};

const isOutside = ({ layer, role }: Place, norms: 'layer' | 'others'): boolean =>
  layer === undefined || (norms === 'others' && role === 'blockNorm');

const isTrainable = ({ dtype }: TensorReference, { role }: Place): boolean =>
  isFloating(dtype) && role !== 'buffer' && role !== 'tower';

const isLinear = (name: string, { shape }: TensorReference, { layer, role }: Place): boolean =>
  layer !== undefined && role !== 'blockNorm' && shape.length === 2 && name.endsWith('.weight');

const tiedHead = ({ tied, places }: Architecture): { head: string; embedding: string } | undefined => {
  if (tied !== true) return undefined;
  const named = (role: Place['role']) =>
    [...places].find(([name, place]) => place.role === role && name.endsWith('.weight'))?.[0];
  const [head, embedding] = [named('head'), named('embedding')];
  return head === undefined || embedding === undefined ? undefined : { head, embedding };
};

const empty = <Value>(make: () => Value): Record<PartName, Value> => ({
  language: make(),
  task: make(),
  both: make(),
  neither: make(),
});

const check = (parameters: PartitionByLocation | PartitionByAnalysis): void => {
  const { others, norms } = parameters;
  if (others !== undefined && !partNames.includes(others))
    throw invalidParameter('others', others, partNames.join(', '));
  if (norms !== undefined && norms !== 'layer' && norms !== 'others')
    throw invalidParameter('norms', norms, 'layer or others');
  if ('experts' in parameters) return;
  const { bottom, top, scaled } = parameters;
  for (const [name, count] of Object.entries({ bottom, top }))
    if (count !== undefined && (!Number.isInteger(count) || count < 0))
      throw invalidParameter(name, count, 'a whole number of layers, 0 or more');
  if (scaled !== undefined && typeof scaled !== 'boolean')
    throw invalidParameter('scaled', scaled, 'true or false');
};
