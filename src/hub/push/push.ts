import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { provenanceName } from '../../checkpoint/file-names.js';
import { parseHubId } from '../../checkpoint/hub-cache.js';
import { isObject, readJsonObject } from '../../checkpoint/json.js';
import { exists } from '../../checkpoint/model-place.js';
import { LayerloomError } from '../../errors.js';
import { hubEnvironment } from '../environment.js';
import type { HubOptions } from '../hub.js';
import { type HubSession, openHub } from '../session.js';
import { checkCard } from './card.js';
import { copyFromSources, type Source } from './copy-from-sources.js';
import { cardName, type FileToPush, filesToPush } from './files-to-push.js';
import type { HubCalls, RemoteEntry } from './hub-calls.js';
import { filesThere } from './known-files.js';
import { pushError } from './refusal.js';
import { UploadBlob } from './upload-blob.js';
import { uploadFetch } from './upload-fetch.js';

/** Options of `push`. */
export interface PushOptions extends HubOptions {
  /** Make the repository private if it is made now. Default: as the organisation has it, mostly public. */
  readonly private?: boolean | undefined;
  /** The branch to commit to, made where it is missing. Default `main`. */
  readonly revision?: string | undefined;
  /** The commit's title. */
  readonly message?: string | undefined;
  /** List the files, check them, and ask nothing of the hub. Default false. */
  readonly dryRun?: boolean | undefined;
}

/** A file of a pushed checkpoint. */
export interface PushedFile {
  readonly name: string;
  readonly bytes: number;
  /**
   * `sent`; `there`: the repository had it with the same content; `copied`: the hub copied it from a model
   * that was merged; `planned` in a dry run.
   */
  readonly state: 'sent' | 'there' | 'copied' | 'planned';
}

/** What `push` did. */
export interface PushResult {
  /** `org/name`. */
  readonly id: string;
  /** The branch. */
  readonly revision: string;
  readonly url: string;
  /** The commit that was made; undefined where nothing was to be changed, and in a dry run. */
  readonly commit?: string;
  readonly files: readonly PushedFile[];
  /** Bytes of large files that were sent; small ones are in the commit. */
  readonly bytesSent: number;
  readonly warnings: readonly string[];
}

/**
 * Uploads a checkpoint to the Hugging Face hub: its weights, side files and model card, in one commit. The
 * repository is made if it is missing. What it has already with the same content is not sent again, so that an
 * interrupted push is continued by running it again, file by file.
 *
 * @example await push('./merged', 'my-org/my-merge')
 * @param directory of the checkpoint
 * @param repository `org/name`
 * @throws LayerloomError INVALID_PARAMETER, NOT_A_CHECKPOINT and the codes of `openCheckpoint`; HUB_ACCESS,
 *   HUB_NOT_FOUND, HUB_UNAVAILABLE, PUSH_REFUSED, INTERRUPTED
 */
export const pushCheckpoint = async (
  directory: string,
  repository: string,
  options: PushOptions = {},
): Promise<PushResult> => {
  const id = checkRepository(repository);
  const { revision = 'main', dryRun = false } = options;
  const files = await filesToPush(directory);
  const warnings = checkCard(await cardOf(directory));
  if (dryRun) {
    const planned = files.map(({ name, bytes }) => ({ name, bytes, state: 'planned' as const }));
    return {
      id,
      revision,
      url: `${await endpointOf(options)}/${id}`,
      files: planned,
      bytesSent: 0,
      warnings,
    };
  }
  await using hub = await openHub(options);
  requireToken(hub, id);
  try {
    const pushed = await upload(hub, id, files, await sourcesOf(directory), options);
    return { id, revision, url: `${hub.environment.endpoint}/${id}`, ...pushed, warnings };
  } catch (error) {
    if (hub.signal?.aborted) throw new LayerloomError('INTERRUPTED', { push: true }, { cause: error });
    throw pushError(hub, id, error);
  }
};

/** A name on the hub, without a revision. @throws LayerloomError INVALID_PARAMETER */
const checkRepository = (repository: string): string => {
  const { id } = parseHubId(repository) ?? {};
  if (id === undefined || id !== repository)
    throw new LayerloomError('INVALID_PARAMETER', {
      parameter: 'repository',
      value: repository,
      expected: 'org/name; a branch is given by --revision',
    });
  return id;
};

const cardOf = async (directory: string): Promise<string | undefined> => {
  const path = join(resolve(directory), cardName);
  return (await exists(path)) ? (await readFile(path)).toString() : undefined;
};

const endpointOf = async ({ env }: PushOptions): Promise<string> => (await hubEnvironment(env)).endpoint;

const requireToken = ({ environment: { token, endpoint } }: HubSession, model: string): void => {
  if (token === undefined)
    throw new LayerloomError('HUB_ACCESS', {
      model,
      reason: 'no token was given',
      remedy: `make one with the role write at ${endpoint}/settings/tokens, and set HF_TOKEN`,
    });
};

