/**
 * Returns the order in which a stage's blocks take columns, like PEFT's `block_butterfly_perm`; undefined if
 * the columns cannot form this stage.
 */
export const butterflyOrder = (
  columns: number,
  size: number,
  { stage, stages }: { readonly stage: number; readonly stages: number },
): Float64Array | undefined => {
  // A group of permuted columns is 2^stage blocks, cut into pieces of half a block.
  const [group, piece] = [size * 2 ** stage, size / 2];
  const isButterfly = stage < stages && Number.isInteger(piece) && columns % group === 0;
  if (!isButterfly || (columns / size) % 2 ** (stages - 1) !== 0) return undefined;
  const order = new Float64Array(columns);
  const pieces = group / piece;
  for (let column = 0; column < columns; column += 1) {
    const within = column % group;
    const index = Math.floor(within / piece);
    // Even pieces come first, then odd ones.
    const from = index < pieces / 2 ? 2 * index : 2 * (index - pieces / 2) + 1;
    order[column] = column - within + from * piece + (within % piece);
  }
  return order;
};
