import { realpath } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { LayerloomError } from '../../core/base/errors/errors.js';
import { invalidParameter } from '../../core/base/errors/invalid-parameter.js';
import { itemAt } from '../../core/base/errors/lookup.js';
import { existsIn } from '../../core/base/files/exists.js';
import { splitName } from '../../core/models/address/name.js';
import { type Base, meanName } from './bases.js';
import { loadScores } from './reading/load-scores.js';
import type { ScoredExperiment } from './reading/scored-experiment.js';

export interface LoadedBases {
  readonly bases: readonly Base[];
  readonly refusals: readonly string[];
}

interface Loaded {
  readonly given: string | undefined;
  readonly directory: string;
  readonly experiment: ScoredExperiment;
}

/**
 * Reads experiments on several bases. Skips repeated and unreadable directories, with a warning.
 *
 * @param directories DIR, or NAME=DIR to replace the name of the base
 * @throws INVALID_PARAMETER for two bases with one name; as `loadScores` if no directory can be read
 */
export const loadBases = async (directories: readonly string[]): Promise<LoadedBases> => {
  const loaded = new Map<string, Loaded>();
  const refusals: string[] = [];
  const errors: LayerloomError[] = [];
  for (const text of directories) {
    const { name: given, rest } = (await existsIn('.', text))
      ? { name: undefined, rest: text }
      : splitName(text);
    const directory = await realpath(rest).catch(() => resolve(rest));
    const former = loaded.get(directory);
    if (former !== undefined) {
      refusals.push(`${rest} is the same experiment as ${former.directory}, so it counts once`);
      continue;
    }
    try {
      loaded.set(directory, {
        given,
        directory: rest,
        experiment: await loadScores(rest, { responses: false }),
      });
    } catch (error) {
      if (!(error instanceof LayerloomError)) throw error;
      errors.push(error);
    }
  }
  if (loaded.size === 0) throw itemAt(errors, 0);
  refusals.push(...errors.map(({ message }) => message));
  return { bases: named([...loaded.values()]), refusals };
};

const named = (loaded: readonly Loaded[]): Base[] => {
  const names = loaded.map(
    ({ given, experiment, directory }) => given ?? baseOf(experiment) ?? basename(resolve(directory)),
  );
  const isOnce = (name: string): boolean => names.filter((other) => other === name).length === 1;
  const bases = loaded.map(({ given, experiment, directory }, at): Base => {
    const name = itemAt(names, at);
    return { name: given !== undefined || isOnce(name) ? name : basename(resolve(directory)), experiment };
  });
  for (const { name } of bases)
    if (name === meanName || bases.filter((base) => base.name === name).length > 1)
      throw invalidParameter(
        'directories',
        name,
        `a different name for each base, given as NAME=DIR, and not ${meanName}`,
      );
  return bases;
};

const baseOf = ({ models }: ScoredExperiment): string | undefined => {
  const base = models.find(({ role }) => role === 'base');
  return base === undefined ? undefined : basename(base.name);
};
