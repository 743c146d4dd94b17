import { argument, layerloomCommand } from '../../base/errors/command-line.js';
import { LayerloomError } from '../../base/errors/errors.js';
import { groupBy, itemAt } from '../../base/errors/lookup.js';
import { coverProblem } from '../../tensor/boxes.js';
import { bitsOf } from '../../tensor/dtype.js';
import type { TensorPiece, TensorReference } from '../../tensor/reference.js';
import type { CheckpointIndex, FileIdentity } from './checkpoint.js';
import type { TensorInFile } from './containers/container-reader.js';

export type FoundTensor = TensorInFile & { readonly file: number };

/**
 * Joins pieces to whole tensors.
 *
 * @throws HEADER_INVALID unless pieces hold each element exactly once, in one dtype
 */
export const joined = (
  found: ReadonlyMap<string, FoundTensor>,
  files: readonly Pick<FileIdentity, 'path'>[],
): Map<string, TensorReference> => {
  const byTensor = groupBy(found, ([name, { piece }]) => piece?.tensor ?? name);
  return new Map(
    [...byTensor].map(([name, entries]) => [
      name,
      whole(
        name,
        entries.map(([, tensor]) => tensor),
        files,
      ),
    ]),
  );
};

const whole = (
  name: string,
  pieces: readonly FoundTensor[],
  files: readonly Pick<FileIdentity, 'path'>[],
): TensorReference => {
  const { piece: of, ...first } = itemAt(pieces, 0);
  if (of === undefined) return first;
  const { file, begin, end, dtype } = first;
  const { shape } = of;
  const boxes = pieces.map(({ file, begin, end, shape: sizes, piece }): TensorPiece => {
    return { file, begin, end, at: piece?.at ?? [], sizes };
  });
  const isOfOne = pieces.every((one) => one.dtype === dtype && one.piece?.shape.join() === shape.join());
  const problem = isOfOne && bitsOf(dtype) % 8 === 0 ? coverProblem(shape, boxes) : 'its pieces differ';
  if (problem !== undefined)
    throw new LayerloomError('HEADER_INVALID', {
      file: itemAt(files, file).path,
      tensor: name,
      reason: problem,
    });
  return { file, begin, end, dtype, shape, ...(boxes.length === 1 ? {} : { pieces: boxes }) };
};

/**
 * Refuses a tensor in pieces where one byte range is needed.
 *
 * @param remedy default: writing the model as safetensors
 * @throws WEIGHTS_UNSUPPORTED
 */
export const refusePieces = (
  { files, path }: Pick<CheckpointIndex, 'files' | 'path'>,
  tensor: string,
  reference: TensorReference,
  remedy = `write the model first: ${layerloomCommand('relayout', argument(path), '-o', 'DIR')}`,
): void => {
  if (reference.pieces !== undefined)
    throw new LayerloomError('WEIGHTS_UNSUPPORTED', {
      file: itemAt(files, reference.file).path,
      tensor,
      reason: `lies in ${reference.pieces.length} pieces, and is needed in one`,
      remedy,
    });
};
