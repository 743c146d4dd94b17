import * as z from 'zod';

/** Maximum layers: files are untrusted, and lists have an item per layer. */
export const mostLayers = 10_000;

export const layerCount = z.int().nonnegative().max(mostLayers);

export const layerNumber = z
  .int()
  .nonnegative()
  .max(mostLayers - 1);
