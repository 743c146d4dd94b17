import { itemAt } from '../../base/errors/lookup.js';
import { bitsOf } from '../../tensor/dtype.js';
import type { TensorPiece, TensorReference } from '../../tensor/reference.js';
import type { CheckpointIndex } from '../checkpoint/checkpoint.js';
import { type ExpertNames, expertNamesOf, fusedParameter, matricesOf, nameInFiles } from './family.js';

type Tensors = CheckpointIndex['tensors'];

/**
 * Returns the checkpoint with separate experts, so that both layouts give equal models: splits fused
 * parameters into matrices named as in the family's files. Experts stored as [in, out] or quantised stay
 * fused.
 */
export const separated = (checkpoint: CheckpointIndex): CheckpointIndex => {
  const { tensors: stored, fusedExperts } = checkpoint;
  if (fusedExperts !== undefined) return checkpoint;
  const fused = new Set([...stored.keys()].filter((name) => isFused(stored, name)));
  if (fused.size === 0) return checkpoint;
  const names = expertNamesOf(checkpoint);
  const entries = [...stored].flatMap(([name, reference]): (readonly [string, TensorReference])[] => {
    const inFiles = nameInFiles(names, name);
    if (!fused.has(name) || names.matrices === undefined) return [[inFiles, reference]];
    return [...matricesIn(names, inFiles, reference)];
  });
  const tensors = new Map(entries);
  // If files already have one of the names, the layouts contradict each other; the checkpoint stays as it is.
  return tensors.size === entries.length ? { ...checkpoint, tensors, fusedExperts: { stored } } : checkpoint;
};

/**
 * Returns the experts' matrices in a fused parameter, with their names.
 *
 * @param parameter fused, with other parts of the name as in files
 */
export const matricesIn = (
  names: ExpertNames,
  parameter: string,
  reference: TensorReference,
): readonly (readonly [name: string, matrix: TensorReference])[] => {
  const [experts = 0] = reference.shape;
  return Array.from({ length: experts }, (_, expert) => matricesOf(names, parameter, expert) ?? []).flatMap(
    (matrices, expert) =>
      matrices.map(
        (matrix, index) => [matrix, partOf(reference, expert * matrices.length + index, matrices)] as const,
      ),
  );
};

const partOf = (
  { file, begin, end, dtype, shape, pieces }: TensorReference,
  index: number,
  { length }: readonly string[],
): TensorReference => {
  const [experts = 0, rows = 0, columns = 0] = shape;
  if (pieces !== undefined) {
    const [expert, first] = [Math.floor(index / length), ((index % length) * rows) / length];
    const bytes = bitsOf(dtype) / 8;
    const cut = pieces.flatMap((piece) => piecesWithin(piece, { expert, first, rows: rows / length, bytes }));
    const { file, begin, end } = itemAt(cut, 0);
    const whole = { file, begin, end, dtype, shape: [rows / length, columns] };
    return cut.length === 1 ? whole : { ...whole, pieces: cut };
  }
  const bytes = (end - begin) / (experts * length);
  const from = begin + index * bytes;
  return { file, begin: from, end: from + bytes, dtype, shape: [rows / length, columns] };
};

/** Returns one expert's rows of one matrix in a piece of the fused parameter, if any. */
const piecesWithin = (
  { file, begin, at, sizes }: TensorPiece,
  { expert, first, rows, bytes }: Readonly<Record<'expert' | 'first' | 'rows' | 'bytes', number>>,
): readonly TensorPiece[] => {
  const [ofExpert = 0, ofRow = 0, ofColumn = 0] = at;
  const [experts = 0, height = 0, width = 0] = sizes;
  const [from, to] = [Math.max(first, ofRow), Math.min(first + rows, ofRow + height)];
  if (expert < ofExpert || expert >= ofExpert + experts || from >= to) return [];
  const start = begin + ((expert - ofExpert) * height + from - ofRow) * width * bytes;
  const end = start + (to - from) * width * bytes;
  return [{ file, begin: start, end, at: [from - first, ofColumn], sizes: [to - from, width] }];
};

/** True for a fused parameter of [out, in] matrices in a layer with gate above up, and with down. */
const isFused = (tensors: Tensors, name: string): boolean => {
  const { stem } = fusedParameter.exec(name)?.groups ?? {};
  if (stem === undefined) return false;
  const [up, down] = [tensors.get(`${stem}.gate_up_proj`), tensors.get(`${stem}.down_proj`)];
  if (up === undefined || down === undefined || ![up, down].every(isPlain)) return false;
  const [[experts, both, hidden = 0], [others, out, inner = 0]] = [up.shape, down.shape];
  const isWhole = up.shape.length === 3 && down.shape.length === 3 && experts === others && isCount(experts);
  if (!isWhole || both !== 2 * inner || hidden !== out || inner * hidden === 0) return false;
  // Biases, scales and blocks of codes cannot be separated.
  return !['gate_up_proj', 'down_proj'].some((one) =>
    ['_bias', '_scale', '_scale_inv', '_scales', '_blocks'].some((end) =>
      tensors.has(`${stem}.${one}${end}`),
    ),
  );
};

/** Maximum experts: each becomes several tensors, and a sparse file may claim any number. */
const mostExperts = 65_536;

const isCount = (experts = 0): boolean => experts > 0 && experts <= mostExperts;

const isPlain = ({ quantised, blocks, change, dtype }: TensorReference): boolean =>
  quantised === undefined && blocks === undefined && change === undefined && bitsOf(dtype) % 8 === 0;
