import { join } from 'node:path';
import * as z from 'zod';
import { LayerloomError } from '../../../core/base/errors/errors.js';
import { isMissing, isUnreadable } from '../../../core/base/files/unless-missing.js';
import { readFailed } from '../../../core/base/files/writing.js';
import { isObject } from '../../../core/models/checkpoint/files/json.js';
import { readJsonFile } from '../../../core/models/checkpoint/files/json-file.js';
import { type Layout, layouts } from '../../../core/models/checkpoint/layouts.js';
import { type MergeState, mergeStates } from '../../batch/planning/batch-merge.js';
import type { BatchCost } from '../../batch/planning/cost.js';
import { recordName } from '../../batch/planning/record-names.js';
import type { EvaluationBlock } from '../../evaluation/evaluation-block.js';
import type { Score, Scores } from '../../evaluation/result.js';
import type { ExperimentReference } from '../file/references.js';
import { noRecord } from './no-record.js';

/** Why a model has no score for a task. */
export interface ScoreError {
  readonly code: string;
  readonly message: string;
}

/** Fields that evaluations add to a merge or reference. */
export interface Scored {
  readonly scores?: Scores;
  /** Error of the last attempt, by task. */
  readonly scoreErrors?: Readonly<Record<string, ScoreError>>;
}

/** Merge's entry in `experiment.json`. */
export interface MergeRecord extends Scored {
  readonly name: string;
  readonly language: string;
  readonly task: string | null;
  readonly languageExpert: string | null;
  readonly method: string;
  readonly configuration: Readonly<Record<string, unknown>>;
  /** Path relative to the experiment's directory. */
  readonly path: string;
  readonly state: MergeState;
  /** SHA-256 of the weights; equal weights have equal scores. */
  readonly weights?: string;
  /** SHA-256 of recipe and inputs, for merges that depend on statistics. Dry runs find the merge by it. */
  readonly basis?: string;
  readonly shards: { readonly shared: number; readonly new: number };
  /** Input bytes of new shards; a shared shard counts for the first merge that has it. */
  readonly bytesRead: number;
  readonly bytesWritten: number;
  /** This merge's share of the run's time, by bytes. */
  readonly seconds: number;
  readonly error?: { readonly code: string; readonly message: string };
}

const leftReasons = ['weights', 'settings', 'unmade', 'gone'] as const;

export interface LeftResults {
  readonly model: string;
  /** Reason: weights or settings changed, the merge became impossible, or the model was removed. */
  readonly reason: (typeof leftReasons)[number];
  /** Files by task, relative to the experiment's directory. */
  readonly results: Readonly<Record<string, string>>;
}

export interface RecordedOptions {
  /** Base of relative paths in the text. */
  readonly directory: string;
  readonly layout?: Layout;
  readonly maxShardSize?: string | number;
  readonly tokenizer?: string;
  readonly allowNonFinite?: boolean;
  readonly checksums?: boolean;
  readonly analysis?: string;
}

/** Contents of `experiment.json`. */
export interface ExperimentRecord {
  readonly layerloom: string;
  readonly state: 'running' | 'done' | 'incomplete';
  readonly experiment: string;
  readonly base: string | null;
  readonly store: string;
  /** Absent in records of earlier versions. */
  readonly options?: RecordedOptions;
  readonly merges: readonly MergeRecord[];
  readonly references: readonly (ExperimentReference & Scored)[];
  /** Patterns of merges that the last batch finished first. */
  readonly first?: readonly string[];
  readonly evaluate?: EvaluationBlock;
  /** Absent if empty. */
  readonly left?: readonly LeftResults[];
  readonly cost: BatchCost;
  readonly bytesRead: number;
  readonly bytesWritten: number;
  readonly seconds: number;
}

const scoreSchema: z.ZodType<Score> = z.object({
  taskVersion: z.string(),
  fewshot: z.number(),
  n: z.number(),
  rows: z.tuple([z.number(), z.number()]).readonly().nullable(),
  maxTokens: z.number().exactOptional(),
  sampling: z.string().exactOptional(),
  metrics: z.record(z.string(), z.number().nullable()),
  headline: z.string().exactOptional(),
  result: z.string(),
  samples: z.array(z.string()).min(1).readonly().exactOptional(),
});

