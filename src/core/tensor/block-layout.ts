const types = {
  F32: [1, 4],
  F16: [1, 2],
  BF16: [1, 2],
  Q4_0: [32, 18],
  Q4_1: [32, 20],
  Q5_0: [32, 22],
  Q5_1: [32, 24],
  Q8_0: [32, 34],
  Q4_K: [256, 144],
  Q5_K: [256, 176],
  Q6_K: [256, 210],
} as const;

export type BlockType = keyof typeof types;

export const blockTypes = Object.keys(types) as readonly BlockType[] as readonly [BlockType, ...BlockType[]];

/** Returns the bytes of a row of elements; undefined if it does not consist of whole blocks. */
export const bytesOfRow = (type: BlockType, width: number): number | undefined => {
  const [elements, bytes] = types[type];
  return width % elements === 0 ? (width / elements) * bytes : undefined;
};

/** How GGUF stores a tensor: in blocks along rows. Rows may be permuted. */
export interface BlockLayout {
  readonly type: BlockType;
  readonly width: number;
  /**
   * Rows per attention head if the file interleaves each head's halves: 0, h/2, 1, h/2 + 1, …; otherwise 0.
   */
  readonly head: number;
  /** A number to add to each value in float32, unless 0. */
  readonly plus: number;
}
