import { join } from 'node:path';
import { LayerloomError } from '../base/errors/errors.js';
import { invalidParameter } from '../base/errors/invalid-parameter.js';
import { itemAt } from '../base/errors/lookup.js';
import { invalidSetting } from '../methods/framework/declaration/settings.js';
import type { UncheckedRecipe } from '../methods/framework/declaration/unchecked-recipe.js';
import { mapModels, replaceModels } from '../methods/recipe/model-places.js';
import {
  type ModelAddress,
  type PlainAddress,
  parseAddress,
  printAddress,
} from '../models/address/address.js';
import { isGiven } from '../models/checkpoint/files/json.js';
import { listCheckpoints, type RunCheckpoint } from '../models/checkpoint/files/run-folder.js';
import { locate } from '../models/sources/locate.js';
import { openModelOrAdapter } from '../plan/compile/inputs/models.js';

/**
 * Replaces training runs by their checkpoints, even in nested recipes. A run is the only model of a `soup`
 * with a `schedule`; `window` and `until` select checkpoints. Returns the same object if there are no runs.
 *
 * @throws INVALID_PARAMETER, MODEL_NOT_FOUND, READ_FAILED, RUN_UNFINISHED
 */
export const withCheckpoints = async (given: UncheckedRecipe, isOuter = true): Promise<UncheckedRecipe> => {
  const recipe = await mapModels(given, (model) =>
    typeof model === 'string' ? model : withCheckpoints(model, false),
  );
  const { window, until, ...rest } = recipe;
  const { method, schedule, models } = replaceModels(rest, (model) => model);
  const [run, ...others]: unknown[] = Array.isArray(models) ? models : [];
  // The recipe's check refuses other uses of `schedule`.
  const isOfRun = method === 'soup' && isGiven(schedule) && others.length === 0;
  if (!isOfRun || typeof run !== 'string' || !isCount(window) || !isCount(until)) return recipe;
  const refuse = (parameter: string, value: unknown, expected: string) =>
    isOuter ? invalidSetting([parameter], value, expected) : invalidParameter(parameter, value, expected);
  const address = await parseAddress(run);
  const folder = runIn(address);
  const path = folder.isHere ? folder.at : (await locate(folder)).path;
  const all = await listCheckpoints(path);
  if (all.length === 0)
    throw refuse(
      'models',
      run,
      'the folder of a run, which holds checkpoint-N folders, or several models, oldest first',
    );
  const end = until === undefined ? all.length : all.findIndex(({ step }) => step === until) + 1;
  if (end === 0)
    throw refuse('until', until, `a step that ${run} has: ${all.map(({ step }) => step).join(', ')}`);
  if (window !== undefined && window > end)
    throw refuse(
      'window',
      window,
      `at most ${end}, the checkpoints of ${run} up to step ${itemAt(all, end - 1).step}`,
    );
  const chosen = all.slice(window === undefined ? 0 : end - window, end);
  if (end === all.length) await checkFinished(path, all);
  return { ...rest, models: chosen.map((checkpoint) => printAddress(addressOf(address, path, checkpoint))) };
};

const isCount = (value: unknown): value is number | undefined =>
  value === undefined || (Number.isInteger(value) && (value as number) >= 1);

/** Returns the run in an address; in `BASE+RUN`, the run's checkpoints are adapters. */
const runIn = (address: ModelAddress): PlainAddress =>
  address.kind === 'model' ? address : runIn(address.adapter);

const addressOf = (address: ModelAddress, path: string, checkpoint: RunCheckpoint): ModelAddress => {
  const { name } = address;
  const named = name === undefined ? {} : { name: `${name}-${checkpoint.step}` };
  return address.kind === 'model'
    ? { kind: 'model', ...named, at: join(path, checkpoint.folder), isHere: true }
    : { ...address, ...named, adapter: addressOf(address.adapter, path, checkpoint) };
};

/** Checks that the last checkpoint opens, because a trainer may still be writing it. */
const checkFinished = async (run: string, all: readonly RunCheckpoint[]): Promise<void> => {
  const { folder } = itemAt(all, all.length - 1);
  try {
    await openModelOrAdapter({ kind: 'model', at: join(run, folder), isHere: true });
  } catch (error) {
    if (!(error instanceof LayerloomError)) throw error;
    const before = all.at(-2)?.step;
    throw new LayerloomError(
      'RUN_UNFINISHED',
      { run, checkpoint: folder, reason: error.message, before },
      { cause: error },
    );
  }
};
