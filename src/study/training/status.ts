import { stat } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { shellPath } from '../../core/base/errors/command-line.js';
import { LayerloomError, reasonOf } from '../../core/base/errors/errors.js';
import { itemAt } from '../../core/base/errors/lookup.js';
import { exists } from '../../core/base/files/exists.js';
import { parseAddress } from '../../core/models/address/address.js';
import { describeArchitecture } from '../../core/models/architecture/architecture.js';
import type { CheckpointIndex } from '../../core/models/checkpoint/checkpoint.js';
import { isObject } from '../../core/models/checkpoint/files/json.js';
import { readSmallFile } from '../../core/models/checkpoint/files/small-file.js';
import { hasAllWeights } from '../../core/models/checkpoint/whole.js';
import { readAdapter, readWhole } from '../../core/models/reading/read-model.js';
import { jsonOrNone } from '../../core/texts/json.js';
import {
  manifestName,
  type PlannedModel,
  type PlannedRun,
  readManifest,
  type TrainingManifest,
} from './manifest.js';
import { type RunState, runFiles } from './run-state.js';
import { endOfLastStart, nextStart, type RunningStart, runningStart } from './start-of-run.js';

export interface TrainedModel {
  /** Name in an experiment: run and step. */
  readonly name: string;
  readonly step: number;
  /** Model as commands take it: a directory, or the base with an adapter. */
  readonly model: string;
  /** Reason why the checkpoint cannot be used. */
  readonly problem?: string;
}

export interface RunStatus {
  readonly name: string;
  readonly directory: string;
  readonly role: PlannedRun['role'];
  readonly language: string | null;
  readonly state: RunState;
  readonly expected: number;
  /** Checkpoints as models, including incomplete ones. */
  readonly models: readonly TrainedModel[];
  /** Means of the first and last fifth of logged losses; null without a log. */
  readonly loss: { readonly first: number; readonly last: number } | null;
  readonly problem?: string;
}

export interface TrainingStatus {
  readonly base: string;
  readonly runs: readonly RunStatus[];
}

/**
 * Checks the state of trainings: each checkpoint's files, its tensors against the base, and the logged
 * losses.
 *
 * @throws TRAINING_INVALID for a directory without a training, different bases, or duplicate run names
 */
export const trainingStatusOf = async (directories: readonly string[]): Promise<TrainingStatus> => {
  const trainings = await Promise.all(
    [...new Set(directories.map((directory) => resolve(directory)))].map(async (directory) => ({
      directory,
      manifest: await readManifest(directory),
    })),
  );
  const { directory: first, manifest } = itemAt(trainings, 0);
  checkOneBase(trainings);
  checkNames(trainings);
  // A base on the hub is not downloaded. The first complete checkpoint then gives the shapes.
  const shapes = new ReferenceShapes(await shapesOf(manifest.base, first).catch(() => undefined));
  const runs: RunStatus[] = [];
  for (const { directory, manifest } of trainings)
    for (const run of manifest.runs) runs.push(await statusOf(run, directory, manifest.base, shapes));
  return { base: manifest.base, runs };
};

interface Training {
  readonly directory: string;
  readonly manifest: TrainingManifest;
}

const checkOneBase = (trainings: readonly Training[]): void => {
  const { directory, manifest } = itemAt(trainings, 0);
  const other = trainings.find((training) => training.manifest.base !== manifest.base);
  if (other !== undefined)
    throw new LayerloomError('TRAINING_INVALID', {
      file: other.directory,
      reason: `trains ${other.manifest.base}, but ${directory} trains ${manifest.base}; all experts of a study need the same base`,
      remedy: 'give only directories with the same base',
    });
};

const checkNames = (trainings: readonly Training[]): void => {
  const seen = new Map<string, string>();
  for (const { directory, manifest } of trainings)
    for (const { name } of manifest.runs) {
      const former = seen.get(name);
      if (former !== undefined)
        throw new LayerloomError('TRAINING_INVALID', {
          file: directory,
          reason:
            former === directory ? `has two runs ${name}` : `has a run ${name}, which ${former} also has`,
          remedy: `rename one in its ${manifestName}, or write both as one sweep`,
        });
      seen.set(name, directory);
    }
};

