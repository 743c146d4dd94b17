export const paperLayers = 32;

/** Layers that the language expert gives in the paper (§4.2). */
export const paperCounts = { bottom: 5, top: 2 } as const;

/** Scales a count of the paper to L layers: count · L / 32, rounded half up. The rule is our own. */
export const scaledCount = (count: number, layers: number): number =>
  Math.floor((count * layers) / paperLayers + 0.5);
