import * as z from 'zod';
import { LayerloomError } from '../../base/errors/errors.js';
import type { Place } from '../../models/architecture/architecture.js';
import { encodeKept } from '../../tensor/kept.js';
import { paperCounts } from '../framework/counts.js';
import { schemaOf } from '../framework/declaration/declared.js';
import type { Compiled, Method, TaskVectorStatistics } from '../framework/declaration/method.js';
import { layerSwapping } from '../framework/declaration/papers.js';
import { countSchema, modelSchema } from '../framework/declaration/parameters.js';
import type { ModelInput } from '../framework/declaration/recipe-input.js';
import { type Side, sides } from '../framework/part-names.js';
import { filtersSchema, TensorFilter } from '../framework/tensors/tensor-filter.js';
import { PartOfTensor, partitionSchema, type TensorParts } from '../framework/tensors/tensor-parts.js';
import type { Expression } from '../operations/expression.js';
import { decimals } from '../operations/program/words.js';
import { keptOf } from './revert-kept.js';
import { thresholdThatKeeps, type WeighedRows } from './threshold-that-keeps.js';

/**
 * Parameters of `revert` (paper §3.3). Reverts by location (`bottom`, `top`, `keep`, `others`, `norms`), by
 * rows (`threshold` or `targetKept`, and `rows`), or by a partition (`partition`, `side`). `modules` limits
 * the first two.
 */
export interface RevertParameters {
  /** The expert's base. */
  base: ModelInput;
  /** The expert to revert in part. */
  model: ModelInput;
  /** Number of first layers. Default 5. */
  bottom?: number | undefined;
  /** Number of last layers. Default 2. */
  top?: number | undefined;
  /**
   * Layers that keep the expert's weights: `middle` for a task expert (§3.3), `top_bottom` for a language
   * expert (train-then-revert in the follow-up paper). `top-bottom` equals `top_bottom`. Default `middle`.
   */
  keep?: 'middle' | 'top_bottom' | 'top-bottom' | undefined;
  /** Keep or revert tensors outside the layers (embeddings, final norm, head). Default `keep`. */
  others?: 'keep' | 'revert' | undefined;
  /** Treat norms in layers like their `layer`, or like `others` (`average`). Default `layer`. */
  norms?: 'layer' | 'average' | undefined;
  /** Revert rows with a lower MAV, in the units of the weights. */
  threshold?: number | undefined;
  /** Revert rows below the largest threshold that keeps this share of parameters: above 0, at most 1. */
  targetKept?: number | undefined;
  /** Rows are input features (stored columns) or output features. Default `input`, as in the paper. */
  rows?: 'input' | 'output' | undefined;
  /**
   * Revert only these tensors (§3.3, "specific parameter tensors"): parts of names or, with `*`, patterns; a
   * list, or text with commas. `targetKept` is then a share of their parameters. Default: all tensors.
   */
  modules?: string | readonly string[] | undefined;
  /** Keep only tensors that a partition lets `side` train: the path of `partition.json`, or its parts. */
  partition?: string | TensorParts | undefined;
  /** The side that the expert keeps; required with `partition`. */
  side?: 'language' | 'task' | undefined;
}

const byRows = (parameters: { threshold?: unknown; targetKept?: unknown }): boolean =>
  parameters.threshold !== undefined || parameters.targetKept !== undefined;

const byLocation = (parameters: {
  bottom?: unknown;
  top?: unknown;
  keep?: unknown;
  others?: unknown;
  norms?: unknown;
}): boolean =>
  [parameters.bottom, parameters.top, parameters.keep, parameters.others, parameters.norms].some(
    (given) => given !== undefined,
  );

const schema = schemaOf<RevertParameters>()(
  z
    .strictObject({
      base: modelSchema,
      model: modelSchema,
      bottom: countSchema.optional(),
      top: countSchema.optional(),
      keep: z
        .enum(['middle', 'top_bottom', 'top-bottom'], { error: 'middle or top_bottom' })
        .transform((value) => (value === 'top-bottom' ? 'top_bottom' : value))
        .optional(),
      others: z.enum(['keep', 'revert'], { error: 'keep or revert' }).optional(),
      norms: z.enum(['layer', 'average'], { error: 'layer or average' }).optional(),
      threshold: z
        .number({ error: 'a number, 0 or more' })
        .nonnegative({ error: 'a number, 0 or more' })
        .optional(),
      targetKept: z
        .number({ error: 'a share above 0, at most 1' })
        .positive({ error: 'a share above 0, at most 1' })
        .max(1, { error: 'a share above 0, at most 1' })
        .optional(),
      rows: z.enum(['input', 'output'], { error: 'input or output' }).optional(),
      modules: filtersSchema.optional(),
      partition: partitionSchema.optional(),
      side: z.enum(sides, { error: sides.join(' or ') }).optional(),
    })
    .refine(({ threshold, targetKept }) => threshold === undefined || targetKept === undefined, {
      path: ['targetKept'],
      error: 'either a threshold or a share to keep, not both',
    })
    .refine((parameters) => !(byRows(parameters) && byLocation(parameters)), {
      path: ['threshold'],
      error: 'no threshold where layers are reverted by location: revert in two steps',
    })
    .refine((parameters) => byRows(parameters) || parameters.rows === undefined, {
      path: ['rows'],
      error: 'rows only with a threshold or a share to keep',
    })
    .refine((parameters) => (parameters.partition === undefined) === (parameters.side === undefined), {
      path: ['side'],
      error: 'language or task, together with a partition',
    })
    .refine(
      (parameters) =>
        parameters.partition === undefined ||
        !(byRows(parameters) || byLocation(parameters) || parameters.modules !== undefined),
      { path: ['partition'], error: 'a partition alone: it says of every tensor whether it stays' },
    ),
);

