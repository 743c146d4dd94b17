import { stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, join, resolve, sep } from 'node:path';
import { LayerloomError } from '../errors.js';
import { readSmallFile } from './small-file.js';

/** A model as the user gave it, found. */
export interface Location {
  /** What to call it: NAME of `NAME=PATH`, `org/name` from the hub cache, else the last part of its path. */
  readonly name: string;
  /** Absolute: a directory or one file. */
  readonly path: string;
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

/** The local cache of the Hugging Face hub, by the variables that its own library reads, the older name of the first among them. */
export const hubCache = (env: NodeJS.ProcessEnv = process.env): string => {
  const home = env['HF_HOME'] ?? join(env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'huggingface');
  return expand(env['HF_HUB_CACHE'] ?? env['HUGGINGFACE_HUB_CACHE'] ?? join(expand(home, env), 'hub'), env);
};

/** `~` and `$NAME` as the library expands them: a service's file of variables does not. */
const expand = (path: string, env: NodeJS.ProcessEnv): string =>
  path
    .replace(/^~(?=\/|$)/, homedir())
    .replace(
      /\$(?:(\w+)|\{([^}]*)\})/g,
      (whole, name?: string, braced?: string) => env[name ?? braced ?? ''] ?? whole,
    );

const hubId = /^(?<repository>[\w.-]+\/[\w.-]+)(?:@(?<revision>[\w./-]+))?$/;
const snapshotPath = /models--(?<organisation>[^/]+?)--(?<model>[^/]+)\/snapshots\/[^/]+$/;

/** `org/name[@revision]` in the hub cache: a branch or tag through `refs/`, or a commit. Nothing is downloaded. */
const findInHubCache = async (model: string): Promise<{ found?: Location; tried?: string }> => {
  const groups = hubId.exec(model)?.groups;
  if (groups === undefined) return {};
  const { repository = '', revision = 'main' } = groups;
  const root = join(hubCache(), `models--${repository.replace('/', '--')}`);
  const commit = await readSmallFile(join(root, 'refs', ...revision.split('/'))).then(
    (text) => text.toString().trim(),
    () => revision,
  );
  const path = join(root, 'snapshots', commit);
  return (await exists(path)) ? { found: { name: repository, path } } : { tried: path };
};

/** A snapshot's folder is named by its commit, which says nothing: the repository's name does. */
const nameOf = (path: string): string => {
  const groups = snapshotPath.exec(path.split(sep).join('/'))?.groups;
  return groups === undefined
    ? basename(path).replace(/\.safetensors$/, '')
    : `${groups['organisation']}/${groups['model']}`;
};

/**
 * Finds a model: a path, or `org/name[@revision]` in the local hub cache. A path that exists goes before a hub name, and
 * `NAME=` before either gives it a name of its own.
 *
 * @throws LayerloomError MODEL_NOT_FOUND, ADAPTER_UNSUPPORTED (`model+adapter`)
 */
export const locate = async (model: string): Promise<Location> => {
  const path = resolve(model);
  if (await exists(path)) return { name: nameOf(path), path };
  const named = /^(?<name>[^=/]+)=(?<rest>.+)$/s.exec(model)?.groups;
  if (named !== undefined) return { ...(await locate(named['rest'] ?? '')), name: named['name'] ?? '' };
  const plus = model.lastIndexOf('+');
  if (plus > 0 && ((await exists(resolve(model.slice(0, plus)))) || hubId.test(model.slice(0, plus))))
    throw new LayerloomError('ADAPTER_UNSUPPORTED', { model });
  const { found, tried } = await findInHubCache(model);
  if (found !== undefined) return found;
  throw new LayerloomError('MODEL_NOT_FOUND', { model, tried: tried === undefined ? [path] : [path, tried] });
};
