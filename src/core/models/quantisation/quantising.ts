import { invalidParameter } from '../../base/errors/invalid-parameter.js';
import type { QuantisingScheme } from '../../native/job.js';
import { type Dtype, isFloating } from '../../tensor/dtype.js';
import { elementsOf, type Shape } from '../../tensor/reference.js';
import type { Place } from '../architecture/architecture.js';

// The formats of quantised weights that layerloom writes, and the choice of tensors to quantise.

/** Rows and columns of a block; may exceed the matrix. */
export type BlockSize = readonly [rows: number, columns: number];

interface Quantising {
  readonly scheme: QuantisingScheme;
  readonly blocks: readonly BlockSize[];
}

const square = (size: number): BlockSize => [size, size];
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

export const checkQuantising = (name: string): QuantisingName => {
  const found = quantisingNames.find((one) => one === name);
  if (found !== undefined) return found;
  throw invalidParameter('quantize-report', name, `one of ${quantisingNames.join(', ')}`);
};

export const writtenNames = ['fp8-block', 'int8'] as const satisfies readonly QuantisingName[];

export type WrittenName = (typeof writtenNames)[number];

const divides = ([rows, columns]: BlockSize, shape: Shape): boolean =>
  Number(shape[0]) % rows === 0 && Number(shape[1]) % columns === 0;

/** True if loaders accept the blocks: square blocks must divide the matrix; other blocks may be cut at its edge. */
export const fits = (block: BlockSize, shape: Shape): boolean => block[0] === 1 || divides(block, shape);

/** Returns the block size that fits most elements of a model's matrices; in a tie, the larger size. */
export const blockOf = (name: QuantisingName, shapes: readonly Shape[]): BlockSize => {
  const { blocks }: Quantising = quantisings[name];
  const fitted = (block: BlockSize): number =>
    shapes.reduce((total, shape) => total + (fits(block, shape) ? elementsOf(shape) : 0), 0);
  return blocks.reduce((best, block) => (fitted(block) > fitted(best) ? block : best));
};

/** True for a projection matrix in a layer. Excludes embeddings, head, norms, routers, convolutions. */
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

const routers = /(^|\.)(gate|router|shared_expert_gate)\.weight$|\.(router|gate)\./;
