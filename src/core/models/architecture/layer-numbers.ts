import * as z from 'zod';

/** Limit on layers, since lists have one item for each, and a number in a name or a file may be anything. Sets of layers name no higher ones. */
export const mostLayers = 10_000;

/** The number of layers that a file says. */
export const layerCount = z.int().nonnegative().max(mostLayers);

/** A layer that a file names. */
export const layerNumber = z
  .int()
  .nonnegative()
  .max(mostLayers - 1);
