import { formatBytes } from '../../../core/base/format.js';
import type { ProofSample } from '../../../core/measure/proof/sample/plan-sample.js';

/** Formats three significant digits; never shows a chance below 1 as 100 %. */
export const percent = (share: number): string => {
  const shown = (100 * share).toPrecision(3);
  return share < 1 && Number(shown) >= 100 ? 'over 99.9 %' : `${Number(shown)} %`;
};

export const describeSample = (sample: ProofSample): string => {
  const { drawn, tiles, seed, bytes, allBytes, toDownload, random, oneTile } = sample;
  const chances = random.map(({ elements, probability }) => `${elements}: ${percent(probability)}`);
  return [
    `sample: ${drawn} of ${tiles} tiles, chosen by seed ${seed}; reads ${formatBytes(bytes)} of ${formatBytes(allBytes)}, fetches ${formatBytes(toDownload)}`,
    `probability of finding changed elements at random places, by their number: ${chances.join(', ')}`,
    `a change within one tile: at least ${percent(oneTile)}; of a whole tensor: always`,
  ].join('\n');
};