type Shapes = ReadonlyMap<string, string>;

/** The base's tensor names and shapes, which all models must have. */
class ReferenceShapes {
  #shapes: Shapes | undefined;

  constructor(shapes: Shapes | undefined) {
    this.#shapes = shapes;
  }

  differenceOf(shapes: Shapes): string | undefined {
    this.#shapes ??= shapes;
    for (const [name, shape] of this.#shapes)
      if (shapes.get(name) !== shape)
        return shapes.has(name)
          ? `${name} is [${shapes.get(name)}], the base's is [${shape}]`
          : `${name} is missing`;
    const further = [...shapes.keys()].find((name) => !this.#shapes?.has(name));
    return further === undefined ? undefined : `${further} is not a tensor of the base`;
  }
}

/**
 * Returns shapes by name, without constant tables and the head of tied embeddings, which trainers may omit.
 */
const shapesIn = (checkpoint: CheckpointIndex): Shapes => {
  const { places, tied } = describeArchitecture(checkpoint);
  return new Map(
    [...checkpoint.tensors].flatMap(([name, { shape }]): [string, string][] => {
      const role = places.get(name)?.role;
      return role === 'buffer' || (role === 'head' && tied === true) ? [] : [[name, shape.join(', ')]];
    }),
  );
};

const shapesOf = async (model: string, from: string): Promise<Shapes> =>
  shapesIn(await readWhole(await parseAddress(resolve(from, model))));

const statusOf = async (
  run: PlannedRun,
  training: string,
  base: string,
  reference: ReferenceShapes,
): Promise<RunStatus> => {
  const directory = join(training, run.path);
  const models: TrainedModel[] = [];
  let isForeign = false;
  for (const planned of run.models) {
    const found = await modelOf(planned, run, { directory, base, reference });
    if (found === undefined) continue;
    isForeign ||= found.isForeign;
    models.push(found.model);
  }
  const log = await lossesOf(directory, run.models);
  const whole = models.filter(({ problem }) => problem === undefined).length;
  const about = { name: run.name, directory, role: run.role, language: run.language };
  const found = { ...about, expected: run.models.length, models, loss: log?.loss ?? null };
  // Checks for a running start first, because a checkpoint that is being written looks incomplete.
  const running = await runningStart(directory);
  if (running !== undefined)
    return {
      ...found,
      state: 'running',
      problem: `${whole} of ${run.models.length} checkpoints exist; ${describeStart(running)}`,
    };
  if (isForeign)
    return {
      ...found,
      state: 'foreign',
      problem: `${itemAt(
        models.flatMap(({ name, problem }) => (problem === undefined ? [] : [`${name}: ${problem}`])),
        0,
      )}; its checkpoints are of another base, or no such models`,
    };
  if (log?.problem !== undefined)
    return {
      ...found,
      state: 'diverged',
      problem: `${log.problem}; exclude it, or train with a lower learning rate`,
    };
  if (whole === run.models.length) return { ...found, state: 'finished' };
  const broken = models.find(({ problem }) => problem !== undefined);
  const isWhole = async (path: string): Promise<boolean> =>
    (await modelAt({ path, isAdapter: run.method === 'lora' }, reference)).problem === undefined;
  const next = await nextStart(directory, `checkpoint-${run.steps}`, isWhole);
  const hasEnded = await exists(join(directory, runFiles.ended));
  const script = `bash ${shellPath(relative(process.cwd(), join(directory, runFiles.script)))}`;
  const end = await endOfLastStart(directory);
  const hasBegun = models.length > 0 || end !== undefined || (await exists(join(directory, runFiles.starts)));
  if (!hasBegun) return { ...found, state: 'absent', problem: `has no checkpoint yet: ${script}` };
  return {
    ...found,
    state: 'unfinished',
    problem: [
      `${whole} of ${run.models.length} checkpoints exist`,
      ...(broken === undefined ? [] : [`${broken.name}: ${broken.problem}`]),
      ...(end === undefined ? [] : [end]),
      hasEnded || next === 'again'
        ? `${script} --again sets them aside and begins at the first step`
        : `${script} goes on from ${next === 'first step' ? `the ${next}` : next.from}`,
    ].join('; '),
  };
};

const describeStart = ({ host, pid, since, isOrphan }: RunningStart): string =>
  isOrphan
    ? `process group ${pid} on ${host} trains it since ${since} (its ${runFiles.script} was killed)`
    : `process ${pid} on ${host} trains it since ${since}`;

const modelOf = async (
  { step, path }: PlannedModel,
  run: PlannedRun,
  { directory, base, reference }: { directory: string; base: string; reference: ReferenceShapes },
): Promise<{ model: TrainedModel; isForeign: boolean } | undefined> => {
  const at = join(directory, path);
  if (!(await isDirectory(at))) return undefined;
  const isAdapter = run.method === 'lora' && path !== 'reverted';
  const model = { name: `${run.name}-${step}`, step, model: isAdapter ? `${base}+${at}` : at };
  const { problem, isForeign = false } = await modelAt({ path: at, isAdapter }, reference);
  return { model: problem === undefined ? model : { ...model, problem }, isForeign };
};

/** Returns why a directory's model cannot be used, and whether it belongs to another base. */
const modelAt = async (
  { path, isAdapter }: { readonly path: string; readonly isAdapter: boolean },
  reference: ReferenceShapes,
): Promise<{ problem?: string; isForeign?: boolean }> => {
  if (!(await hasAllWeights(path))) return { problem: 'is half written' };
  try {
    const address = await parseAddress(path);
    if (isAdapter) {
      await readAdapter(address);
      return {};
    }
    const checkpoint = await readWhole(address);
    if (checkpoint.config === undefined) return { problem: 'is half written (it has no config.json)' };
    const difference = reference.differenceOf(shapesIn(checkpoint));
    return difference === undefined ? {} : { problem: difference, isForeign: true };
  } catch (error) {
    return { problem: `is half written or damaged (${reasonOf(error)})` };
  }
};

const isDirectory = async (path: string): Promise<boolean> =>
  (await stat(path).catch(() => undefined))?.isDirectory() === true;

const logName = 'trainer_state.json';

const mostLogBytes = 64 << 20;

const lossesOf = async (
  directory: string,
  models: readonly PlannedModel[],
): Promise<{ loss: RunStatus['loss']; problem?: string } | undefined> => {
  const steps = models.map(({ step }) => step).reverse();
  for (const step of steps) {
    const file = join(directory, 'checkpoints', `checkpoint-${step}`, logName);
    const text = await readSmallFile(file, { most: mostLogBytes, what: 'the log of a trainer' })
      .then((bytes) => bytes.toString())
      .catch(() => undefined);
    // If the latest log is truncated, uses an earlier checkpoint's log.
    const losses = text === undefined ? undefined : readLosses(text);
    if (losses !== undefined) return losses;
  }
  return undefined;
};

const readLosses = (text: string): { loss: RunStatus['loss']; problem?: string } | undefined => {
  const history = historyIn(text);
  if (history === undefined) return undefined;
  const logged = history.flatMap((entry) => ('loss' in entry ? [entry] : []));
  const fault = logged.find(
    ({ loss, grad_norm: norm }) => !isNumber(loss) || (norm !== undefined && !isNumber(norm)),
  );
  const losses = logged.flatMap(({ loss }) => (isNumber(loss) ? [loss] : []));
  if (losses.length === 0 && fault === undefined) return undefined;
  const part = Math.max(1, Math.floor(losses.length / 5));
  const loss =
    losses.length === 0 ? null : { first: mean(losses.slice(0, part)), last: mean(losses.slice(-part)) };
  if (fault !== undefined)
    return {
      loss,
      problem: `its loss or gradient is NaN or infinite at step ${String(fault['step'] ?? '?')}`,
    };
  if (loss !== null && losses.length >= 5 && loss.last > loss.first)
    return { loss, problem: `its loss rose from ${loss.first.toFixed(3)} to ${loss.last.toFixed(3)}` };
  return { loss };
};

const historyIn = (text: string): Record<string, unknown>[] | undefined => {
  const state = jsonOrNone(text, { python: true });
  const history = isObject(state) ? state['log_history'] : undefined;
  return Array.isArray(history) ? history.filter(isObject) : undefined;
};

const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;
