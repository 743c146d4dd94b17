import * as z from 'zod';
import { LayerloomError } from '../../base/errors/errors.js';
import { valueAt } from '../../base/errors/lookup.js';
import { optionName } from '../../base/errors/option-name.js';
import type { Place } from '../../models/architecture/architecture.js';
import { paperCounts } from '../framework/counts.js';
import { schemaOf } from '../framework/declaration/declared.js';
import type { Compiled, Method } from '../framework/declaration/method.js';
import { layerSwapping } from '../framework/declaration/papers.js';
import {
  countSchema,
  magnitudeStatistics,
  magnitudeWeights,
  modelSchema,
  normalise,
  resolvedWeights,
  weightingSchema,
  weightNotes,
} from '../framework/declaration/parameters.js';
import type { ModelInput } from '../framework/declaration/recipe-input.js';
import { type LayerSet, layerSetSchema } from '../framework/layer-set.js';
import type { PartName } from '../framework/part-names.js';
import { divide, type PartParameters, partSchema, type Share } from '../framework/parts.js';
import { PartOfTensor, partitionSchema, type TensorParts } from '../framework/tensors/tensor-parts.js';
import type { Expression } from '../operations/expression.js';
import { checkCounts, countsFor, ofFewLayers } from './swap-counts.js';
import { partsOf, positionsOf, swapModels, takesFromBase } from './swap-parts.js';
import { repeatable, repeatedWeights, resolve } from './swap-record.js';

/**
 * Parameters of `layer_swap` (paper, Algorithm 1). Default counts are §4.2's for 32 layers; their sum must
 * not exceed the number of layers. Alternatives: `langLayers` and `baseLayers` name any layers; `parts` name
 * any layers and modules of any models.
 */
export interface LayerSwapParameters {
  /** The task expert: gives all remaining layers and the output's side files. */
  task: ModelInput;
  /** The language expert: gives the bottom and top layers. */
  language: ModelInput;
  /**
   * The common base: checked and named in the card, merged only by `baseLayers` and parts. Required for these
   * and for `weights: 'magnitude'`.
   */
  base?: ModelInput | undefined;
  /** Layers from the language expert next to the embeddings. Default 5 (§4.2). */
  bottom?: number | undefined;
  /** Layers from the language expert next to the head. Default 2 (§4.2). */
  top?: number | undefined;
  /** Averaged layers above the bottom layers. Default 0. */
  bottomTransition?: number | undefined;
  /** Averaged layers below the top layers. Default 0. */
  topTransition?: number | undefined;
  /** Weights of task and language expert in averages; `magnitude`: 1 / mean MAV (§5). Default [1, 1]. */
  weights?: readonly [number, number] | 'magnitude' | undefined;
  /**
   * Source of tensors outside the layers; `lang` is short for `language`. Default `average` (Algorithm 1).
   */
  others?: 'average' | 'task' | 'language' | 'lang' | undefined;
  /** Source of norms: their `layer`, or as tensors outside (`average`, Algorithm 1). Default `layer`. */
  norms?: 'layer' | 'average' | undefined;
  /** Scale the counts from 32 layers to the model's: count·L/32, rounded half up. Default false. */
  scaled?: boolean | undefined;
  /**
   * Assigns tensors by a partition, not by layers: the path of a `partition.json`, or its parts. Tensors that
   * both experts trained are averaged by `weights`; untrained ones come from the task expert.
   */
  partition?: string | TensorParts | undefined;
  /** Layers from the language expert, instead of `bottom` and `top`: `0-4,30,31`, a number, or a list. */
  langLayers?: LayerSet | undefined;
  /** Layers from the base. Default: none. */
  baseLayers?: LayerSet | undefined;
  /**
   * Replaces all other settings of layers. Each tensor must be in exactly one part. `task`, `language` and
   * `base` mean the recipe's models; a part may also name another model.
   */
  parts?: readonly PartParameters[] | undefined;
}

/** Parameters of a swap whose parts name all models. */
export interface SwapOfParts {
  /** Gives names, dtypes and side files; default: the model of the part `rest`, or of the first part. */
  task?: ModelInput | undefined;
  language?: ModelInput | undefined;
  base?: ModelInput | undefined;
  parts: readonly PartParameters[];
}

type AnySwap = Omit<LayerSwapParameters, 'task' | 'language'> & Pick<SwapOfParts, 'task' | 'language'>;

const isMagnitudeOrPair = (weights: 'magnitude' | number[]): weights is 'magnitude' | [number, number] =>
  weights === 'magnitude' || weights.length === 2;

const schema = schemaOf<AnySwap>()(
  z
    .strictObject({
      task: modelSchema.optional(),
      language: modelSchema.optional(),
      base: modelSchema.optional(),
      bottom: countSchema.default(paperCounts.bottom),
      top: countSchema.default(paperCounts.top),
      bottomTransition: countSchema.default(0),
      topTransition: countSchema.default(0),
      weights: weightingSchema
        .refine(isMagnitudeOrPair, { error: 'two weights, of task and language' })
        .default([1, 1]),
      others: z
        .enum(['average', 'task', 'language', 'lang'], { error: 'average, task or language' })
        .transform((value) => (value === 'lang' ? 'language' : value))
        .default('average'),
      norms: z.enum(['layer', 'average'], { error: 'layer or average' }).default('layer'),
      scaled: z.boolean({ error: 'true or false' }).default(false),
      partition: partitionSchema.optional(),
      langLayers: layerSetSchema.optional(),
      baseLayers: layerSetSchema.optional(),
      parts: z
        .array(partSchema, { error: 'a list of parts, each with its model, layers and modules' })
        .min(1, { error: 'at least one part' })
        .optional(),
    })
    .superRefine(({ task, language, parts }, { addIssue }) => {
      if (parts !== undefined) return;
      const missing = task === undefined ? 'task' : language === undefined ? 'language' : undefined;
      if (missing !== undefined)
        addIssue({
          code: 'custom',
          path: [missing],
          message: 'a model: a directory, a file of weights, org/name, or a recipe with its method',
        });
    }),
);

