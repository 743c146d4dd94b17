/** The numbers that codes stand for: U8 is less 128, U4 less 8; NF4 and FP4 are tables of bitsandbytes. */
export const codeKinds = ['F8_E4M3', 'F8_E5M2', 'I8', 'U8', 'E2M1', 'U4', 'NF4', 'FP4'] as const;

export type CodeKind = (typeof codeKinds)[number];

/** Returns the bits of an element. */
export const bitsOfCode = (codes: CodeKind): number =>
  codes === 'E2M1' || codes === 'U4' || codes === 'NF4' || codes === 'FP4' ? 4 : 8;

/**
 * Where codes stand. `across`: along rows, of four bits the lower ones of a byte first. `swapped`: the upper ones first.
 * `interleaved`: along rows, eight of four bits to a word, columns 0, 2, 4, 6, 1, 3, 5, 7 from its lowest bits on. `down`: words
 * of 32 bits hold codes below each other, the upper one in the lowest bits, and a row of words has one for each column.
 */
export const codeOrders = ['across', 'swapped', 'interleaved', 'down'] as const;

export type CodeOrder = (typeof codeOrders)[number];

/** How the codes of matrices are written, one behind the other. */
export interface CodesInRows {
  readonly codes: CodeKind;
  /** Absent: `across`. */
  readonly order?: CodeOrder | undefined;
  /** Rows of a stored matrix, and elements of a row. */
  readonly rows: number;
  readonly width: number;
  /** Elements from a row to the next, where rows are filled up; `down`, words from a row of them to the next. */
  readonly stride: number;
}

/** Returns the length in bytes of the codes of so many matrices; no integer where rows fill no whole bytes. */
export const bytesOfCodes = (
  { codes, order, rows, stride }: Omit<CodesInRows, 'width'>,
  matrices: number,
): number =>
  order === 'down'
    ? matrices * Math.ceil((rows * bitsOfCode(codes)) / 32) * stride * 4
    : (matrices * rows * stride * bitsOfCode(codes)) / 8;

/** What all scales of a tensor are multiplied by, or divided by, before they are used. */
export const factorKinds = ['times', 'divisor'] as const;

export type FactorKind = (typeof factorKinds)[number];

/** Where the elements and scales of a quantised tensor stand: in matrices, one behind the other. */
export interface QuantisedBlocks extends CodesInRows {
  /** Rows and columns of a block, whose elements share a scale. Blocks begin anew with each matrix. */
  readonly block: readonly [rows: number, columns: number];
  /** The tensor has each matrix transposed. */
  readonly transposed: boolean;
  /** A number of float32 that products are multiplied by, and rounded again. */
  readonly after?: number | undefined;
}

/** A zero point for each block, in codes of a matrix of blocks. */
export interface ZeroPoints<Reference> extends Omit<CodesInRows, 'rows' | 'width'> {
  /** A zero point is one more than is written; the largest number stands for the smallest. */
  readonly oneMore: boolean;
  readonly of: Reference;
}

/** Scales that are bytes: each stands for one of 256 numbers, times the scale of its block of scales, plus an offset. */
export interface NestedScales<Reference> {
  readonly block: number;
  readonly offset: number;
  readonly numbers: Reference;
  readonly scales: Reference;
}

/** What the values of a tensor are made of besides its codes. */
export interface QuantisedParts<Reference> {
  readonly scales: Reference;
  readonly factor?: { readonly kind: FactorKind; readonly of: Reference } | undefined;
  readonly zeros?: ZeroPoints<Reference> | undefined;
  /**
   * Which group each input feature is in, in numbers of 32 bits: features of a block stand anywhere then. Input features are
   * columns, or the rows of a transposed tensor.
   */
  readonly groups?: Reference | undefined;
  readonly nested?: NestedScales<Reference> | undefined;
}

/**
 * How a tensor's values are made of stored ones: of codes, which are the bytes of its reference, less a zero point where there
 * are such, times the scale of its block. The values are float32 (docs/quantised.md).
 */
export interface QuantisedForm<Reference> extends QuantisedBlocks, QuantisedParts<Reference> {
  /** All that is stored for it, by name within its module: `weight`, `weight_scale_inv`, scales of activations. */
  readonly parts: ReadonlyMap<string, Reference>;
}

/** Number of blocks of a matrix, by rows and by columns. */
export const gridOf = ({
  rows,
  width,
  block,
}: Pick<QuantisedBlocks, 'rows' | 'width' | 'block'>): readonly [number, number] => [
  Math.ceil(rows / block[0]),
  Math.ceil(width / block[1]),
];

/** Number of input features, which `groups` may say the group of. */
export const inputFeatures = ({ rows, width, transposed }: QuantisedBlocks): number =>
  transposed ? rows : width;
