export const paperLayers = 32;

/** Numbers of layers from the language expert in the paper (§4.2). */
export const paperCounts = { bottom: 5, top: 2 } as const;

/** Scales one of the paper's counts to L layers: count·L/32, rounded half up. The rule is ours. */
export const scaledCount = (count: number, layers: number): number =>
  Math.floor((count * layers) / paperLayers + 0.5);
