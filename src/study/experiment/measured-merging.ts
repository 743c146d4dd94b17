import { join, resolve } from 'node:path';
import type { BatchCost } from '../batch/cost.js';
import { readExperiments } from '../store/experiments.js';
import { openStore } from '../store/open-store.js';
import { type ExperimentRecord, readRecord } from './record/experiment-record.js';

/** What an earlier run of merges took on this machine. */
export interface MeasuredMerging {
  /** Directory of its experiment. */
  readonly directory: string;
  readonly bytesWritten: number;
  readonly bytesRead: number;
  readonly seconds: number;
}

/** Bytes of work, as `BatchCost.seconds` weighs them: a disk reads at twice the rate at which it writes. */
export const workOf = (bytesWritten: number, bytesRead: number): number =>
  Math.max(bytesWritten, bytesRead / 2);

/**
 * Returns how long merges take at a measured rate, in seconds.
 *
 * @param missing bytes of their shards that are not there yet
 */
export const mergingSeconds = (
  { bytesToWrite, bytesToRead, bytesToMeasure }: BatchCost,
  missing: number,
  { bytesWritten, bytesRead, seconds }: MeasuredMerging,
): number => {
  const share = bytesToWrite === 0 ? 0 : Math.min(1, missing / bytesToWrite);
  const work = workOf(bytesToWrite, bytesToRead + bytesToMeasure);
  return ((share * work) / workOf(bytesWritten, bytesRead)) * seconds;
};

/**
 * Finds the largest run of merges that experiments in a directory and over its store have recorded. Nothing is measured
 * anew. Experiments of other hosts over the same store are left out.
 *
 * @param out directory of the experiment, which need not be there
 */
export const measuredMerging = async (
  out: string,
  store: string = join(out, '.store'),
): Promise<MeasuredMerging | undefined> => {
  const directories = new Set([resolve(out), ...(await experimentsOver(resolve(store)))]);
  const measured: MeasuredMerging[] = [];
  for (const directory of directories) {
    // A record that is missing or is no record measures nothing; what runs there says what is wrong with it.
    const record = await readRecord(directory).catch((): undefined => undefined);
    if (record !== undefined && isMeasured(record)) {
      const { bytesWritten, bytesRead, seconds } = record;
      measured.push({ directory, bytesWritten, bytesRead, seconds });
    }
  }
  return measured.sort(
    (a, b) => workOf(b.bytesWritten, b.bytesRead) - workOf(a.bytesWritten, a.bytesRead),
  )[0];
};

const isMeasured = ({ bytesWritten, bytesRead, seconds }: ExperimentRecord): boolean =>
  workOf(bytesWritten, bytesRead) > 0 && seconds > 0;

/** None where there is no store yet, or one that cannot be read: a run over it says why. */
const experimentsOver = async (store: string): Promise<string[]> => {
  const found = await openStore(store, false)
    .then(readExperiments)
    .catch((): undefined => undefined);
  return (found?.experiments ?? []).flatMap(({ directory, state }) => (state === 'here' ? [directory] : []));
};
