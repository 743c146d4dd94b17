/** U8 stores value + 128, U4 value + 8. NF4 and FP4 are indexes into tables of bitsandbytes. */
export const codeKinds = ['F8_E4M3', 'F8_E5M2', 'I8', 'U8', 'E2M1', 'U4', 'NF4', 'FP4'] as const;

export type CodeKind = (typeof codeKinds)[number];

export const bitsOfCode = (codes: CodeKind): number =>
  codes === 'E2M1' || codes === 'U4' || codes === 'NF4' || codes === 'FP4' ? 4 : 8;

/** Orders of codes; `Codes::Order` in native/jobs/program.hpp describes them. */
export const codeOrders = ['across', 'swapped', 'interleaved', 'down'] as const;

export type CodeOrder = (typeof codeOrders)[number];

export interface CodesInRows {
  readonly codes: CodeKind;
  /** Default: `across`. */
  readonly order?: CodeOrder | undefined;
  readonly rows: number;
  readonly width: number;
  /** Elements from one row to the next, including padding; for `down`, 32-bit words between rows of words. */
  readonly stride: number;
}

/** Returns the bytes of the codes; not an integer if rows do not fill whole bytes. */
export const bytesOfCodes = (
  { codes, order, rows, stride }: Omit<CodesInRows, 'width'>,
  matrices: number,
): number =>
  order === 'down'
    ? matrices * Math.ceil((rows * bitsOfCode(codes)) / 32) * stride * 4
    : (matrices * rows * stride * bitsOfCode(codes)) / 8;

export const factorKinds = ['times', 'divisor'] as const;

export type FactorKind = (typeof factorKinds)[number];

export interface QuantisedBlocks extends CodesInRows {
  /** Size of a block, whose elements share a scale. Each matrix starts a new block. */
  readonly block: readonly [rows: number, columns: number];
  /** True if the tensor is the transpose of each stored matrix. */
  readonly transposed: boolean;
  /** A float32 factor for each product, which is then rounded again. */
  readonly after?: number | undefined;
}

export interface ZeroPoints<Reference> extends Omit<CodesInRows, 'rows' | 'width'> {
  /** True if zero points are their codes plus 1; the largest code wraps to the smallest. */
  readonly oneMore: boolean;
  readonly of: Reference;
}

/** Quantised scales: each is `numbers[byte]` times the scale of the byte's block, plus `offset`. */
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
  /** Each input feature's group, as 32-bit integers; absent if groups are consecutive. */
  readonly groups?: Reference | undefined;
  readonly nested?: NestedScales<Reference> | undefined;
}

/** How values are computed: (code − zero point) · the block's scale, in float32 (docs/quantised.md). */
export interface QuantisationLayout<Reference> extends QuantisedBlocks, QuantisationTensors<Reference> {
  /** All stored tensors by name in the module: `weight`, `weight_scale_inv`, scales of activations. */
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

/** Counts input features that `groups` assigns. */
export const inputFeatures = ({ rows, width, transposed }: QuantisedBlocks): number =>
  transposed ? rows : width;
