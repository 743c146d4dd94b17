import * as z from 'zod';

/** Limit on layers: files are untrusted, and lists have an item for each layer. */
export const mostLayers = 10_000;

export const layerCount = z.int().nonnegative().max(mostLayers);

export const layerNumber = z
  .int()
  .nonnegative()
  .max(mostLayers - 1);
