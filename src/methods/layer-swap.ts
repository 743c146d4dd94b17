import * as z from 'zod';
import { LayerloomError } from '../base/errors.js';
import { optionName } from '../base/option-name.js';
import type { Place } from '../model/architecture/architecture.js';
import type { Expression } from '../operations/expression.js';
import { scaledCount } from './framework/counts.js';
import { schemaOf } from './framework/declared.js';
import type { Compiled, Method } from './framework/method.js';
import { layerSwapping } from './framework/papers.js';
import {
  countSchema,
  magnitudeStatistics,
  magnitudeWeights,
  modelSchema,
  normalise,
  repeatableWeights,
  resolvedWeights,
  weightingSchema,
  weightNotes,
} from './framework/parameters.js';
import type { PartName } from './framework/part-names.js';
import type { ModelInput } from './framework/recipe-input.js';
import { PartOfTensor, partitionSchema, type TensorParts } from './framework/tensor-parts.js';

/**
 * Parameters of `layer_swap` (paper, Algorithm 1). The counts' defaults are those of §4.2, for models of 32 layers; together they must not
 * exceed the number of layers.
 */
export interface LayerSwapParameters {
  /** The task expert: gives the middle layers, and the output's side files. */
  task: ModelInput;
  /** The language expert: gives the bottom and top layers. */
  language: ModelInput;
  /** The model that both were fine-tuned from: checked against them, and named in the model card. `weights: 'magnitude'` needs it. */
  base?: ModelInput | undefined;
  /** Layers from the language expert next to the embeddings: a whole number, 0 or more. Default 5 (§4.2). */
  bottom?: number | undefined;
  /** Layers from the language expert next to the head: a whole number, 0 or more. Default 2 (§4.2). */
  top?: number | undefined;
  /** Averaged layers above the bottom ones: a whole number, 0 or more. Default 0. */
  bottomTransition?: number | undefined;
  /** Averaged layers below the top ones: a whole number, 0 or more. Default 0. */
  topTransition?: number | undefined;
  /**
   * Weights of task and language expert where they are averaged, divided by their sum, which must not be 0; or `magnitude`, 1 / mean MAV of each
   * task vector (§5). Default [1, 1].
   */
  weights?: readonly [number, number] | 'magnitude' | undefined;
  /**
   * Tensors outside the layers (embeddings, final norm, head): the average of both experts, or one's own. `lang` is short for `language`. Default
   * `average` (Algorithm 1).
   */
  others?: 'average' | 'task' | 'language' | 'lang' | undefined;
  /** Norms inside a layer: with their `layer`, or as tensors outside the layers (`average`), as Algorithm 1 reads literally. Default `layer`. */
  norms?: 'layer' | 'average' | undefined;
  /** Scale the counts from the paper's 32 layers to those of the models: count · L / 32, to the nearest, half up. Default false. */
  scaled?: boolean | undefined;
  /**
   * Take each tensor from the expert that a partition gives it to, instead of by layers: the path of the
   * `partition.json` that `partition` wrote, or its parts. What both train is averaged by `weights`; what neither
   * trains is the task expert's. Default: by layers.
   */
  partition?: string | TensorParts | undefined;
}

const isMagnitudeOrPair = (weights: 'magnitude' | number[]): weights is 'magnitude' | [number, number] =>
  weights === 'magnitude' || weights.length === 2;

const schema = schemaOf<LayerSwapParameters>()(
  z.strictObject({
    task: modelSchema,
    language: modelSchema,
    base: modelSchema.optional(),
    bottom: countSchema.default(5),
    top: countSchema.default(2),
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
  }),
);

type Parameters = z.output<typeof schema>;
type Counts = Pick<Parameters, 'bottom' | 'top' | 'bottomTransition' | 'topTransition'>;

/** Term order, and the indexes of `Expression`. */
const TASK = 0;
const LANGUAGE = 1;

/**
 * Layer swapping (paper, Algorithm 1): the bottom and top layers from the language expert, the middle from the task
 * expert, the weighted average in the transition layers and outside the layers.
 *
 * For a parameter of layer `l` of `L`, with `b`, `u`, `t_b`, `t_u` for bottom, top and their transitions:
 * - `l < b` or `l > L−1−u`: the language expert's, verbatim
 * - `l > b−1+t_b` and `l < L−u−t_u`: the task expert's, verbatim
 * - otherwise, and outside the layers: (w_task·θ_task + w_lang·θ_lang) / (w_task + w_lang)
 *
 * Erratum: the printed algorithm joins the second condition by "or", under which no layer would be averaged unless the zones
 * overlap; §4.1 and Fig. 1 describe "and", which is what this does. Without transitions the two agree.
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
  models: ({ task, language }) => [
    { role: 'task', model: task },
    { role: 'language', model: language },
  ],
  companions: ({ base }) => (base === undefined ? [] : [{ role: 'base', model: base }]),
  statistics: ({ weights, task, language, base }) =>
    weights === 'magnitude' ? magnitudeStatistics(base, [task, language]) : undefined,
  compile: (parameters, { layers, taskVectors }) => {
    const weights = parameters.weights === 'magnitude' ? magnitudeWeights(taskVectors) : parameters.weights;
    const [task, language] = normalise(weights) as [number, number];
    const average: Expression = {
      kind: 'linear',
      terms: [
        { source: { model: TASK }, weight: task },
        { source: { model: LANGUAGE }, weight: language },
      ],
    };
    const copies = { task: copy(TASK), language: copy(LANGUAGE), average };
    if (parameters.partition !== undefined) {
      checkWithPartition(parameters);
      const parts = new PartOfTensor(parameters.partition);
      const { partition } = parameters;
      return {
        resolved: { partition, ...resolvedWeights(parameters.weights, weights) },
        again: { partition, weights: repeatedWeights(parameters, weights) },
        expressionOf: (_place, tensor) => copies[expertOf[parts.of(tensor)]],
        unused: () => parts.unused(),
      };
    }
    const counts = countsFor(parameters, layers);
    checkCounts(counts, layers);
    return {
      resolved: resolve(parameters, counts, weights),
      again: repeatable(parameters, counts, weights),
      warnings: parameters.scaled ? [] : ofFewLayers(counts, layers),
      expressionOf: (place) => copies[sourceOf(place, parameters, counts, layers)],
    } satisfies Compiled;
  },
  notes: weightNotes,
};

/** Where the tensors of a partition's part are from; what neither trains is the same in both. */
const expertOf: Readonly<Record<PartName, 'task' | 'language' | 'average'>> = {
  language: 'language',
  task: 'task',
  both: 'average',
  neither: 'task',
};

