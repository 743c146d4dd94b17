import { constants } from 'node:buffer';
import { join } from 'node:path';
import { LayerloomError, reasonOf } from '../../base/errors.js';
import type { BatchCost } from '../../batch/cost.js';
import type { MergeState } from '../../batch/merge-tracker.js';
import { recordName } from '../../batch/record-names.js';
import { isObject } from '../../checkpoint/json.js';
import { readSmallFile } from '../../checkpoint/small-file.js';
import type { Scores } from '../../evaluation/result.js';
import type { EvaluationBlock } from '../../evaluation/settings.js';
import type { ExperimentReference } from '../file/references.js';

/** Why a model has no score in a task. */
export interface ScoreError {
  readonly code: string;
  readonly message: string;
}

/** What evaluation adds to the entry of a merge or reference. */
export interface Scored {
  /** By task. Absent where there are none. */
  readonly scores?: Scores;
  /** By task: why the last attempt gave no score. */
  readonly scoreErrors?: Readonly<Record<string, ScoreError>>;
}

/** A merge's entry in `experiment.json`. */
export interface MergeRecord extends Scored {
  readonly name: string;
  readonly language: string;
  readonly task: string | null;
  readonly languageExpert: string | null;
  readonly method: string;
  readonly configuration: Readonly<Record<string, unknown>>;
  /** The merge's directory, relative to the experiment's. */
  readonly path: string;
  readonly state: MergeState;
  /** SHA-256 of what its weights are, once it is there: merges of equal weights have equal scores. */
  readonly weights?: string;
  readonly shards: { readonly shared: number; readonly new: number };
  /**
   * Input bytes read for the shards that were made for this merge first; those of shards that it shares count
   * for another merge.
   */
  readonly bytesRead: number;
  readonly bytesWritten: number;
  readonly seconds: number;
  readonly error?: { readonly code: string; readonly message: string };
}

/** The contents of `experiment.json`: an experiment's merges and their states. */
export interface ExperimentRecord {
  readonly layerloom: string;
  readonly state: 'running' | 'done' | 'incomplete';
  /** The text of the experiment's file. */
  readonly experiment: string;
  readonly base: string | null;
  readonly store: string;
  readonly merges: readonly MergeRecord[];
  readonly references: readonly (ExperimentReference & Scored)[];
  readonly evaluate?: EvaluationBlock;
  readonly cost: BatchCost;
  /** Bytes of inputs read and of shards written by the last run. */
  readonly bytesRead: number;
  readonly bytesWritten: number;
  readonly seconds: number;
}

const longest = { most: constants.MAX_STRING_LENGTH, what: 'the record of an experiment' };

/**
 * Reads the record of the experiment in a directory.
 *
 * @throws LayerloomError EXPERIMENT_MISSING, EXPERIMENT_INVALID
 */
export const readRecord = async (directory: string): Promise<ExperimentRecord> => {
  const file = join(directory, recordName);
  const text = await readSmallFile(file, longest).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR')
      throw new LayerloomError('EXPERIMENT_MISSING', { directory });
    throw new LayerloomError('EXPERIMENT_INVALID', { file, reason: reasonOf(error) });
  });
  let value: unknown;
  try {
    value = JSON.parse(text.toString());
  } catch (cause) {
    throw new LayerloomError('EXPERIMENT_INVALID', { file, reason: reasonOf(cause) }, { cause });
  }
  if (!isObject(value) || !Array.isArray(value['merges']) || !Array.isArray(value['references']))
    throw new LayerloomError('EXPERIMENT_INVALID', { file, reason: 'is not the record of an experiment' });
  return value as unknown as ExperimentRecord;
};
