import { invalidParameter } from '../../base/invalid-parameter.js';
import type { QuantisingScheme } from '../../native/job.js';
import { type Dtype, isFloating } from '../../tensor/dtype.js';
import { elementsOf, type Shape } from '../../tensor/reference.js';
import type { Place } from '../architecture/architecture.js';

// What models are quantised to, and which of their tensors.

/** Of a matrix: the rows and columns of a block, which may reach beyond it. */
export type BlockSize = readonly [rows: number, columns: number];

/** A way to quantise a model, by the name that options and recipes have. */
interface Quantising {
  readonly scheme: QuantisingScheme;
  /** Sizes of blocks, the largest first. */
  readonly blocks: readonly BlockSize[];
}

const square = (size: number): BlockSize => [size, size];
/** A scale for each row. */
const wholeRow: BlockSize = [1, Number.MAX_SAFE_INTEGER];

export const quantisings = {
  'fp8-block': { scheme: 'float8', blocks: [square(128), square(64), square(32)] },
  int8: { scheme: 'int8', blocks: [wholeRow] },
  int4: { scheme: 'int4', blocks: [[1, 128]] },
  mxfp4: { scheme: 'mxfp4', blocks: [[1, 32]] },
  nvfp4: { scheme: 'nvfp4', blocks: [[1, 16]] },
} as const satisfies Record<string, Quantising>;

export type QuantisingName = keyof typeof quantisings;

export const quantisingNames = Object.keys(quantisings) as QuantisingName[];

/** @throws LayerloomError INVALID_PARAMETER */
export const checkQuantising = (name: string): QuantisingName => {
  const found = quantisingNames.find((one) => one === name);
  if (found !== undefined) return found;
  throw invalidParameter('quantize-report', name, `one of ${quantisingNames.join(', ')}`);
};

/** Those in which outputs are written. */
export const writtenNames = ['fp8-block', 'int8'] as const satisfies readonly QuantisingName[];

export type WrittenName = (typeof writtenNames)[number];

const divides = ([rows, columns]: BlockSize, shape: Shape): boolean =>
  Number(shape[0]) % rows === 0 && Number(shape[1]) % columns === 0;

/** True where blocks of squares divide a matrix, as loaders need; rows and groups may be cut. */
export const fits = (block: BlockSize, shape: Shape): boolean => block[0] === 1 || divides(block, shape);

/** Returns the blocks of a model's matrices, of these shapes: those that fit most of their elements, the largest first. */
export const blockOf = (name: QuantisingName, shapes: readonly Shape[]): BlockSize => {
  const { blocks }: Quantising = quantisings[name];
  const fitted = (block: BlockSize): number =>
    shapes.reduce((total, shape) => total + (fits(block, shape) ? elementsOf(shape) : 0), 0);
  return blocks.reduce((best, block) => (fitted(block) > fitted(best) ? block : best));
};

/**
 * True for a tensor that is quantised: the matrix of a projection in a layer. Embeddings, the head, norms, routers and
 * convolutions are not, as quantisers leave them.
 */
export const isQuantisable = (
  name: string,
  { dtype, shape }: { readonly dtype: Dtype; readonly shape: Shape },
  place: Place | undefined,
): boolean =>
  place?.layer !== undefined &&
  (place.role === 'attention' || place.role === 'feedForward') &&
  shape.length === 2 &&
  shape.every((extent) => extent > 1) &&
  isFloating(dtype) &&
  name.endsWith('.weight') &&
  !routers.test(name);

/** Routers of mixtures and gates of shared experts. */
const routers = /(^|\.)(gate|router|shared_expert_gate)\.weight$|\.(router|gate)\./;
