/** A tensor read in part: numbers of all and of drawn tiles and elements. */
export interface SampledTensor {
  readonly tiles: number;
  readonly drawn: number;
  readonly elements: number;
  readonly drawnElements: number;
}

/** The chance that a sample finds a change, known before the seed is drawn. */
export interface Detection {
  /** Numbers of elements that are changed at random places, each with the chance of finding one of them. */
  readonly random: readonly { readonly elements: number; readonly probability: number }[];
  /** The smallest chance of finding a change within one tile, over all tiles. */
  readonly oneTile: number;
}

const counts = [1, 10, 100, 1000, 10_000];

/** Returns the chances. Every tensor has a drawn tile, so a change of all its elements is always found. */
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

/** Returns 1 − C(all − drawn, changed) / C(all, changed): the chance that a changed element is drawn. */
const probabilityOf = (changed: number, all: number, drawn: number): number => {
  let missed = 1;
  for (let place = 0; place < changed && missed > 0; place += 1)
    missed *= Math.max(0, all - drawn - place) / (all - place);
  return 1 - missed;
};
