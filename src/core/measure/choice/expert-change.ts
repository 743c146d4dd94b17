import * as z from 'zod';
import { LayerloomError } from '../../base/errors/errors.js';
import { readFailed } from '../../base/files/writing.js';
import { familyOfType } from '../../models/architecture/families.js';
import { layerCount, layerNumber } from '../../models/architecture/layer-numbers.js';
import { roleInside } from '../../models/architecture/roles.js';
import { type JsonFault, readJsonFile } from '../../models/checkpoint/files/json-file.js';
import { isLayerMatrix } from '../analysis/columns.js';
import { factsSchema } from '../analysis/vectors-file.js';

export const measuredModules = ['attention', 'feed_forward'] as const;

export type MeasuredModule = (typeof measuredModules)[number];

/** `relative`: ‖δ‖/‖b‖, from `diff`. `mav`: mean MAV of a tensor's rows, from `analyze`. */
export type Measure = 'relative' | 'mav';

export interface MatrixChange {
  readonly layer: number;
  readonly module: MeasuredModule;
  readonly change: number;
}

export interface ExpertChange {
  readonly file: string;
  readonly name: string;
  readonly path: string;
  readonly base: string;
  readonly measure: Measure;
  readonly layers: number;
  readonly matrices: readonly MatrixChange[];
}

const model = z.object({ name: z.string(), path: z.string(), family: z.string(), layers: layerCount });

const tensor = z.object({
  name: z.string(),
  layer: layerNumber.nullable(),
  module: z.string(),
  a: z.object({ shape: z.array(z.int().nonnegative()) }).nullable(),
  state: z.string(),
  difference: z.object({ relative: z.number().nonnegative().nullable() }).nullable(),
});

const comparisonSchema = z.object({ a: model, b: model, tensors: z.array(tensor) });

const compared: readonly string[] = ['equal', 'sameValues', 'differs'];

const failOf = ({
  file,
  reason,
  cause,
  isRead = true,
}: Pick<JsonFault, 'file' | 'reason'> & Partial<JsonFault>): LayerloomError =>
  isRead ? new LayerloomError('MEASUREMENT_INVALID', { file, reason }, { cause }) : readFailed(file, cause);

/**
 * Reads `NAME.json` of `analyze`, or the output of `diff BASE EXPERT --json`.
 *
 * @throws MEASUREMENT_INVALID, READ_FAILED
 */
export const readExpertChange = async (file: string): Promise<ExpertChange> => {
  const found = await readJsonFile(file, {
    schema: z.union([factsSchema, comparisonSchema]),
    what: 'an analysis of an expert, nor a comparison of a base with one',
    fail: failOf,
  });
  const change = 'a' in found ? ofComparison(file, found) : ofAnalysis(file, found);
  if (change.matrices.length === 0) throw failOf({ file, reason: 'has no matrix inside a layer' });
  const beyond = change.matrices.find(({ layer }) => layer >= change.layers);
  if (beyond !== undefined)
    throw failOf({ file, reason: `has a matrix of layer ${beyond.layer}, of ${change.layers} layers` });
  return change;
};

const ofAnalysis = (
  file: string,
  { name, base, expert, family, layers, tensors }: z.output<typeof factsSchema>,
): ExpertChange => ({
  file,
  name,
  path: expert.path,
  base: base.path,
  measure: 'mav',
  layers,
  matrices: Object.values(tensors).flatMap((one) =>
    isLayerMatrix(one) ? matrixOf(family, one.layer, one.module, one.meanMav) : [],
  ),
});

const ofComparison = (file: string, { a, b, tensors }: z.output<typeof comparisonSchema>): ExpertChange => ({
  file,
  name: b.name,
  path: b.path,
  base: a.path,
  measure: 'relative',
  layers: a.layers,
  matrices: tensors.flatMap(({ name, layer, module, a: stored, state, difference }) => {
    if (layer === null || (stored !== null && stored.shape.filter((size) => size > 1).length < 2)) return [];
    if (!compared.includes(state)) throw failOf({ file, reason: `does not compare ${name} (${state})` });
    if (difference !== null && difference.relative === null)
      throw failOf({ file, reason: `has no relative change of ${name}` });
    return matrixOf(a.family, layer, module, difference?.relative ?? 0);
  }),
});

const matrixOf = (family: string, layer: number, name: string, change: number): MatrixChange[] => {
  const role = roleInside(familyOfType(family), name);
  if (role === 'attention') return [{ layer, module: 'attention', change }];
  return role === 'feedForward' ? [{ layer, module: 'feed_forward', change }] : [];
};