/** @throws LayerloomError INVALID_PARAMETER for parameters of layers beside a partition */
const checkWithPartition = (parameters: Parameters): void => {
  for (const name of byLayers) {
    const value = parameters[name];
    if (value !== schema.shape[name].parse(undefined))
      throw new LayerloomError(
        'INVALID_PARAMETER',
        { parameter: name, value, expected: 'not to be given with a partition, which decides instead' },
        { context: { recipePath: [name] } },
      );
  }
};

const byLayers = ['bottom', 'top', 'bottomTransition', 'topTransition', 'others', 'norms', 'scaled'] as const;

const copy = (index: number): Expression => ({ kind: 'copy', source: { model: index } });

const sourceOf = (
  { layer, role }: Place,
  { others, norms }: Pick<Parameters, 'others' | 'norms'>,
  { bottom, top, bottomTransition, topTransition }: Counts,
  layers: number,
): 'task' | 'language' | 'average' => {
  // The literal reading of Algorithm 1 gives block norms no layer number: they are then outside the layers.
  if (layer === undefined || (norms === 'average' && role === 'blockNorm')) return others;
  if (layer < bottom || layer > layers - 1 - top) return 'language';
  if (layer > bottom - 1 + bottomTransition && layer < layers - top - topTransition) return 'task';
  return 'average';
};

const countsFor = (parameters: Counts & Pick<Parameters, 'scaled'>, layers: number): Counts =>
  parameters.scaled ? scale(parameters, layers) : parameters;

/** Returns where the matrices of each layer are from, layer 0 first. */
export const layerOrigins = (
  parameters: Counts & Pick<Parameters, 'scaled' | 'others' | 'norms'>,
  layers: number,
): ('task' | 'language' | 'average')[] => {
  const counts = countsFor(parameters, layers);
  return Array.from({ length: layers }, (_, layer) =>
    sourceOf({ layer, role: 'attention', module: '' }, parameters, counts, layers),
  );
};

/** Warns where the defaults, which are for 32 layers, take most layers of a smaller model. */
const ofFewLayers = (counts: Counts, layers: number): string[] => {
  const { bottom, top, bottomTransition, topTransition } = counts;
  const areDefaults = bottom === 5 && top === 2 && bottomTransition === 0 && topTransition === 0;
  if (!areDefaults || bottom + top <= layers / 2) return [];
  const scaled = scale(counts, layers);
  return [
    `${bottom + top} of ${layers} layers are the language expert's: ${bottom} and ${top} are the paper's counts for 32 layers; ${optionName('scaled')} (in a file scaled: true) makes them ${scaled.bottom} and ${scaled.top}`,
  ];
};

const scale = ({ bottom, top, bottomTransition, topTransition }: Counts, layers: number): Counts => ({
  bottom: scaledCount(bottom, layers),
  top: scaledCount(top, layers),
  bottomTransition: scaledCount(bottomTransition, layers),
  topTransition: scaledCount(topTransition, layers),
});

const checkCounts = ({ bottom, bottomTransition, topTransition, top }: Counts, layers: number): void => {
  const requested = bottom + bottomTransition + topTransition + top;
  if (requested > layers)
    throw new LayerloomError('TOO_MANY_LAYERS', {
      layers,
      requested,
      counts: { bottom, 'bottom transition': bottomTransition, 'top transition': topTransition, top },
    });
};

const repeatable = (
  { weights, others, norms }: Parameters,
  { bottom, top, bottomTransition, topTransition }: Counts,
  used: readonly number[],
): Record<string, unknown> => ({
  bottom,
  top,
  bottomTransition,
  topTransition,
  weights: repeatedWeights({ weights }, used),
  others,
  norms,
});

const repeatedWeights = ({ weights }: Pick<Parameters, 'weights'>, used: readonly number[]) =>
  weights === 'magnitude' ? repeatableWeights(used) : weights;

const resolve = (
  { weights, others, norms }: Parameters,
  counts: Counts,
  used: readonly number[],
): Record<string, unknown> => ({
  bottom: counts.bottom,
  top: counts.top,
  bottom_transition: counts.bottomTransition,
  top_transition: counts.topTransition,
  ...resolvedWeights(weights, used),
  others,
  norms,
});
