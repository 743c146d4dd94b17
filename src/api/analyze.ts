import { LayerloomError } from '../core/base/errors/errors.js';
import { invalidParameter } from '../core/base/errors/invalid-parameter.js';
import { itemAt } from '../core/base/errors/lookup.js';
import { requireOut } from '../core/base/files/require-out.js';
import type { ReduceOptions } from '../core/engine/compute/measures/reduce.js';
import { checkApartFrom } from '../core/engine/output/apart.js';
import { rolesOf, withRoles } from '../core/measure/analysis/advice/expert-roles.js';
import {
  checkThresholdNames,
  readThresholds,
  thresholdsOf,
} from '../core/measure/analysis/advice/thresholds.js';
import { checkTopShare } from '../core/measure/analysis/advice/top-overlap.js';
import type { MavVectors } from '../core/measure/analysis/analysis.js';
import type { Overlap } from '../core/measure/analysis/overlap.js';
import { computeTaskVectors } from '../core/measure/analysis/task-vectors.js';
import { readVectors } from '../core/measure/analysis/vectors-file.js';
import { paperCounts } from '../core/methods/framework/counts.js';
import { bringModels } from '../core/models/sources/bring-models.js';
import type { Rows } from '../core/tensor/rows.js';
import { absoluteModel } from '../study/experiment/file/blocks/models.js';
import type { AnalysisResult } from '../study/pages/analysis/write-analysis.js';

/** Experts of `analyze` and how they are measured. */
export interface AnalyzeParameters {
  /** Model that the experts were fine-tuned from. Required without `from`, not allowed with it. */
  base?: string | undefined;
  /** Experts, each a path, `org/name`, or `NAME=PATH`. */
  experts?: readonly string[] | undefined;
  /** Files `NAME.mav.safetensors` of earlier analyses, read instead of weights. */
  from?: readonly string[] | undefined;
  /** Whether rows are input or output features; default `input`, as in the paper's tables. */
  rows?: Rows | undefined;
  /**
   * Rows with a larger MAV count as changed; default 1e-5, as in the paper's Fig. 2 for a math expert.
   * `auto`: the value that a third of all experts' changed rows in layers' matrices exceed.
   */
  threshold?: number | 'auto' | undefined;
  thresholds?: Readonly<Record<string, number>> | undefined;
  /** Number of first layers in `shares` and the advice; default 5, as in a layer swap. */
  bottom?: number | undefined;
  /** Number of last layers in `shares` and the advice; default 2. */
  top?: number | undefined;
  /** Task experts in a layer swap: names in `experts`, or more models. The advice uses these roles. */
  task?: readonly string[] | undefined;
  /** Language experts, in the same form. */
  language?: readonly string[] | undefined;
  /**
   * For each matrix in layers, take this share of each expert's rows, those with the largest MAV, and count
   * the rows that two experts have in common. Default: not counted.
   */
  topShare?: number | undefined;
  /** Published tables (CSV) to draw beside the experts. */
  compare?: readonly string[] | undefined;
  /** Stack, if several: `encoder`, `decoder`, or the name prefix before layer numbers. Not with `from`. */
  stack?: string | undefined;
  /** Directory with `config.json` and tokenizer, or that file, for models without them. Not with `from`. */
  config?: string | undefined;
  /** Exclude rows with NaN or infinity instead of throwing NON_FINITE; default false. */
  allowNonFinite?: boolean | undefined;
}

/** Options of `analyze` that do not change figures. */
export interface AnalyzeOptions extends ReduceOptions {
  /** Directory for the files, created if needed. */
  out: string;
}

/**
 * Analyses which layers and matrices fine-tuning changed (paper §3.2), and writes tables, pictures and a
 * page. Computes each row's mean absolute value (MAV) in the task vectors of all 1-D and 2-D parameters, the
 * fractions of rows above a threshold, and each pair's overlap.
 *
 * @throws LayerloomError INVALID_PARAMETER, NON_FINITE, VECTORS_INVALID, NAME_CLASH, OUTPUT_INVALID,
 * WRITE_FAILED, INTERRUPTED, the codes of a checkpoint and of an incompatibility
 */
