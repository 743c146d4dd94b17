import { LayerloomError } from '../../../../../base/errors/errors.js';
import { itemAt } from '../../../../../base/errors/lookup.js';
import { listFiles } from '../../requests/api.js';
import type { HubSession } from '../../requests/session/session.js';
import { copyFromSources, type Source } from './copy-from-sources.js';
import type { FileToPush } from './files-to-push.js';
import { FirstFailure } from './first-failure.js';
import type { HubCalls } from './hub-calls.js';
import { filesThere } from './known-files.js';
import type { PushedFile, PushOptions, PushResult } from './push-result.js';
import { UploadBlob } from './upload-blob.js';
import { placeholderToken, uploadFetch } from './upload-fetch.js';

type Library = Awaited<ReturnType<typeof openLibrary>>;

const openLibrary = async (hub: HubSession, onSent: (bytes: number) => void) => {
  const common = {
    hubUrl: hub.environment.endpoint,
    fetch: uploadFetch(hub, { add: onSent }),
    accessToken: placeholderToken,
  };
  return { common, ...(await import('./hub-library.js')) };
};

/** Sends files in one commit. Creates repository and branch if missing. */
export const upload = async (
  hub: HubSession,
  id: string,
  files: readonly FileToPush[],
  sources: readonly Source[],
  { revision = 'main', message, onProgress, private: isPrivate }: PushOptions,
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
  const failure = new FirstFailure();
  const content = await Promise.all(changed.map(({ path }) => UploadBlob.of(path, failure.note)));
  const events = library.commitIter({
    ...library.common,
    fetch: failure.watching(accepted(library, library.common.fetch)),
    repo: { type: 'model', name: id },
    branch: revision,
    title: message ?? 'Upload a checkpoint with layerloom',
    operations: changed.map(({ name }, index) => ({
      operation: 'addOrUpdate' as const,
      path: name,
      content: itemAt(content, index),
    })),
    abortSignal: hub.signal,
  });
  const commit = await Promise.race([commitOf(events), failure.promise]);
  // The remaining files are small ones in the commit, or were there before.
  onProgress?.({ done: total, total });
  return { files: pushed, bytesSent: sent, commit };
};

/** Matches queries for chunks that the storage may already have. */
const lookup = /\/v1\/chunks\//;

/** Returns a `fetch` that requires success of all requests except queries for chunks. */
const accepted =
  ({ HubApiError }: Library, ask: typeof fetch): typeof fetch =>
  async (input, init) => {
    const answer = await ask(input, init);
    if (answer.ok || lookup.test(String(input))) return answer;
    const { error } = (await answer.json()) as { error: string };
    throw new HubApiError('', answer.status, undefined, error);
  };

const commitOf = async (events: ReturnType<Library['commitIter']>): Promise<string> => {
  let step = await events.next();
  while (!step.done) step = await events.next();
  if (step.value === undefined) throw new TypeError('the library makes a commit without its hash');
  return step.value.commit.oid;
};

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

const callsOf = (hub: HubSession, { common, pathsInfo }: Library): HubCalls => ({
  pathsInfo: (id, revision, paths) =>
    pathsInfo({ ...common, repo: { type: 'model', name: id }, revision, paths }),
  listFiles: async (id, commit) => {
    const files = await listFiles(hub, { id, commit }).catch((error: unknown) => {
      if (error instanceof LayerloomError && /^HUB_(NOT_FOUND|ACCESS)$/.test(error.code)) return undefined;
      throw error;
    });
    return [...(files?.values() ?? [])];
  },
  post: async (path, body) => {
    const answer = await common.fetch(`${hub.environment.endpoint}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return answer.ok ? ((await answer.json()) as unknown) : undefined;
  },
});
