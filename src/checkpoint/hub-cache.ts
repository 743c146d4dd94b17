import { homedir } from 'node:os';
import { join, sep } from 'node:path';
import { variable } from './hub-variables.js';
import { exists, type HubRevision, type ModelPlace } from './model-place.js';
import { readSmallFile } from './small-file.js';

/** The directory of all that the hub's own library keeps: caches and the token. */
export const hubHome = (env: NodeJS.ProcessEnv = process.env): string =>
  expandPath(
    variable(env, 'HF_HOME') ?? join(env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'huggingface'),
    env,
  );

/**
 * The local cache of the Hugging Face hub, by the variables that its own library reads, the older name of the
 * first among them.
 */
export const hubCacheRoot = (env: NodeJS.ProcessEnv = process.env): string =>
  expandPath(
    variable(env, 'HF_HUB_CACHE') ?? variable(env, 'HUGGINGFACE_HUB_CACHE') ?? join(hubHome(env), 'hub'),
    env,
  );

/** `~` and `$NAME` as the library expands them: a service's file of variables does not. */
export const expandPath = (path: string, env: NodeJS.ProcessEnv): string =>
  path
    .replace(/^~(?=\/|$)/, homedir())
    .replace(
      /\$(?:(\w+)|\{([^}]*)\})/g,
      (whole, name?: string, braced?: string) => env[name ?? braced ?? ''] ?? whole,
    );

/** Names begin with a letter or a digit on the hub, which `./model` does not. */
const hubId = /^(?<repository>\w[\w.-]*\/[\w.-]+)(?:@(?<revision>[\w./-]+))?$/;

/** A model of the hub as users spell it: `org/name[@revision]`. */
export interface HubModel {
  /** `org/name`. */
  readonly id: string;
  /** A branch, a tag or a commit; `main` where none is given. */
  readonly revision: string;
}

/** Returns the parts of `org/name[@revision]`; undefined for other spellings. */
export const parseHubId = (model: string): HubModel | undefined => {
  const { repository: id, revision = 'main' } = hubId.exec(model)?.groups ?? {};
  return id === undefined ? undefined : { id, revision };
};

/** The folder of a model in the hub's cache and in ours: `models--org--name`. */
export const modelFolder = (id: string): string => `models--${id.replace('/', '--')}`;

/** True if a model is spelt as the hub's are: `org/name[@revision]`. */
export const isHubId = (model: string): boolean => hubId.test(model);

/** Returns the hub's own command that downloads a model into its cache; undefined for other spellings. */
export const downloadCommand = (model: string): string | undefined => {
  const { repository, revision } = hubId.exec(model)?.groups ?? {};
  if (repository === undefined) return undefined;
  return `hf download ${repository}${revision === undefined ? '' : ` --revision ${revision}`}`;
};

/**
 * `org/name[@revision]` in the hub cache: a branch or tag through `refs/`, or a commit. Nothing is
 * downloaded.
 */
export const hubCache: ModelPlace = {
  find: async (model) => {
    const parsed = parseHubId(model);
    if (parsed === undefined) return undefined;
    const { id, revision } = parsed;
    const root = join(hubCacheRoot(), modelFolder(id));
    const commit = await readSmallFile(join(root, 'refs', ...revision.split('/'))).then(
      (text) => text.toString().trim(),
      () => revision,
    );
    const path = join(root, 'snapshots', commit);
    return (await exists(path)) ? { name: id, path, hub: { id, revision: commit } } : { tried: path };
  },
};

/** A snapshot of the hub's cache, or the folder of a commit in the cache of ranges (range-cache.ts). */
const snapshotPath =
  /(?:^|\/)models--(?<organisation>[^/]+?)--(?<model>[^/]+)\/(?:snapshots\/)?(?<revision>(?<=\/snapshots\/)[^/]+|[0-9a-f]{40})(?:\/(?<inside>.+))?$/;

/** The repository and commit of a path in a commit's folder, which its own names say; undefined for others. */
export const hubRevisionOf = (path: string): HubRevision | undefined => {
  const groups = snapshotPath.exec(path.split(sep).join('/'))?.groups;
  if (groups === undefined) return undefined;
  const { organisation, model, revision = '', inside } = groups;
  return { id: `${organisation}/${model}`, revision, ...(inside === undefined ? {} : { inside }) };
};
