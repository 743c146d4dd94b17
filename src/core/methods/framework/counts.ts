/** The number of layers that the paper's counts refer to. */
export const paperLayers = 32;

/** Layers from the language expert (paper, §4.2). */
export const paperCounts = { bottom: 5, top: 2 } as const;

/**
 * Scales a count of the paper: count · L / 32, rounded half up. This rule is ours, since the paper gives no
 * values for other L.
 */
export const scaledCount = (count: number, layers: number): number =>
  Math.floor((count * layers) / paperLayers + 0.5);
