import { lstat, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { exists } from '../../../core/base/files/exists.js';
import { writing } from '../../../core/base/files/writing.js';
import { replaceFile, syncDirectory } from '../../../core/engine/output/durable.js';
import { recordName } from '../../batch/planning/record-names.js';
import { evaluationsName } from '../../evaluation/result-files.js';
import { holdClaim } from '../../store/claims/hold-claim.js';
import { Scoreboard } from '../scoring/progress/scoreboard.js';
import { type ExperimentRecord, formerRecord } from './experiment-record.js';

const partialName = /^experiment\.json\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Writes `experiment.json` from concurrent processes: a batch knows the states of merges, evaluations add
 * scores. Each process claims the file, combines its knowledge with the file and the result files, and writes. So no
 * process undoes another's write.
 */
export class RecordFile {
  readonly #directory: string;
  readonly #scoreboard: Scoreboard;
  #last = { at: performance.now(), took: 0 };
  #queue: Promise<unknown> = Promise.resolve();
  #later: NodeJS.Timeout | undefined;
  #failure: unknown;
  #isClean = false;

  constructor(directory: string) {
    this.#directory = directory;
    this.#scoreboard = new Scoreboard(directory);
  }

  /**
   * Writes a record durably, with present scores.
   *
   * @throws WRITE_FAILED, READ_FAILED
   */
  write(record: ExperimentRecord): Promise<ExperimentRecord> {
    return this.update(() => Promise.resolve(record));
  }

  /**
   * Makes and writes the next record while no other process can write.
   *
   * @throws WRITE_FAILED, READ_FAILED
   */
  update(next: () => Promise<ExperimentRecord>): Promise<ExperimentRecord> {
    clearTimeout(this.#later);
    this.#later = undefined;
    const written = this.#queue.then(() => this.#timed(next));
    this.#queue = written.catch(() => undefined);
    return written;
  }

  /**
   * Schedules an update at least a second after the last update. Writing takes at most a tenth of the time; otherwise
   * its total would grow with the square of the number of models.
   *
   * @throws the error of an earlier scheduled update
   */
  updateSoon(next: () => Promise<ExperimentRecord>): void {
    if (this.#failure !== undefined) throw this.#failure;
    const { at, took } = this.#last;
    this.#later ??= setTimeout(
      () => {
        this.update(next).catch((error: unknown) => {
          this.#failure = error;
        });
      },
      Math.max(0, at + Math.max(1000, 9 * took) - performance.now()),
    );
  }

  async #timed(next: () => Promise<ExperimentRecord>): Promise<ExperimentRecord> {
    const started = performance.now();
    try {
      return await this.#write(next);
    } finally {
      const ended = performance.now();
      this.#last = { at: ended, took: ended - started };
    }
  }

  async #write(next: () => Promise<ExperimentRecord>): Promise<ExperimentRecord> {
    const path = join(this.#directory, recordName);
    const beside = (name: string) => join(this.#directory, name);
    return await holdClaim(beside('.experiment.claim'), beside('.layerloom-clock'), async () => {
      await this.#removePartials();
      const record = await this.#withScores(await next());
      await writing(path, async () => {
        await replaceFile(path, `${JSON.stringify(record, null, 2)}\n`);
        await syncDirectory(this.#directory);
      });
      return record;
    });
  }

  /** The caller must hold the claim, so that nobody else writes. */
  async #removePartials(): Promise<void> {
    if (this.#isClean) return;
    this.#isClean = true;
    for (const name of await readdir(this.#directory)) {
      const path = join(this.#directory, name);
      if (partialName.test(name) && (await lstat(path)).isFile()) await rm(path, { force: true });
    }
  }

  async #withScores(record: ExperimentRecord): Promise<ExperimentRecord> {
    if (!(await exists(join(this.#directory, evaluationsName)))) return record;
    return await this.#scoreboard.fill(record, await formerRecord(this.#directory));
  }
}