type Parameters = z.output<typeof schema>;

const EXPERT = 0;
const BASE = 1;

/** Reverts parts of an expert to its base (paper §3.3; docs/analysis.md): layers, rows, or tensors. */
export const revert: Method<Parameters> = {
  name: 'revert',
  title: 'Revert',
  citations: [layerSwapping],
  schema,
  tags: ['revert'],
  takes: { base: 'required', models: 'one' },
  keepsCard: false,
  needsLayers: true,
  models: ({ model, base }) => [
    { role: 'expert', model, path: ['model'] },
    { role: 'base', model: base },
  ],
  companions: () => [],
  statistics: (parameters) =>
    byRows(parameters)
      ? {
          base: parameters.base,
          experts: [parameters.model],
          what: { kind: 'rows', rows: parameters.rows ?? 'input', eachRow: true },
        }
      : undefined,
  compile: (parameters, { layers, taskVectors: [statistics] }) => {
    const { partition, side } = parameters;
    if (partition !== undefined && side !== undefined) return compileByPartition(partition, side);
    return statistics === undefined
      ? compileByLocation(parameters, layers)
      : compileByRows(parameters, statistics);
  },
  notes: ({ recipe }) =>
    'target_kept' in recipe
      ? [
          `threshold ${decimals(Number(recipe['threshold']))} keeps a share of at least ${String(recipe['target_kept'])} of the parameters`,
        ]
      : [],
  report: (plan) => ({ kept: keptOf(plan) }),
};

const copy = (model: number): Expression => ({ kind: 'copy', source: { model } });

const compileByLocation = (
  {
    bottom = paperCounts.bottom,
    top = paperCounts.top,
    keep = 'middle',
    others = 'keep',
    norms = 'layer',
    modules,
  }: Parameters,
  layers: number,
): Compiled => {
  if (bottom + top > layers)
    throw new LayerloomError(
      'TOO_MANY_LAYERS',
      { layers, requested: bottom + top, counts: { bottom, top } },
      { context: { recipePath: ['bottom'] } },
    );
  const isBack = ({ layer, role }: Place): boolean =>
    layer === undefined || (norms === 'average' && role === 'blockNorm')
      ? others === 'revert'
      : (layer < bottom || layer > layers - 1 - top) === (keep === 'middle');
  const filter = new TensorFilter(modules, ['modules']);
  const used = { bottom, top, keep, others, norms, ...(modules === undefined ? {} : { modules }) };
  return {
    resolved: used,
    again: used,
    expressionOf: (place, tensor) => copy(filter.matches(tensor) && isBack(place) ? BASE : EXPERT),
    unused: () => filter.unused(),
  };
};

const compileByPartition = (partition: string | TensorParts, side: Side): Compiled => {
  const parts = new PartOfTensor(partition);
  const isTrained = (tensor: string): boolean => {
    const part = parts.of(tensor);
    return part === side || part === 'both';
  };
  return {
    resolved: { partition, side },
    again: { partition, side },
    expressionOf: (_place, tensor) => copy(isTrained(tensor) ? EXPERT : BASE),
    unused: () => parts.unused(),
  };
};

const compileByRows = (parameters: Parameters, statistics: TaskVectorStatistics): Compiled => {
  const { rows, tensors, vectors } = statistics;
  const filter = new TensorFilter(parameters.modules, ['modules']);
  const threshold =
    parameters.threshold ?? thresholdThatKeeps(parameters.targetKept ?? 1, weighedRows(statistics, filter));
  const modules = parameters.modules === undefined ? {} : { modules: parameters.modules };
  return {
    resolved: {
      threshold,
      rows,
      ...(parameters.targetKept === undefined ? {} : { target_kept: parameters.targetKept }),
      ...modules,
    },
    again: { threshold, rows, ...modules },
    expressionOf: (_place, tensor) => {
      const vector = vectors.get(tensor);
      // Tensors without rows (integers, or three dimensions) keep the expert's weights.
      if (!filter.matches(tensor) || vector === undefined) return copy(EXPERT);
      const isRow = tensors[tensor]?.rows === 1 && vector.length === 1;
      const kept = Uint8Array.from(vector, (mav) => (mav < threshold ? 0 : 1));
      if (isRow) return copy(kept[0] === 1 ? EXPERT : BASE);
      const count = kept.reduce((total, keeps) => total + keeps, 0);
      if (count === 0 || count === kept.length) return copy(count === 0 ? BASE : EXPERT);
      return {
        kind: 'rowSelect',
        source: { model: EXPERT },
        base: { model: BASE },
        rows,
        kept: encodeKept(kept),
      };
    },
    unused: () => filter.unused(),
  };
};

const weighedRows = ({ tensors, vectors }: TaskVectorStatistics, filter: TensorFilter): WeighedRows[] =>
  [...vectors].flatMap(([name, vector]) =>
    filter.matches(name) ? [{ vector, parameters: tensors[name]?.parametersPerRow ?? 0 }] : [],
  );
