import { basename, join } from 'node:path';
import * as z from 'zod';
import { LayerloomError } from '../../core/base/errors/errors.js';
import { version } from '../../core/base/files/version.js';
import { readJsonFile } from '../../core/models/checkpoint/files/json-file.js';
import { type AskedData, type RunFacts, runFacts } from '../evaluation/data/trained-models.js';
import { type TextHashes, trainingName } from '../evaluation/data/trained-texts.js';
import { hubIdOf, type MixPart } from './settings/data-mix.js';
import { type DataSet, kindOf } from './settings/preset.js';
import type { TrainingRun } from './settings/training-run.js';

export const manifestName = trainingName;

/** Role in an experiment: an expert to merge, or a baseline. */
export const trainedRoles = ['task', 'language', 'joint', 'math-sft'] as const;

export interface PlannedModel {
  readonly step: number;
  /** Path relative to the run's directory. */
  readonly path: string;
}

export interface PlannedRun extends Omit<RunFacts, 'method'> {
  readonly name: string;
  /** Path relative to the training's directory. */
  readonly path: string;
  readonly preset: string;
  readonly role: (typeof trainedRoles)[number];
  /** Language of the run; null for math alone. */
  readonly language: string | null;
  readonly method: 'full' | 'lora';
  /** Row's values, with keys in camel case. */
  readonly values: Readonly<Record<string, number | string>>;
  readonly steps: number;
  readonly gpus: number;
  readonly models: readonly PlannedModel[];
}

/** Runs in a directory of `train init`. */
export interface TrainingManifest {
  readonly layerloom: string;
  /** Model to fine-tune: an absolute path, or `org/name` on the hub. */
  readonly base: string;
  readonly runs: readonly PlannedRun[];
  /** Hashes of the rows' texts. They reveal whether scored problems were trained on. */
  readonly trainedOn?: TextHashes;
}

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
        ...runFacts.omit({ language: true, method: true }).shape,
        method: z.enum(['full', 'lora']),
        values: z.record(z.string(), z.union([z.number(), z.string()])),
        steps: z.int().min(1),
        gpus: z.int().min(0),
        models: z.array(z.object({ step: z.int().min(1), path: inside })).min(1),
      }),
    )
    .min(1),
});

/** Returns the manifest. Several runs have a directory each; a single run uses the training's own. */
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
    trainer: run.trainer,
    seed: run.seed,
    row: { ...run.row, learningRate: run.learningRate },
    ...(run.lora === undefined ? {} : { rank: run.lora.rank }),
    data: run.mix.parts.flatMap(askedOf),
  })),
});

const askedOf = ({ kind, samples, sets, files = [] }: MixPart): AskedData[] => {
  const all = sets ?? files.map(({ path, ratio }) => ({ name: basename(path), path, ratio }));
  const total = all.reduce((sum, { ratio }) => sum + ratio, 0);
  return all.map((set) => ({
    name: 'title' in set ? set.title : set.name,
    ...('title' in set && set.path === undefined ? publicFacts(set) : {}),
    kind,
    rows: Math.round((samples * set.ratio) / total),
  }));
};

const publicFacts = (set: DataSet): Pick<AskedData, 'hub' | 'licence'> => ({
  hub: hubIdOf(set),
  ...(set.licence === undefined ? {} : { licence: set.licence }),
});

const roleOf = ({ preset, presetName }: TrainingRun): PlannedRun['role'] => {
  const kinds = new Set(preset.categories.map(kindOf));
  if (kinds.size > 1) return 'joint';
  if (presetName === 'math-only') return 'math-sft';
  return kinds.has('math') ? 'task' : 'language';
};

const modelsOf = ({ way, steps, stepsPerCheckpoint }: TrainingRun): PlannedModel[] => {
  // Only reverting turns checkpoints into final models.
  if (way === 'revert') return [{ step: steps, path: 'reverted' }];
  const count = Math.ceil(steps / stepsPerCheckpoint);
  return Array.from({ length: count }, (_, index) => {
    const step = Math.min(steps, (index + 1) * stepsPerCheckpoint);
    return { step, path: `checkpoints/checkpoint-${step}` };
  });
};

/** @throws TRAINING_INVALID */
export const readManifest = (directory: string): Promise<TrainingManifest> =>
  readJsonFile(join(directory, manifestName), {
    schema,
    what: 'the list of runs of a training',
    fail: ({ file, reason, cause }) => new LayerloomError('TRAINING_INVALID', { file, reason }, { cause }),
  });
