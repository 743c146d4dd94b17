/** How codes map to numbers: U8 has an offset of 128 and U4 of 8; NF4 and FP4 are tables of bitsandbytes. */
export const codeKinds = ['F8_E4M3', 'F8_E5M2', 'I8', 'U8', 'E2M1', 'U4', 'NF4', 'FP4'] as const;

export type CodeKind = (typeof codeKinds)[number];

export const bitsOfCode = (codes: CodeKind): number =>
  codes === 'E2M1' || codes === 'U4' || codes === 'NF4' || codes === 'FP4' ? 4 : 8;

/** As `Codes::Order` in native/jobs/program.hpp. */
export const codeOrders = ['across', 'swapped', 'interleaved', 'down'] as const;

export type CodeOrder = (typeof codeOrders)[number];

/** Layout of the codes of consecutive matrices. */
export interface CodesInRows {
  readonly codes: CodeKind;
  /** Default: `across`. */
  readonly order?: CodeOrder | undefined;
  /** Size of a stored matrix. */
  readonly rows: number;
  readonly width: number;
  /** Elements from a row to the next, padding included; for `down`, words from a row of words to the next. */
  readonly stride: number;
}

/** Bytes of the codes of `matrices` matrices; not an integer if rows do not fill whole bytes. */
export const bytesOfCodes = (
  { codes, order, rows, stride }: Omit<CodesInRows, 'width'>,
  matrices: number,
): number =>
  order === 'down'
    ? matrices * Math.ceil((rows * bitsOfCode(codes)) / 32) * stride * 4
    : (matrices * rows * stride * bitsOfCode(codes)) / 8;

export const factorKinds = ['times', 'divisor'] as const;

export type FactorKind = (typeof factorKinds)[number];

/** Layout of a quantised tensor's elements and scales, in consecutive matrices. */
export interface QuantisedBlocks extends CodesInRows {
  /** Size of a block, whose elements share a scale. Blocks start over in each matrix. */
  readonly block: readonly [rows: number, columns: number];
  /** True if the tensor is the transpose of each stored matrix. */
  readonly transposed: boolean;
  /** A float32 factor for the products, which are then rounded again. */
  readonly after?: number | undefined;
}

/** A zero point for each block, as a matrix of codes. */
export interface ZeroPoints<Reference> extends Omit<CodesInRows, 'rows' | 'width'> {
  /** True if a zero point is its code plus one; the largest wraps to the smallest. */
  readonly oneMore: boolean;
  readonly of: Reference;
}

/**
 * Scales stored as bytes that index a table of 256 numbers. A scale is the number times the scale of its
 * block, plus an offset.
 */
export interface NestedScales<Reference> {
  readonly block: number;
  readonly offset: number;
  readonly numbers: Reference;
  readonly scales: Reference;
}

export interface QuantisationTensors<Reference> {
  readonly scales: Reference;
  readonly factor?: { readonly kind: FactorKind; readonly of: Reference } | undefined;
  readonly zeros?: ZeroPoints<Reference> | undefined;
  /**
   * The group of each input feature (column, or row if transposed), as 32-bit integers; otherwise groups are
   * consecutive.
   */
  readonly groups?: Reference | undefined;
  readonly nested?: NestedScales<Reference> | undefined;
}

/**
 * How a tensor's values are computed: (code − zero point) · scale of its block, in float32
 * (docs/quantised.md). The reference's bytes are the codes.
 */
export interface QuantisationLayout<Reference> extends QuantisedBlocks, QuantisationTensors<Reference> {
  /** All stored tensors, by name in the module: `weight`, `weight_scale_inv`, activation scales. */
  readonly parts: ReadonlyMap<string, Reference>;
}

export const gridOf = ({
  rows,
  width,
  block,
}: Pick<QuantisedBlocks, 'rows' | 'width' | 'block'>): readonly [number, number] => [
  Math.ceil(rows / block[0]),
  Math.ceil(width / block[1]),
];

/** Number of input features, which `groups` assigns to groups. */
export const inputFeatures = ({ rows, width, transposed }: QuantisedBlocks): number =>
  transposed ? rows : width;
