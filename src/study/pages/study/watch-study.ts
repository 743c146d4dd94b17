import { resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { invalidParameter } from '../../../core/base/errors/invalid-parameter.js';
import { exists } from '../../../core/base/files/exists.js';
import { noRecord } from '../../experiment/record/no-record.js';
import { trainingStatusOf } from '../../training/status.js';
import { StudyPage } from '../components/study-page.js';
import { htmlPage } from '../html-page.js';
import { writePage } from '../report/write-report.js';
import { type StudyState, StudyWatch } from './study-state.js';

/** Options of `watchStudy`. */
export interface WatchStudyOptions {
  out: string;
  /** Directories of `trainInit`. */
  training?: readonly string[] | undefined;
  /** Seconds between pages; default 10. */
  every?: number | undefined;
  /** Replace a file that is not a page of layerloom; default false. */
  force?: boolean | undefined;
  signal: AbortSignal;
  /** Called after each page is written. */
  onWritten?: ((state: StudyState) => void) | undefined;
}

/** Result of `watchStudy`. */
export interface WatchedStudy {
  readonly out: string;
  readonly pages: number;
  readonly state: StudyState;
}

export const drawStudy = (state: StudyState, every: number | undefined): Promise<string> =>
  htmlPage(StudyPage, { title: state.title, data: { state, everySeconds: every }, refresh: every });

/**
 * Writes a running study's page repeatedly and atomically. When the signal aborts, writes it once more,
 * without reloading. Unreadable files do not end the watch; the page names them.
 *
 * @throws EXPERIMENT_MISSING if the directory does not exist and no training is given; TRAINING_INVALID,
 * INVALID_PARAMETER, OUTPUT_EXISTS, WRITE_FAILED
 */
export const watchStudyOf = async (
  directory: string,
  { out, training = [], every = 10, force = false, signal, onWritten }: WatchStudyOptions,
): Promise<WatchedStudy> => {
  if (!Number.isFinite(every) || every < 1)
    throw invalidParameter('every', every, 'a number of seconds, 1 or more');
  if (training.length > 0) await trainingStatusOf(training);
  else if (!(await exists(directory))) throw await noRecord(directory);
  const watch = new StudyWatch(directory, training);
  for (let pages = 1; ; pages += 1) {
    const isLast = signal.aborted;
    const state = await watch.look();
    await writePage(out, await drawStudy(state, isLast ? undefined : every), force);
    onWritten?.(state);
    if (isLast) return { out: resolve(out), pages, state };
    await pause(1000 * every, undefined, { signal }).catch(() => undefined);
  }
};
