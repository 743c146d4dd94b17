import { join } from 'node:path';
import * as z from 'zod';
import { LayerloomError } from '../../core/base/errors.js';
import { version } from '../../core/base/version.js';
import { readJsonFile } from '../../core/models/checkpoint/json-file.js';
import { type TextHashes, trainingName } from '../evaluation/data/trained-texts.js';
import { kindOf } from './preset.js';
import type { TrainingRun } from './training-run.js';

/** Name of the list of a directory's runs. */
export const manifestName = trainingName;

/** What a trained model is in an experiment: an expert that merges take, or a baseline to compare them with. */
export const trainedRoles = ['task', 'language', 'joint', 'math-sft'] as const;

/** A model that a run leaves. */
export interface PlannedModel {
  /** Optimiser steps. */
  readonly step: number;
  /** Its directory, relative to that of the run. */
  readonly path: string;
}

/** One run of a training. */
export interface PlannedRun {
  readonly name: string;
  /** Its directory, relative to that of the training. */
  readonly path: string;
  readonly preset: string;
  readonly role: (typeof trainedRoles)[number];
  /** The language that it is for; null for math alone. */
  readonly language: string | null;
  readonly method: 'full' | 'lora';
  /** Values that were set for this run, in camel case. */
  readonly values: Readonly<Record<string, number | string>>;
  readonly steps: number;
  /** GPUs that it is written for; 0 for the processor. */
  readonly gpus: number;
  /** The models that it leaves, in order. */
  readonly models: readonly PlannedModel[];
}

/** The runs of a directory that `train init` wrote. */
export interface TrainingManifest {
  readonly layerloom: string;
  /** The model that is fine-tuned: an absolute path, or `org/name` on the hub. */
  readonly base: string;
  readonly runs: readonly PlannedRun[];
  /** Hashes of the texts of the rows that were given, by which a scored problem is found to be one of them. */
  readonly trainedOn?: TextHashes;
}

/** A path below the training, as `train init` writes it: never out of it. */
const inside = z
  .string()
  .regex(/^(?!\/)(?!.*(^|\/)\.\.(\/|$))[^\0]+$/, 'a path below the directory of the training');

const schema: z.ZodType<TrainingManifest> = z.object({
  layerloom: z.string(),
  base: z.string().min(1),
  runs: z
    .array(
      z.object({
        name: z.string().regex(/^[\p{L}\p{N}][\p{L}\p{N}._-]*$/u),
        path: inside,
        preset: z.string(),
        role: z.enum(trainedRoles),
        language: z.string().nullable(),
        method: z.enum(['full', 'lora']),
        values: z.record(z.string(), z.union([z.number(), z.string()])),
        steps: z.int().min(1),
        gpus: z.int().min(0),
        models: z.array(z.object({ step: z.int().min(1), path: inside })).min(1),
      }),
    )
    .min(1),
});

/** Returns the list of runs in directories of their own, or of the one run of a directory. */
export const manifestOf = (
  runs: readonly TrainingRun[],
  base: string,
  trainedOn: TextHashes,
): TrainingManifest => ({
  layerloom: version,
  base,
  ...(trainedOn.hashes.length === 0 ? {} : { trainedOn }),
  runs: runs.map((run) => ({
    name: run.name,
    path: runs.length === 1 ? '.' : run.name,
    preset: run.presetName,
    role: roleOf(run),
    language: run.preset.language ?? null,
    method: run.lora === undefined ? 'full' : 'lora',
    values: run.values,
    steps: run.steps,
    gpus: run.cpu ? 0 : run.devices,
    models: modelsOf(run),
  })),
});

const roleOf = ({ preset, presetName }: TrainingRun): PlannedRun['role'] => {
  const kinds = new Set(preset.categories.map(kindOf));
  if (kinds.size > 1) return 'joint';
  if (presetName === 'math-only') return 'math-sft';
  return kinds.has('math') ? 'task' : 'language';
};

const modelsOf = ({ way, steps, stepsPerCheckpoint }: TrainingRun): PlannedModel[] => {
  // Checkpoints before the revert are no models of this way.
  if (way === 'revert') return [{ step: steps, path: 'reverted' }];
  const count = Math.ceil(steps / stepsPerCheckpoint);
  return Array.from({ length: count }, (_, index) => {
    const step = Math.min(steps, (index + 1) * stepsPerCheckpoint);
    return { step, path: `checkpoints/checkpoint-${step}` };
  });
};

/**
 * Reads the runs of a directory.
 *
 * @throws LayerloomError TRAINING_INVALID
 */
export const readManifest = (directory: string): Promise<TrainingManifest> =>
  readJsonFile(join(directory, manifestName), {
    schema,
    what: 'the list of runs of a training',
    fail: ({ file, reason, cause }) => new LayerloomError('TRAINING_INVALID', { file, reason }, { cause }),
  });