export const analyze = async (
  parameters: AnalyzeParameters,
  options: AnalyzeOptions,
): Promise<AnalysisResult> => {
  const started = performance.now();
  const { base, from = [], rows = 'input' } = parameters;
  const { bottom = paperCounts.bottom, top = paperCounts.top } = parameters;
  const thresholds = readThresholds(parameters.threshold, parameters.thresholds);
  if (rows !== 'input' && rows !== 'output') throw invalidParameter('rows', rows, 'input or output');
  for (const [name, count] of Object.entries({ bottom, top }))
    if (!Number.isInteger(count) || count < 0)
      throw invalidParameter(name, count, 'a whole number of layers, 0 or more');
  const { experts: given = [], task, language } = parameters;
  if (from.length > 0 && given.length > 0)
    throw invalidParameter('from', from, 'either saved vectors or experts, not both');
  const { experts, rolesIn } =
    from.length > 0
      ? { experts: [], rolesIn: (names: readonly string[]) => rolesOf(names, { task, language }) }
      : await withRoles(given, { task, language });
  checkTopShare(parameters.topShare, from.length + experts.length);
  if (from.length + experts.length === 0) throw invalidParameter('experts', [], 'at least one expert');
  const { stack, config } = parameters;
  const recorded = Object.entries({ base, rows: parameters.rows, stack, config }).find(
    ([, value]) => value !== undefined,
  );
  if (from.length > 0 && recorded !== undefined)
    throw invalidParameter(...recorded, 'no value together with saved vectors, which record it');
  const reference = from.length > 0 ? '' : requireBase(base);
  requireOut(options);
  const { prepareDirectory, readPublishedTable, writeAnalysis } = await import(
    '../study/pages/analysis/write-analysis.js'
  );
  const published = await Promise.all((parameters.compare ?? []).map(readPublishedTable));
  const fetched = await bringModels(from.length > 0 ? [] : [reference, ...experts], options);
  // Checks before reading: a refused call leaves no directory, and an unusable directory costs no reading.
  const beforeReading = async (names: readonly string[]) => {
    checkThresholdNames(thresholds, names);
    rolesIn(names);
    await checkApartFrom(options.out, from.length > 0 ? [] : [reference, ...experts]);
    await prepareDirectory(options.out);
  };
  const found =
    from.length > 0
      ? await readAll(from)
      : await computeTaskVectors(reference, experts, rows, {
          ...options,
          allowNonFinite: parameters.allowNonFinite,
          stack,
          config,
          inLayers: true,
          checkBase: true,
          beforeReading,
          thresholdsOfPairs: (vectors) => thresholdsOf(thresholds, vectors),
        });
  const names = found.experts.map(({ name }) => name);
  if (from.length > 0) await beforeReading(names);
  const written = await writeAnalysis(
    found.experts,
    found.overlaps,
    {
      ...{ bottom, top, published },
      thresholds: thresholdsOf(thresholds, found.experts),
      roles: rolesIn(names),
      topShare: parameters.topShare,
      swaps: {
        stack,
        config: config === undefined ? undefined : await absoluteModel(process.cwd(), config),
        allowNonFinite: parameters.allowNonFinite,
      },
    },
    options.out,
  );
  return {
    ...written,
    bytesRead: found.bytesRead,
    seconds: (performance.now() - started) / 1000,
    warnings: [...fetched, ...found.warnings],
  };
};

const requireBase = (base: string | undefined): string => {
  if (base === undefined)
    throw invalidParameter('base', null, 'the model that the experts were fine-tuned from');
  return base;
};

/** @throws LayerloomError NAME_CLASH, VECTORS_INVALID, the codes of `readVectors` */
const readAll = async (
  files: readonly string[],
): Promise<{ experts: MavVectors[]; overlaps: Overlap[]; bytesRead: number; warnings: string[] }> => {
  const experts = await Promise.all(files.map(readVectors));
  const first = itemAt(experts, 0);
  const names = new Map<string, string>();
  for (const [index, expert] of experts.entries()) {
    const path = itemAt(files, index);
    const twin = names.get(expert.name);
    if (twin !== undefined)
      throw new LayerloomError('NAME_CLASH', { name: expert.name, paths: [twin, path] });
    names.set(expert.name, path);
    const difference = differenceOf(first, expert);
    if (difference !== undefined)
      throw new LayerloomError('VECTORS_INVALID', {
        file: path,
        reason: `has ${difference} than ${itemAt(files, 0)}`,
      });
  }
  return {
    experts,
    overlaps: [],
    bytesRead: 0,
    warnings:
      experts.length > 1 ? ['overlaps of experts are omitted, because computing them needs the weights'] : [],
  };
};

/** Returns why two analyses cannot share a page; undefined if they can. */
const differenceOf = (a: MavVectors, b: MavVectors): string | undefined => {
  if (a.rows !== b.rows) return 'rows of another kind (input or output)';
  const baseOf = ({ base }: MavVectors) => base.files.map(({ bytes, header }) => `${bytes} ${header}`).join();
  return baseOf(a) === baseOf(b) ? undefined : 'another base';
};