/** Returns the models of the hub that the checkpoint was merged from, by its `layerloom.json`. */
const sourcesOf = async (directory: string): Promise<Source[]> => {
  const path = join(resolve(directory), provenanceName);
  if (!(await exists(path))) return [];
  const { inputs } = await readJsonObject(path);
  const sources = (Array.isArray(inputs) ? inputs : []).flatMap((input): Source[] => {
    const hub = isObject(input) ? input['hub'] : undefined;
    const { id, revision } = isObject(hub) ? hub : {};
    return typeof id === 'string' && typeof revision === 'string' && parseHubId(id)?.id === id
      ? [{ id, revision }]
      : [];
  });
  return [...new Map(sources.map((source) => [`${source.id}@${source.revision}`, source])).values()];
};

/** The hub's own library with the parameters that all calls have in common. */
type Library = Awaited<ReturnType<typeof openLibrary>>;

const openLibrary = async (hub: HubSession, onSent: (bytes: number) => void) => {
  const common = {
    hubUrl: hub.environment.endpoint,
    fetch: uploadFetch(hub, { add: onSent }),
    // The library knows tokens of one hub only, by this prefix; `fetch` gives the hub the user's.
    accessToken: 'hf_',
  };
  // Loaded on demand: nothing else needs its megabytes.
  return { common, ...(await import('@huggingface/hub')) };
};

const upload = async (
  hub: HubSession,
  id: string,
  files: readonly FileToPush[],
  sources: readonly Source[],
  { revision = 'main', message, onProgress, signal, private: isPrivate }: PushOptions,
): Promise<Pick<PushResult, 'files' | 'bytesSent' | 'commit'>> => {
  let [sent, total] = [0, 0];
  const library = await openLibrary(hub, (bytes) => {
    sent += bytes;
    onProgress?.({ done: Math.min(sent, total), total });
  });
  const calls = callsOf(hub, library);
  await requireRepository(library, id, revision, isPrivate);
  const names = files.map(({ name }) => name);
  const there = await filesThere(files, await calls.pathsInfo(id, revision, names));
  const changed = files.filter(({ name }) => !there.has(name));
  const copied = await copyFromSources(changed, sources, id, calls);
  const stateOf = (name: string): PushedFile['state'] =>
    there.has(name) ? 'there' : copied.has(name) ? 'copied' : 'sent';
  const pushed = files.map(({ name, bytes }) => ({ name, bytes, state: stateOf(name) }));
  if (changed.length === 0) return { files: pushed, bytesSent: 0 };
  total = pushed.reduce((sum, { bytes, state }) => sum + (state === 'sent' ? bytes : 0), 0);
  const events = library.commitIter({
    ...library.common,
    repo: { type: 'model', name: id },
    branch: revision,
    title: message ?? 'Upload a checkpoint with layerloom',
    operations: await Promise.all(
      changed.map(async ({ name, path }) => ({
        operation: 'addOrUpdate' as const,
        path: name,
        content: await UploadBlob.of(path),
      })),
    ),
    ...(signal === undefined ? {} : { abortSignal: signal }),
  });
  let step = await events.next();
  while (!step.done) step = await events.next();
  // Small files are in the commit, and files in the repository's storage were not sent.
  onProgress?.({ done: total, total });
  const commit = step.value?.commit.oid;
  return { files: pushed, bytesSent: sent, ...(commit === undefined ? {} : { commit }) };
};

/** Makes the repository and the branch where they are missing. */
const requireRepository = async (
  { common, checkRepoAccess, createRepo, createBranch, HubApiError }: Library,
  id: string,
  revision: string,
  isPrivate: boolean | undefined,
): Promise<void> => {
  const repo = { type: 'model', name: id } as const;
  const unless =
    (...statuses: readonly number[]) =>
    (error: unknown): false => {
      if (error instanceof HubApiError && statuses.includes(error.statusCode)) return false;
      throw error;
    };
  const isThere = await checkRepoAccess({ ...common, repo }).then(() => true, unless(404));
  if (!isThere)
    await createRepo({
      ...common,
      repo,
      ...(isPrivate === undefined ? {} : { visibility: isPrivate ? 'private' : 'public' }),
    }).catch(unless(409));
  if (revision !== 'main') await createBranch({ ...common, repo, branch: revision }).catch(unless(409));
};

const callsOf = (hub: HubSession, { common, pathsInfo, listFiles }: Library): HubCalls => ({
  pathsInfo: (id, revision, paths) =>
    pathsInfo({ ...common, repo: { type: 'model', name: id }, revision, paths }),
  listFiles: async (id, revision) => {
    const found: RemoteEntry[] = [];
    for await (const entry of listFiles({
      ...common,
      repo: { type: 'model', name: id },
      revision,
      recursive: true,
    }))
      found.push(entry);
    return found;
  },
  post: async (path, body) => {
    const answer = await common.fetch(`${hub.environment.endpoint}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      ...(hub.signal === undefined ? {} : { signal: hub.signal }),
    });
    return answer.ok ? ((await answer.json()) as unknown) : undefined;
  },
});
