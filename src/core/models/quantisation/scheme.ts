import { LayerloomError } from '../../base/errors/errors.js';
import { itemAt } from '../../base/errors/lookup.js';
import type { Dtype } from '../../tensor/dtype.js';
import {
  bytesOfCodes,
  gridOf,
  inputFeatures,
  type QuantisationLayout,
} from '../../tensor/quantisation-layout.js';
import { elementCount, type Shape, type TensorReference } from '../../tensor/reference.js';
import type { CheckpointIndex } from '../checkpoint/checkpoint.js';

export type Settings = Readonly<Record<string, unknown>>;

export interface QuantisedCheckpoint {
  readonly checkpoint: CheckpointIndex;
  readonly settings: Settings;
}

export interface FoundTensor {
  readonly name: string;
  readonly shape: Shape;
  /** Stored tensors, codes first. */
  readonly of: readonly string[];
  readonly form: Omit<QuantisationLayout<TensorReference>, 'parts'>;
}

export interface QuantisationScheme {
  readonly methods: readonly string[];
  /** Keys of settings that may list unquantised modules. */
  readonly unconverted: readonly string[];
  readonly origins?: readonly string[];
  /**
   * Finds the quantised tensors that layerloom can read; all other quantised tensors can only be copied.
   *
   * @throws QUANTISATION_INVALID
   */
  find(checkpoint: QuantisedCheckpoint): FoundTensor[];
}

/** Dtypes of scales: floating-point numbers, or exponents of two. */
const scaleDtypes: ReadonlySet<Dtype> = new Set(['F32', 'BF16', 'F16', 'F8_E4M3', 'F8_E8M0', 'U8']);

/** Returns the error for a tensor that contradicts its module's other tensors or the settings. */
export const invalidQuantisation = (
  { files, path }: CheckpointIndex,
  reference: TensorReference | undefined,
  tensor: string,
  reason: string,
): LayerloomError<'QUANTISATION_INVALID'> =>
  new LayerloomError('QUANTISATION_INVALID', {
    file: reference === undefined ? path : itemAt(files, reference.file).path,
    tensor,
    reason,
  });

/**
 * Returns a tensor that another tensor needs.
 *
 * @throws QUANTISATION_INVALID if it is missing
 */
export const tensorBeside = (checkpoint: CheckpointIndex, name: string, wanted: string): TensorReference => {
  const found = checkpoint.tensors.get(wanted);
  if (found !== undefined) return found;
  throw invalidQuantisation(
    checkpoint,
    checkpoint.tensors.get(name),
    name,
    `is quantised, and ${wanted} is missing`,
  );
};

/** True if scales form a grid of blocks for each matrix; dimensions of size 1 may be missing. */
const isGrid = (
  shape: readonly number[],
  [rows, columns]: readonly [number, number],
  matrices: number,
): boolean =>
  (rows === 1 && columns === 1) ||
  (rows === 1 && matrices === 1 && shape.length === 1 && shape[0] === columns) ||
  (shape.at(-1) === columns && shape.at(-2) === rows) ||
  // For a single matrix, a 2-D row of scales could belong to the columns.
  (columns === 1 && shape.at(-1) === rows && (shape.length === 1 || matrices > 1));

/**
 * Checks dtypes and sizes of codes, scales and other parts.
 *
 * @throws QUANTISATION_INVALID
 */
export const checkShape = ({ checkpoint }: QuantisedCheckpoint, found: FoundTensor): FoundTensor => {
  const { name, of, shape, form } = found;
  const { scales, factor, zeros, groups, nested, rows, width, block } = form;
  const codes = tensorBeside(checkpoint, name, of[0] ?? name);
  const matrices = (elementCount(shape) ?? 0) / (rows * width);
  const grid = gridOf(form);
  const blocks = matrices * grid[0] * grid[1];
  const refuse = (reference: TensorReference, reason: string): never => {
    const tensor = of.find((one) => checkpoint.tensors.get(one) === reference) ?? name;
    throw invalidQuantisation(checkpoint, reference, tensor, reason);
  };
  const expect = (reference: TensorReference, dtypes: readonly Dtype[], count: number): void => {
    if (!dtypes.includes(reference.dtype) || elementCount(reference.shape) !== count)
      refuse(
        reference,
        `is ${reference.dtype} [${reference.shape.join(', ')}], and must be ${count === 1 ? 'one number' : `${count} numbers`} of ${dtypes.join(' or ')}`,
      );
  };
  if (codes.end - codes.begin !== bytesOfCodes(form, matrices))
    refuse(codes, `has another length than its shape [${shape.join(', ')}] needs`);
  if (nested === undefined ? !scaleDtypes.has(scales.dtype) : scales.dtype !== 'U8')
    refuse(
      scales,
      `is of ${scales.dtype}, which ${nested === undefined ? '' : 'nested '}scales are not read in`,
    );
  if (elementCount(scales.shape) !== blocks || !isGrid(scales.shape, grid, matrices))
    refuse(
      scales,
      `has the shape [${scales.shape.join(', ')}], and the ${[...shape].join(' × ')} elements of ${name} in blocks of ${block.join(' × ')} need [${[...(matrices === 1 ? [] : [matrices]), ...grid].join(', ')}]`,
    );
  if (factor !== undefined) expect(factor.of, ['F32'], 1);
  if (zeros !== undefined) {
    const dtype = zeros.codes === 'U4' || zeros.codes === 'U8' ? 'I32' : zeros.codes;
    const isWhole =
      zeros.of.end - zeros.of.begin === bytesOfCodes({ ...zeros, rows: grid[0] }, matrices) &&
      zeros.stride >= grid[1];
    if (zeros.of.dtype !== dtype || !isWhole)
      refuse(
        zeros.of,
        `is ${zeros.of.dtype} [${zeros.of.shape.join(', ')}], and must be ${grid.join(' × ')} zero points of ${dtype}`,
      );
  }
  if (groups !== undefined) expect(groups, ['I32'], inputFeatures(form));
  if (nested !== undefined) {
    expect(nested.numbers, ['F32'], 256);
    expect(nested.scales, ['F32'], Math.ceil(blocks / nested.block));
  }
  return found;
};

/** Models with transformers' `Conv1D` matrices, stored as [in, out]; quantised ones are [out, in]. */
const ofConv1D: readonly unknown[] = ['gpt2', 'openai-gpt', 'imagegpt', 'decision_transformer', 'clvp'];

export const hasConv1D = ({ checkpoint }: Pick<QuantisedCheckpoint, 'checkpoint'>): boolean =>
  ofConv1D.includes(checkpoint.config?.['model_type']);
