import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { recordName } from '../../batch/planning/record-names.js';
import { type ExperimentRecord, readRecord } from './experiment-record.js';

/** Reads a record repeatedly while other processes write it. */
export class WatchedRecord {
  readonly #directory: string;
  #read: { readonly stamp: string; readonly record: ExperimentRecord } | undefined;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /**
   * Returns the same object until the record changes.
   *
   * @throws EXPERIMENT_MISSING, EXPERIMENT_INVALID, READ_FAILED
   */
  async read(): Promise<ExperimentRecord> {
    // A replaced file has another inode or time.
    const status = await stat(join(this.#directory, recordName), { bigint: true }).catch(() => undefined);
    const stamp = `${status?.ino} ${status?.size} ${status?.mtimeNs}`;
    if (status === undefined || this.#read?.stamp !== stamp)
      this.#read = { stamp, record: await readRecord(this.#directory) };
    return this.#read.record;
  }
}
