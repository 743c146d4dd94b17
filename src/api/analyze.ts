import { defaultThreshold, type MavVectors } from '../analysis/analysis.js';
import type { Overlap } from '../analysis/overlap.js';
import { computeTaskVectors } from '../analysis/task-vectors.js';
import { readVectors } from '../analysis/vectors-file.js';
import type { ReduceOptions } from '../engine/compute/reduce.js';
import { LayerloomError } from '../errors.js';
import {
  type AnalysisResult,
  prepareDirectory,
  readPublishedTable,
  writeAnalysis,
} from '../report/write-analysis.js';
import type { Rows } from '../tensor/rows.js';
import { requireOut } from './require-out.js';

export interface AnalyzeParameters {
  /** The model that the experts were fine-tuned from. Not needed with `from`. */
  base?: string | undefined;
  /** Experts: a path, `org/name`, or `NAME=PATH`. */
  experts?: readonly string[] | undefined;
  /** `NAME.mav.safetensors` of earlier analyses, instead of weights: at any threshold, exactly. */
  from?: readonly string[] | undefined;
  /** Default `input`, as in the paper's tables. */
  rows?: Rows | undefined;
  /** Rows whose MAV is above it count as changed. Default 1e-5. */
  threshold?: number | undefined;
  /** How many of the first and last layers are summed up in the advice. Default 5 and 2, the swap's own. */
  bottom?: number | undefined;
  top?: number | undefined;
  /** Published tables (CSV) to draw beside the experts. */
  compare?: readonly string[] | undefined;
  /** Leave rows with a NaN or an infinity out instead of refusing them. */
  allowNonFinite?: boolean | undefined;
}

export interface AnalyzeOptions extends ReduceOptions {
  /** Directory for the files; made if need be. */
  out: string;
}

const invalid = (parameter: string, value: unknown, expected: string) =>
  new LayerloomError('INVALID_PARAMETER', { parameter, value, expected });

/**
 * Shows where fine-tuning changed the model (paper §3.2): the mean absolute value of the task vector, row by row, for every 1-D and 2-D
 * parameter; fractions of rows above a threshold; pictures; and how the changes of several experts overlap.
 *
 * @throws LayerloomError INVALID_PARAMETER, NON_FINITE, VECTORS_INVALID, WRITE_FAILED, INTERRUPTED, the codes of a checkpoint and of an
 *   incompatibility
 */
export const analyze = async (
  parameters: AnalyzeParameters,
  options: AnalyzeOptions,
): Promise<AnalysisResult> => {
  const started = performance.now();
  const {
    base,
    experts = [],
    from = [],
    rows = 'input',
    threshold = defaultThreshold,
    bottom = 5,
    top = 2,
  } = parameters;
  if (!(threshold >= 0 && Number.isFinite(threshold)))
    throw invalid('threshold', threshold, 'a number, 0 or more');
  if (rows !== 'input' && rows !== 'output') throw invalid('rows', rows, 'input or output');
  for (const [name, count] of Object.entries({ bottom, top }))
    if (!Number.isInteger(count) || count < 0)
      throw invalid(name, count, 'a whole number of layers, 0 or more');
  if (from.length > 0 && experts.length > 0)
    throw invalid('from', from, 'either saved vectors or experts, not both');
  if (from.length + experts.length === 0) throw invalid('experts', [], 'at least one expert');
  if (from.length > 0 && (base !== undefined || parameters.rows !== undefined))
    throw invalid(
      base === undefined ? 'rows' : 'base',
      base ?? rows,
      'nothing beside saved vectors, which say it',
    );
  const reference = from.length > 0 ? '' : requireBase(base);
  requireOut(options);
  const published = await Promise.all((parameters.compare ?? []).map(readPublishedTable));
  await prepareDirectory(options.out);
  const found =
    from.length > 0
      ? await readAll(from)
      : await computeTaskVectors(
          reference,
          experts,
          { rows, threshold },
          {
            ...options,
            allowNonFinite: parameters.allowNonFinite,
          },
        );
  const written = await writeAnalysis(
    found.experts,
    found.overlaps,
    { threshold, bottom, top, published },
    options.out,
  );
  return {
    ...written,
    bytesRead: found.bytesRead,
    seconds: (performance.now() - started) / 1000,
    warnings: found.warnings,
  };
};

const requireBase = (base: string | undefined): string => {
  if (base === undefined) throw invalid('base', null, 'the model that the experts were fine-tuned from');
  return base;
};

const readAll = async (
  files: readonly string[],
): Promise<{ experts: MavVectors[]; overlaps: Overlap[]; bytesRead: number; warnings: string[] }> => {
  const experts = await Promise.all(files.map(readVectors));
  const names = new Map<string, string>();
  for (const [index, { name }] of experts.entries()) {
    const path = files[index] ?? '';
    const twin = names.get(name);
    if (twin !== undefined) throw new LayerloomError('NAME_CLASH', { name, paths: [twin, path] });
    names.set(name, path);
    const differs = differenceOf(experts[0], experts[index]);
    if (differs !== undefined)
      throw new LayerloomError('VECTORS_INVALID', { file: path, reason: `has ${differs} than ${files[0]}` });
  }
  return {
    experts,
    overlaps: [],
    bytesRead: 0,
    warnings: experts.length > 1 ? ['overlaps of experts need their weights and are left out'] : [],
  };
};

/** What keeps two analyses from standing on one page. */
const differenceOf = (a: MavVectors | undefined, b: MavVectors | undefined): string | undefined => {
  if (a === undefined || b === undefined) return undefined;
  if (a.rows !== b.rows) return 'other rows';
  const baseOf = ({ base }: MavVectors) => base.files.map(({ bytes, header }) => `${bytes} ${header}`).join();
  return baseOf(a) === baseOf(b) ? undefined : 'another base';
};