type Parameters = z.output<typeof schema>;

// Parameters that `parts`, `partition` or lists of layers replace.
const counted = ['bottom', 'top', 'bottomTransition', 'topTransition', 'scaled'] as const;
const allButPartition = [...counted, 'others', 'norms', 'langLayers', 'baseLayers', 'parts'] as const;
const allButParts = [...counted, 'others', 'norms', 'langLayers', 'baseLayers', 'weights'] as const;

/**
 * Layer swapping (paper, Algorithm 1; see docs/method.md for an erratum). Bottom and top layers come from the
 * language expert, middle layers from the task expert; transition layers and tensors outside the layers are
 * weighted averages.
 */
export const layerSwap: Method<Parameters> = {
  name: 'layer_swap',
  title: 'Layer swap',
  citations: [layerSwapping],
  schema,
  tags: ['layer-swap'],
  takes: { base: 'optional', models: 'pair' },
  keepsCard: false,
  needsLayers: true,
  required: [['task', 'language'], ['parts']],
  needsBase: takesFromBase,
  idle: ({ partition, parts, langLayers }) => {
    if (partition !== undefined) return allButPartition;
    if (parts !== undefined) return allButParts;
    return langLayers === undefined ? [] : counted;
  },
  models: swapModels,
  companions: (parameters) =>
    parameters.base === undefined || swapModels(parameters).some(({ role }) => role === 'base')
      ? []
      : [{ role: 'base', model: parameters.base }],
  statistics: ({ weights, task, language, base }) =>
    weights === 'magnitude' && task !== undefined && language !== undefined
      ? magnitudeStatistics(base, [task, language])
      : undefined,
  compile: (parameters, { layers, taskVectors, models }) => {
    const weights = parameters.weights === 'magnitude' ? magnitudeWeights(taskVectors) : parameters.weights;
    const [task, language] = normalise(weights) as [number, number];
    const average: Share[] = [
      { of: 'task', weight: task },
      { of: 'language', weight: language },
    ];
    const position = positionsOf(parameters);
    if (parameters.partition !== undefined) {
      refuseBeside(parameters, 'a partition', allButPartition);
      const expressions = {
        task: expressionOf([{ of: 'task', weight: 1 }], position),
        language: expressionOf([{ of: 'language', weight: 1 }], position),
        average: expressionOf(average, position),
      };
      const parts = new PartOfTensor(parameters.partition);
      const { partition } = parameters;
      return {
        resolved: { partition, ...resolvedWeights(parameters.weights, weights) },
        again: { partition, weights: repeatedWeights(parameters, weights) },
        expressionOf: (_place, tensor) => expressions[expertOf[parts.of(tensor)]],
        unused: () => parts.unused(),
      };
    }
    if (parameters.parts !== undefined) refuseBeside(parameters, 'parts', allButParts);
    if (parameters.langLayers !== undefined) refuseBeside(parameters, optionName('langLayers'), counted);
    const counts = countsFor(parameters, layers);
    const byCounts = parameters.parts === undefined && parameters.langLayers === undefined;
    if (byCounts) checkCounts(counts, layers);
    const parts = partsOf(parameters, counts, layers, average);
    const placeOf = parameters.norms === 'average' ? outsideIfNorm : (place: Place) => place;
    const places = [...(models[0]?.places.values() ?? [])];
    const partAt = divide(parts, layers, places.map(placeOf));
    const expressions = new Map(parts.map((part) => [part, expressionOf(part.shares, position)]));
    const described = { parameters, counts, used: weights, parts, models, position };
    return {
      resolved: resolve(described),
      again: repeatable(described),
      warnings: byCounts && !parameters.scaled ? ofFewLayers(counts, layers) : [],
      expressionOf: (place) => valueAt(expressions, partAt(placeOf(place))),
    } satisfies Compiled;
  },
  notes: weightNotes,
};

const expressionOf = (shares: readonly Share[], position: (of: ModelInput) => number): Expression => {
  const terms = shares.map(({ of, weight }) => ({ source: { model: position(of) }, weight }));
  const [term, ...others] = terms;
  return term !== undefined && others.length === 0
    ? { kind: 'copy', source: term.source }
    : { kind: 'linear', terms };
};

/** Treats norms in layers as outside the layers: Algorithm 1, read literally, gives them no layer number. */
const outsideIfNorm = (place: Place): Place =>
  place.role === 'blockNorm' ? { ...place, layer: undefined } : place;

/** The expert that gives each part. Tensors that neither trained are equal in both. */
const expertOf: Readonly<Record<PartName, 'task' | 'language' | 'average'>> = {
  language: 'language',
  task: 'task',
  both: 'average',
  neither: 'task',
};

/** @throws INVALID_PARAMETER for a parameter that another one replaces */
const refuseBeside = (
  parameters: Parameters,
  decides: string,
  names: readonly (keyof Parameters)[],
): void => {
  for (const name of names) {
    const value = parameters[name];
    if (JSON.stringify(value) !== JSON.stringify(schema.shape[name].parse(undefined)))
      throw new LayerloomError(
        'INVALID_PARAMETER',
        {
          parameter: name,
          value,
          expected: `not to be given with ${decides}, which decides instead`,
        },
        { context: { recipePath: [name] } },
      );
  }
};
