import { homedir } from 'node:os';
import { join, sep } from 'node:path';
import { exists, type HubRevision, type ModelPlace } from './model-place.js';
import { readSmallFile } from './small-file.js';

/**
 * The local cache of the Hugging Face hub, by the variables that its own library reads, the older name of the
 * first among them.
 */
export const hubCacheRoot = (env: NodeJS.ProcessEnv = process.env): string => {
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

/** Names begin with a letter or a digit on the hub, which `./model` does not. */
const hubId = /^(?<repository>\w[\w.-]*\/[\w.-]+)(?:@(?<revision>[\w./-]+))?$/;

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
    const groups = hubId.exec(model)?.groups;
    if (groups === undefined) return undefined;
    const { repository = '', revision = 'main' } = groups;
    const root = join(hubCacheRoot(), `models--${repository.replace('/', '--')}`);
    const commit = await readSmallFile(join(root, 'refs', ...revision.split('/'))).then(
      (text) => text.toString().trim(),
      () => revision,
    );
    const path = join(root, 'snapshots', commit);
    return (await exists(path))
      ? { name: repository, path, hub: { id: repository, revision: commit } }
      : { tried: path };
  },
};

const snapshotPath =
  /(?:^|\/)models--(?<organisation>[^/]+?)--(?<model>[^/]+)\/snapshots\/(?<revision>[^/]+)(?:\/(?<inside>.+))?$/;

/** The repository and commit of a path in a snapshot's folder, which its own names say; undefined for others. */
export const hubRevisionOf = (path: string): HubRevision | undefined => {
  const groups = snapshotPath.exec(path.split(sep).join('/'))?.groups;
  if (groups === undefined) return undefined;
  const { organisation, model, revision = '', inside } = groups;
  return { id: `${organisation}/${model}`, revision, ...(inside === undefined ? {} : { inside }) };
};