const errorSchema: z.ZodType<ScoreError> = z.object({ code: z.string(), message: z.string() });

const scored = {
  scores: z.record(z.string(), scoreSchema).exactOptional(),
  scoreErrors: z.record(z.string(), errorSchema).exactOptional(),
};

const mergeSchema: z.ZodType<MergeRecord> = z.object({
  name: z.string(),
  language: z.string(),
  task: z.string().nullable(),
  languageExpert: z.string().nullable(),
  method: z.string(),
  configuration: z.record(z.string(), z.unknown()),
  path: z.string(),
  state: z.enum(mergeStates),
  weights: z.string().exactOptional(),
  basis: z.string().exactOptional(),
  shards: z.object({ shared: z.number(), new: z.number() }),
  bytesRead: z.number(),
  bytesWritten: z.number(),
  seconds: z.number(),
  error: errorSchema.exactOptional(),
  ...scored,
});

const referenceSchema: z.ZodType<ExperimentReference & Scored> = z.object({
  name: z.string(),
  role: z.string(),
  languages: z.array(z.string()),
  expertIn: z.array(z.string()).exactOptional(),
  model: z.string(),
  ...scored,
});

const optionsSchema: z.ZodType<RecordedOptions> = z.object({
  directory: z.string(),
  layout: z.enum(layouts).exactOptional(),
  maxShardSize: z.union([z.string(), z.number()]).exactOptional(),
  tokenizer: z.string().exactOptional(),
  allowNonFinite: z.boolean().exactOptional(),
  checksums: z.boolean().exactOptional(),
  analysis: z.string().exactOptional(),
});

const scoredSchema = z.looseObject({
  tasks: z.record(z.string(), z.union([z.string(), z.array(z.string())])).exactOptional(),
  benchmarks: z
    .record(z.string(), z.looseObject({ tasks: z.array(z.string()), metric: z.string().exactOptional() }))
    .exactOptional(),
});

const schema: z.ZodType<ExperimentRecord> = z.object({
  layerloom: z.string(),
  state: z.enum(['running', 'done', 'incomplete']),
  experiment: z.string(),
  base: z.string().nullable(),
  store: z.string(),
  options: optionsSchema.exactOptional(),
  merges: z.array(mergeSchema),
  references: z.array(referenceSchema),
  first: z.array(z.string()).readonly().exactOptional(),
  // Checks only names of tasks and metrics, because reports accept blocks that evaluations refuse.
  evaluate: z
    .custom<EvaluationBlock>((block) => scoredSchema.safeParse(block).success, {
      error: 'expected tasks: a list of names for each language',
    })
    .exactOptional(),
  left: z
    .array(
      z.object({
        model: z.string(),
        reason: z.enum(leftReasons),
        results: z.record(z.string(), z.string()),
      }),
    )
    .readonly()
    .exactOptional(),
  // Only displayed.
  cost: z.custom<BatchCost>(isObject),
  bytesRead: z.number(),
  bytesWritten: z.number(),
  seconds: z.number(),
});

/** @throws EXPERIMENT_MISSING, EXPERIMENT_INVALID, READ_FAILED */
export const readRecord = async (directory: string): Promise<ExperimentRecord> => {
  let isThere = true;
  try {
    return await readJsonFile(join(directory, recordName), {
      schema,
      what: 'the record of an experiment',
      fail: ({ file, reason, cause }) => {
        isThere = !isMissing(cause);
        return isUnreadable(cause)
          ? readFailed(file, cause)
          : new LayerloomError('EXPERIMENT_INVALID', { file, reason }, { cause });
      },
    });
  } catch (error) {
    throw isThere ? error : await noRecord(directory);
  }
};

/**
 * Reads a record that is about to be replaced.
 *
 * @returns undefined if it is absent or invalid
 * @throws READ_FAILED
 */
export const formerRecord = (directory: string): Promise<ExperimentRecord | undefined> =>
  readRecord(directory).catch((error: unknown) => {
    if (error instanceof LayerloomError && error.code !== 'READ_FAILED') return undefined;
    throw error;
  });
