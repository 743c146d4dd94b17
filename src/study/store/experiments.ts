import { constants } from 'node:buffer';
import { randomUUID } from 'node:crypto';
import { readdir, realpath, rename, rm, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { codeOf, LayerloomError } from '../../core/base/errors/errors.js';
import { writing } from '../../core/base/files/writing.js';
import { makeDirectories, replaceFile, syncDirectory } from '../../core/engine/output/durable.js';
import { isObject } from '../../core/models/checkpoint/files/json.js';
import { readSmallFile } from '../../core/models/checkpoint/files/small-file.js';
import { jsonOrNone } from '../../core/texts/json.js';
import { absent } from './files/failures.js';
import { isKey, type StorePaths } from './files/paths.js';
import { moved } from './files/record.js';

/** The shards of an experiment's merges. */
export interface ExperimentShards {
  /** `path` is relative to the experiment's directory. */
  readonly merges: readonly { readonly path: string; readonly keys: readonly string[] }[];
  /** While false, keeps shards of merges that do not exist yet. */
  readonly finished: boolean;
}

/** Contents of `experiments/HASH.json`: needed for symlinks and copies, which link counts do not show. */
interface Registration extends ExperimentShards {
  readonly directory: string;
  readonly host: string;
  /** The directory's inode, by which a host tells whether its directory of that path is the same. */
  readonly inode: number;
}

/** `elsewhere`: this host cannot see the directory, so `gc` keeps all its shards. */
export interface ExperimentFound {
  readonly directory: string;
  readonly host: string;
  readonly state: 'here' | 'gone' | 'elsewhere';
}

/**
 * Registers an experiment, and replaces its former registration. `gc` keeps the experiment's shards while its
 * directory exists; if `finished`, only those of existing merges. Must be called before the first lookup.
 *
 * @throws WRITE_FAILED
 */
export const register = (paths: StorePaths, directory: string, shards: ExperimentShards): Promise<void> =>
  writing(paths.experiments, async () => {
    const real = await realpath(directory);
    const { ino: inode } = await stat(real);
    const { merges, finished } = shards;
    const registration: Registration = { directory: real, host: hostname(), inode, finished, merges };
    const path = paths.experiment(hostname(), real);
    await makeDirectories(paths.experiments);
    await replaceFile(path, JSON.stringify(registration), `${path}.${randomUUID()}.partial`);
    await syncDirectory(paths.experiments);
  });

/**
 * Saves a registration, because a run may still be refused.
 *
 * @returns a function that restores it
 * @throws WRITE_FAILED
 */
export const noteRegistration = (paths: StorePaths, directory: string): Promise<() => Promise<void>> =>
  writing(paths.experiments, async () => {
    const path = paths.experiment(hostname(), await realpath(directory));
    const limit = { most: constants.MAX_STRING_LENGTH, what: 'a registration' };
    const former = await readSmallFile(path, limit).catch(absent);
    return () =>
      writing(path, () =>
        former === undefined
          ? rm(path, { force: true })
          : replaceFile(path, former, `${path}.${randomUUID()}.partial`),
      );
  });

/**
 * @returns experiments and the keys that they need
 * @throws STORE_INVALID if a registration cannot be read
 */
export const readExperiments = async (
  paths: StorePaths,
): Promise<{ needed: Set<string>; experiments: (ExperimentFound & { path: string })[] }> => {
  const needed = new Set<string>();
  const experiments: (ExperimentFound & { path: string })[] = [];
  for (const name of ((await readdir(paths.experiments).catch(absent)) ?? []).sort()) {
    if (!name.endsWith('.json')) continue;
    const path = join(paths.experiments, name);
    const registration = await readRegistration(paths, path);
    if (registration === undefined) continue;
    const { directory, host } = registration;
    const state = await whereabouts(registration);
    experiments.push({ path, directory, host, state });
    for (const key of await keysNeeded(registration, state)) needed.add(key);
  }
  return { needed, experiments };
};

const readRegistration = async (paths: StorePaths, path: string): Promise<Registration | undefined> => {
  const text = (await readSmallFile(path).catch(absent))?.toString();
  if (text === undefined) return undefined;
  const value = jsonOrNone(text);
  if (isRegistration(value)) return value;
  const reason = `has ${path}, which does not say which shards its experiment needs; remove that file if the experiment needs none`;
  throw new LayerloomError('STORE_INVALID', { store: paths.root, reason });
};

const isRegistration = (value: unknown): value is Registration =>
  isObject(value) &&
  typeof value['directory'] === 'string' &&
  typeof value['host'] === 'string' &&
  Array.isArray(value['merges']) &&
  value['merges'].every(
    (merge) =>
      isObject(merge) &&
      typeof merge['path'] === 'string' &&
      Array.isArray(merge['keys']) &&
      merge['keys'].every((key) => typeof key === 'string' && isKey(key)),
  );

const whereabouts = async ({ directory, host, inode }: Registration): Promise<ExperimentFound['state']> => {
  const found = await stat(directory).catch((error: unknown) =>
    codeOf(error) === 'ENOENT' ? 'none' : 'hidden',
  );
  if (typeof found === 'object' && (host === hostname() || found.ino === inode)) return 'here';
  return found === 'none' && host === hostname() ? 'gone' : 'elsewhere';
};

const keysNeeded = async (
  { directory, finished, merges }: Registration,
  state: ExperimentFound['state'],
): Promise<string[]> => {
  if (state === 'gone') return [];
  const isNeeded = async (path: string) =>
    state === 'elsewhere' ||
    !finished ||
    (await stat(join(directory, path)).then(
      () => true,
      (error: unknown) => codeOf(error) !== 'ENOENT',
    ));
  const needed: string[] = [];
  for (const { path, keys } of merges) if (await isNeeded(path)) needed.push(...keys);
  return needed;
};

/**
 * Removes the registration of a missing experiment. First renames it and checks again, because a new registration may
 * have been written.
 */
export const forget = async (paths: StorePaths, path: string): Promise<void> => {
  const aside = `${path}.${randomUUID()}.partial`;
  await writing(path, async () => {
    // Another `gc` may have renamed it already.
    if (await moved(path, aside)) await settleAside(paths, aside, path);
  });
};

/** Restores the registration, unless its experiment was removed or registered again. */
const settleAside = async (paths: StorePaths, aside: string, path: string): Promise<void> => {
  const registration = await readRegistration(paths, aside);
  const isNeeded =
    registration !== undefined &&
    (await whereabouts(registration)) !== 'gone' &&
    (await stat(path).catch(absent)) === undefined;
  if (isNeeded) await rename(aside, path);
  else await rm(aside, { force: true });
};

const partialName = /^(?<name>[0-9a-f]+\.json)\.[0-9a-f-]{36}\.partial$/;

/** Removes partial registrations of killed processes, older than `since` (milliseconds). */
export const clearPartialRegistrations = async (paths: StorePaths, since: number): Promise<void> => {
  for (const partial of (await readdir(paths.experiments).catch(absent)) ?? []) {
    const { name } = partialName.exec(partial)?.groups ?? {};
    const path = join(paths.experiments, partial);
    const found = name === undefined ? undefined : await stat(path).catch(absent);
    if (name === undefined || found === undefined || Math.max(found.mtimeMs, found.ctimeMs) >= since)
      continue;
    await writing(path, async () => {
      // If the registration is incomplete, its experiment did not finish registering.
      const isWhole = await readRegistration(paths, path).then(
        () => true,
        (error: unknown) => {
          if (error instanceof LayerloomError && error.code === 'STORE_INVALID') return false;
          throw error;
        },
      );
      if (isWhole) await settleAside(paths, path, join(paths.experiments, name));
      else await rm(path, { force: true });
    });
  }
};
