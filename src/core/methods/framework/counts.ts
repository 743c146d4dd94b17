/** The number of layers that the paper's counts refer to. */
export const paperLayers = 32;

/**
 * Scales a count of the paper to `layers` layers: count · L / 32, rounded half up. This rule is ours: the
 * paper gives no values for other L.
 */
export const scaledCount = (count: number, layers: number): number =>
  Math.floor((count * layers) / paperLayers + 0.5);
