import { itemAt } from '../../base/errors/lookup.js';
import { elementCount, type TensorReference } from '../../tensor/reference.js';
import { checkShape, type FoundTensor, invalidQuantisation, type QuantisedCheckpoint } from './scheme.js';

export type BlockSize = readonly [rows: number, columns: number];

interface ScaledCodes {
  readonly name: string;
  readonly codes: TensorReference;
  readonly scalesName: string;
  readonly scales: TensorReference;
  readonly block: BlockSize | undefined;
}

/**
 * Returns a tensor of 8-bit floats or integers, with scales for the tensor, rows or blocks.
 *
 * @throws QUANTISATION_INVALID
 */
export const inEightBits = (
  model: QuantisedCheckpoint,
  { name, codes, scalesName, scales, block }: ScaledCodes,
): FoundTensor => {
  const { checkpoint } = model;
  const { dtype, shape } = codes;
  if (dtype !== 'F8_E4M3' && dtype !== 'F8_E5M2' && dtype !== 'I8')
    throw invalidQuantisation(checkpoint, codes, name, `is of ${dtype}, and has scales of eight-bit numbers`);
  if (shape.length < 2 || shape.includes(0))
    throw invalidQuantisation(
      checkpoint,
      codes,
      name,
      `has the shape [${shape.join(', ')}], but such scales need a matrix: at least two dimensions, none of them 0`,
    );
  const [rows, columns] = [itemAt(shape, shape.length - 2), itemAt(shape, shape.length - 1)];
  const count = elementCount(scales.shape);
  const matrices = (elementCount(shape) ?? 0) / (rows * columns);
  const ofScales = (): BlockSize => {
    if (count === matrices) return [rows, columns];
    if (block !== undefined) return block;
    return [1, columns];
  };
  return checkShape(model, {
    name,
    shape,
    of: [name, scalesName],
    form: {
      codes: dtype,
      rows,
      width: columns,
      stride: columns,
      block: ofScales(),
      transposed: false,
      scales,
    },
  });
};

export const asBlockSize = (value: unknown): BlockSize | undefined => {
  if (!Array.isArray(value)) return undefined;
  const [rows, columns, more] = value as unknown[];
  const isSize = (size: unknown): size is number =>
    typeof size === 'number' && Number.isSafeInteger(size) && size > 0;
  return isSize(rows) && isSize(columns) && more === undefined ? [rows, columns] : undefined;
};
