import { LayerloomError } from '../../base/errors.js';
import { itemAt } from '../../base/lookup.js';
import type { CheckpointIndex } from '../../checkpoint/checkpoint.js';
import type { Dtype } from '../../tensor/dtype.js';
import { bitsOfCode, gridOf, type QuantisedForm } from '../../tensor/quantised-form.js';
import { elementCount, type Shape, type TensorReference } from '../../tensor/reference.js';

/** `quantization_config` of `config.json`. */
export type Settings = Readonly<Record<string, unknown>>;

/** A checkpoint as a scheme reads it. */
export interface QuantisedCheckpoint {
  readonly checkpoint: CheckpointIndex;
  readonly settings: Settings;
}

/** A tensor of the model before it was quantised. */
export interface FoundTensor {
  readonly name: string;
  readonly shape: Shape;
  /** Names of the stored tensors that its values are made of: codes first. */
  readonly of: readonly string[];
  readonly form: Omit<QuantisedForm<TensorReference>, 'parts'>;
}

/** Everything the rest of the tree knows of one way to quantise a checkpoint. */
export interface QuantisationScheme {
  /** The values of `quant_method` in `config.json` that name it. */
  readonly methods: readonly string[];
  /** The keys of its settings that may list the modules which are not quantised. */
  readonly unconverted: readonly string[];
  /**
   * Finds the quantised tensors that it can read; modules that it leaves out are copied only.
   *
   * @throws LayerloomError QUANTISATION_INVALID
   */
  find(checkpoint: QuantisedCheckpoint): FoundTensor[];
}

/** Scales that are floating numbers, and those that are exponents of two. */
const scaleDtypes: ReadonlySet<Dtype> = new Set(['F32', 'BF16', 'F16', 'F8_E4M3', 'F8_E8M0', 'U8']);

/** Returns the error of a tensor that does not fit the others of its module, or the settings. */
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
 * Returns a tensor that another one needs.
 *
 * @throws LayerloomError QUANTISATION_INVALID
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

/** True if scales are a grid of blocks for each matrix; columns of one, and a single scale, may lack dimensions. */
const isGrid = (
  shape: readonly number[],
  [rows, columns]: readonly [number, number],
  matrices: number,
): boolean =>
  (rows === 1 && columns === 1) ||
  (shape.at(-1) === columns && shape.at(-2) === rows) ||
  // One row of scales beside a matrix may be meant for its columns.
  (columns === 1 && shape.at(-1) === rows && (shape.length === 1 || matrices > 1));

/**
 * Checks that scales are of a dtype that is read, and as many as there are blocks.
 *
 * @throws LayerloomError QUANTISATION_INVALID
 */
export const checkForm = (
  { checkpoint }: QuantisedCheckpoint,
  { name, of, shape, form }: FoundTensor,
): FoundTensor => {
  const { scales, factor, rows, width, stride } = form;
  const [codesName = name, scalesName = name, factorName = name] = of;
  const codes = tensorBeside(checkpoint, name, codesName);
  const matrices = (elementCount(shape) ?? 0) / (rows * width);
  const wanted = gridOf(form);
  const blocks = matrices * wanted[0] * wanted[1];
  const refuse = (reference: TensorReference, tensor: string, reason: string): never => {
    throw invalidQuantisation(checkpoint, reference, tensor, reason);
  };
  if (codes.end - codes.begin !== (matrices * rows * stride * bitsOfCode(form.codes)) / 8)
    refuse(codes, codesName, `has another length than its shape [${shape.join(', ')}] needs`);
  if (!scaleDtypes.has(scales.dtype))
    refuse(scales, scalesName, `is of ${scales.dtype}, which scales are not read in`);
  if (elementCount(scales.shape) !== blocks || !isGrid(scales.shape, wanted, matrices))
    refuse(
      scales,
      scalesName,
      `has the shape [${scales.shape.join(', ')}], and the ${[...shape].join(' × ')} elements of ${name} in blocks of ${form.block.join(' × ')} need [${[...(matrices === 1 ? [] : [matrices]), ...wanted].join(', ')}]`,
    );
  if (factor !== undefined && (factor.of.dtype !== 'F32' || elementCount(factor.of.shape) !== 1))
    refuse(
      factor.of,
      factorName,
      `is ${factor.of.dtype} [${factor.of.shape.join(', ')}], and must be one number of F32`,
    );
  return { name, of, shape, form };
};
