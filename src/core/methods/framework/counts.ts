/** The number of layers that the paper's counts are meant for. */
export const paperLayers = 32;

/**
 * Scales a count of the paper to a model of `layers` layers: count · L / 32, to the nearest, half up. Ours, where
 * the paper expects other values for other L and gives none.
 */
export const scaledCount = (count: number, layers: number): number =>
  Math.floor((count * layers) / paperLayers + 0.5);
