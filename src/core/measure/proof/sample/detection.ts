/** A tensor from which only drawn tiles are read. */
export interface SampledTensor {
  readonly tiles: number;
  readonly drawn: number;
  readonly elements: number;
  readonly drawnElements: number;
}

/** How likely a sample finds a change. Known before the seed is drawn. */
export interface Detection {
  /** Chance of reading a changed element, for several numbers of randomly placed changes. */
  readonly random: readonly { readonly elements: number; readonly probability: number }[];
  /** Chance of finding a change in the tile that is read least often. */
  readonly oneTile: number;
}

const counts = [1, 10, 100, 1000, 10_000];

/**
 * Returns the chances. A change of all elements of a tensor is always found, because each has a drawn tile.
 */
export const detectionOf = (tensors: readonly SampledTensor[]): Detection => {
  const filled = tensors.filter(({ elements }) => elements > 0);
  const [all, drawn] = [totalOf(filled, 'elements'), totalOf(filled, 'drawnElements')];
  return {
    random: counts
      .filter((elements) => elements <= all)
      .map((elements) => ({ elements, probability: probabilityOf(elements, all, drawn) })),
    oneTile: filled.reduce((least, tensor) => Math.min(least, tensor.drawn / tensor.tiles), 1),
  };
};

const totalOf = (tensors: readonly SampledTensor[], key: 'elements' | 'drawnElements'): number =>
  tensors.reduce((total, tensor) => total + tensor[key], 0);

/** Returns the chance that a changed element is drawn: 1 − C(all − drawn, changed) / C(all, changed). */
const probabilityOf = (changed: number, all: number, drawn: number): number => {
  let missed = 1;
  for (let place = 0; place < changed && missed > 0; place += 1)
    missed *= Math.max(0, all - drawn - place) / (all - place);
  return 1 - missed;
};
