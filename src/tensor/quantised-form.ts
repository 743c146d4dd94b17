/** How the elements of a quantised tensor are written; of those with four bits the lower ones of a byte come first. */
export const codeKinds = ['F8_E4M3', 'F8_E5M2', 'I8', 'U8', 'E2M1', 'U4'] as const;

export type CodeKind = (typeof codeKinds)[number];

/** Returns the bits of an element. */
export const bitsOfCode = (codes: CodeKind): number => (codes === 'E2M1' || codes === 'U4' ? 4 : 8);

/** What all scales of a tensor are multiplied by, or divided by, before they are used. */
export const factorKinds = ['times', 'divisor'] as const;

export type FactorKind = (typeof factorKinds)[number];

/** Where the elements and scales of a quantised tensor stand: in matrices, one behind the other. */
export interface QuantisedBlocks {
  readonly codes: CodeKind;
  /** Rows of a stored matrix, and elements of a row. */
  readonly rows: number;
  readonly width: number;
  /** Elements from a row to the next, where rows are filled up. */
  readonly stride: number;
  /** Rows and columns of a block, whose elements share a scale. Blocks begin anew with each matrix. */
  readonly block: readonly [rows: number, columns: number];
  /** The tensor has each matrix transposed. */
  readonly transposed: boolean;
}

/**
 * How a tensor's values are made of stored ones: of codes, which are the bytes of its reference, and of a scale for each
 * block. The values are float32 (docs/quantised.md).
 */
export interface QuantisedForm<Reference> extends QuantisedBlocks {
  readonly scales: Reference;
  readonly factor?: { readonly kind: FactorKind; readonly of: Reference };
  /** All that is stored for it, by name within its module: `weight`, `weight_scale_inv`, scales of activations. */
  readonly parts: ReadonlyMap<string, Reference>;
}

/** Number of blocks of a matrix, by rows and by columns. */
export const gridOf = ({ rows, width, block }: QuantisedBlocks): readonly [number, number] => [
  Math.ceil(rows / block[0]),
  Math.ceil(width / block[1]),
];
