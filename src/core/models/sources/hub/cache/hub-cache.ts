import { homedir } from 'node:os';
import { join, sep } from 'node:path';
import { exists } from '../../../../base/files/exists.js';
import type { HubRevision } from '../../../address/found-model.js';
import {
  type HubModel,
  isCommit,
  isRepositoryName,
  isRevision,
  parseHubId,
} from '../../../address/remote.js';
import type { ModelSource } from '../../source.js';
import { variable } from '../variables.js';
import { commitOfSnapshot, readRef } from './own-repository.js';

export const hubHome = (env: NodeJS.ProcessEnv = process.env): string =>
  expandPath(
    variable(env, 'HF_HOME') ?? join(env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'huggingface'),
    env,
  );

/** Returns the hub's local cache by the hub library's variables, also the older name. */
export const hubCacheRoot = (env: NodeJS.ProcessEnv = process.env): string =>
  expandPath(
    variable(env, 'HF_HUB_CACHE') ?? variable(env, 'HUGGINGFACE_HUB_CACHE') ?? join(hubHome(env), 'hub'),
    env,
  );

/** Expands `~` and `$NAME` like the hub's library, because services' files of variables do not. */
export const expandPath = (path: string, env: NodeJS.ProcessEnv): string =>
  path
    .replace(/^~(?=\/|$)/, homedir())
    .replace(
      /\$(?:(\w+)|\{([^}]*)\})/g,
      (whole, name?: string, braced?: string) => env[name ?? braced ?? ''] ?? whole,
    );

export const rangeFolders = 'models';

/** Returns a model's folder in both caches: `models--org--name`. */
export const modelFolder = (id: string): string => `${rangeFolders}--${id.replace('/', '--')}`;

export const downloadCommand = (model: string): string => {
  const [repository = '', revision] = model.split('@');
  return `hf download ${repository}${revision === undefined ? '' : ` --revision ${revision}`}`;
};

/** Finds `org/name[@revision]` in the hub's cache; resolves branches and tags with `refs/`. */
export const findInHubCache: ModelSource['find'] = async (at) => {
  const parsed = parseHubId(at);
  if (parsed === undefined) return undefined;
  const { id } = parsed;
  const folder = join(hubCacheRoot(), modelFolder(id));
  const path = join(folder, 'snapshots', await cachedCommit(parsed));
  if (!(await exists(path))) return { tried: path };
  return { name: id, path, hub: { id, revision: await commitOfSnapshot(folder, path) } };
};

/**
 * Returns the cached commit of a branch or tag; otherwise the revision itself.
 *
 * @throws READ_FAILED
 */
export const cachedCommit = async ({ id, revision }: HubModel, env = process.env): Promise<string> =>
  isCommit(revision)
    ? revision
    : ((await readRef(join(hubCacheRoot(env), modelFolder(id)), revision)) ?? revision);

const commitPath =
  /^(?<folder>(?<repository>(?:.*?\/)?models--(?<organisation>[^/]+?)--(?<model>[^/]+))\/(?:snapshots\/)?(?<revision>(?<=\/snapshots\/)[^/]+|[0-9a-f]{40}))(?:\/(?<inside>.+))?$/s;

/** A path in a commit's folder, parsed from names alone. */
export interface CommitPath {
  readonly hub: HubRevision;
  readonly folder: string;
  readonly repository: string;
}

export const commitPathOf = (path: string): CommitPath | undefined => {
  const groups = commitPath.exec(path.split(sep).join('/'))?.groups;
  if (groups === undefined) return undefined;
  const { folder = '', repository = '', organisation, model, revision = '', inside } = groups;
  const id = `${organisation}/${model}`;
  if (!isRepositoryName(id) || !isRevision(revision)) return undefined;
  return { folder, repository, hub: { id, revision, ...(inside === undefined ? {} : { inside }) } };
};
