import { createHash } from 'node:crypto';
import type { ElementSlice } from '../../../engine/compute/measures/read-values.js';

/** Selects the tiles to read: equal seeds select the same ones. */
export interface Draw {
  /** Share of each tensor's tiles, above 0 and at most 1. */
  readonly share: number;
  readonly seed: number;
}

/**
 * Draws a share of a tensor's tiles, rounded up, in the tensor's order. All tiles have the same chance.
 * Tensors are drawn independently.
 */
export const drawTiles = <T extends ElementSlice>(
  tensor: string,
  tiles: readonly T[],
  { share, seed }: Draw,
): T[] => {
  const wanted = Math.min(tiles.length, Math.ceil(tiles.length * share));
  if (wanted === tiles.length) return [...tiles];
  const ranked = tiles.map((tile, index) => ({ tile, rank: rankOf(`${seed} ${index} ${tensor}`) }));
  return ranked
    .toSorted((a, b) => a.rank - b.rank)
    .slice(0, wanted)
    .map(({ tile }) => tile)
    .toSorted((a, b) => a.first - b.first);
};

/** Returns a number that cannot be predicted without the seed. */
const rankOf = (text: string): number => createHash('sha256').update(text).digest().readUIntBE(0, 6);
