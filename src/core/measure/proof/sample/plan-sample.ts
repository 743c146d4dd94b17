import { groupBy } from '../../../base/errors/lookup.js';
import { blocksOf } from '../../../engine/compute/measures/blocks.js';
import { sourcesOfOperand } from '../../../plan/operands.js';
import type { PlannedInput } from '../../../plan/plan.js';
import type { PlannedComparison } from '../../../plan/reports/comparison.js';
import { missingWeights } from '../../../plan/reports/missing-weights.js';
import { bitsOf } from '../../../tensor/dtype.js';
import { bytesOf as bytesOfExtents, joinExtents } from '../../../tensor/extent.js';
import type { StoredTensor } from '../../../tensor/stored-tensor.js';
import { type Detection, detectionOf } from './detection.js';
import { type Draw, drawTiles } from './draw.js';
import { readingOf } from './reads.js';

const tileBytes = 256 * 1024;

/** A sample of an output: what is read, and the chance that it finds a change. */
export interface ProofSample extends Draw, Detection {
  /** Tiles of about 256 KiB in the output; then drawn tiles, elements, drawn elements. */
  readonly tiles: number;
  readonly drawn: number;
  readonly elements: number;
  readonly drawnElements: number;
  /** Bytes of output and inputs to read. `allBytes` is what the whole merge needs. */
  readonly bytes: number;
  readonly allBytes: number;
  /** Bytes to read that are not on this machine yet. */
  readonly toDownload: number;
}

export interface PlannedSample {
  readonly tensors: readonly PlannedComparison[];
  readonly sample: ProofSample;
}

/** Draws tiles of each tensor and finds which bytes they need. Reads no weights. */
export const planSample = async (
  planned: readonly PlannedComparison[],
  inputs: readonly PlannedInput[],
  draw: Draw,
): Promise<PlannedSample> => {
  const sampled = [];
  for (const comparison of planned) sampled.push(await sampleOf(comparison, draw));
  const facts = sampled.map(({ facts }) => facts);
  const total = (key: keyof (typeof facts)[number]) => facts.reduce((sum, one) => sum + one[key], 0);
  const reads = sampled.flatMap(({ tensor }) => tensor.reads ?? []);
  return {
    tensors: sampled.map(({ tensor }) => tensor),
    sample: {
      ...{ share: draw.share, seed: draw.seed },
      ...{ tiles: total('tiles'), drawn: total('drawn') },
      ...{ elements: total('elements'), drawnElements: total('drawnElements') },
      bytes: distinctBytes(reads),
      allBytes: distinctBytes(planned.flatMap(({ sources }) => sources.flatMap(sourcesOfOperand))),
      toDownload: (await missingWeights(inputs, reads)).bytes,
      ...detectionOf(facts),
    },
  };
};

const sampleOf = async (comparison: PlannedComparison, draw: Draw) => {
  const { name, elements, shape, sources } = comparison;
  const reading = await readingOf(sources, shape);
  const most = Math.floor((tileBytes * 8) / bitsOf(sources[1].dtype));
  const tiles = blocksOf({ elements, columns: reading.columns }, most, reading.together);
  const drawn = drawTiles(name, tiles, draw);
  const tensor: PlannedComparison = {
    ...comparison,
    tiles: drawn.map(({ first, count }) => ({ first, count })),
    reads: reading.of(drawn),
  };
  const drawnElements = drawn.reduce((sum, { count }) => sum + count, 0);
  return { tensor, facts: { tiles: tiles.length, drawn: drawn.length, elements, drawnElements } };
};

const distinctBytes = (sources: readonly StoredTensor[]): number =>
  [...groupBy(sources, ({ input, file }) => `${input} ${file}`).values()].reduce(
    (sum, ranges) => sum + bytesOfExtents(joinExtents(ranges)),
    0,
  );
