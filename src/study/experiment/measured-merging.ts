import { join, resolve } from 'node:path';
import type { BatchCost } from '../batch/planning/cost.js';
import { readExperiments } from '../store/experiments.js';
import { openStore } from '../store/files/open-store.js';
import { type ExperimentRecord, readRecord } from './record/experiment-record.js';

/** Earlier run of merges on this machine. */
export interface MeasuredMerging {
  readonly directory: string;
  readonly bytesWritten: number;
  readonly bytesRead: number;
  readonly seconds: number;
}

/**
 * Returns the amount of work, by which durations are compared. Disks are assumed to read twice as fast as
 * they write, as in `BatchCost.seconds`.
 */
export const workOf = (bytesWritten: number, bytesRead: number): number =>
  Math.max(bytesWritten, bytesRead / 2);

/**
 * Returns the seconds of merging at a measured rate.
 *
 * @param missing bytes of shards still to make
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

/** Finds the largest recorded run on this host, of an experiment or of other experiments over its store. */
export const measuredMerging = async (
  out: string,
  store: string = join(out, '.store'),
): Promise<MeasuredMerging | undefined> => {
  const directories = new Set([resolve(out), ...(await experimentsOver(resolve(store)))]);
  const measured: MeasuredMerging[] = [];
  for (const directory of directories) {
    // Ignores invalid records, which a run reports.
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

/** Returns the experiments that use a store. Ignores errors, which a run reports. */
const experimentsOver = async (store: string): Promise<string[]> => {
  const found = await openStore(store, false)
    .then(readExperiments)
    .catch((): undefined => undefined);
  return (found?.experiments ?? []).flatMap(({ directory, state }) => (state === 'here' ? [directory] : []));
};
