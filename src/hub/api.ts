import type { HubModel } from '../checkpoint/hub-cache.js';
import { isObject } from '../checkpoint/json.js';
import { LayerloomError } from '../errors.js';
import { networkError, patiently, Transient } from './patience.js';
import { refusalOf } from './refusal.js';
import type { ListedFile } from './remote-file.js';
import { type Answer, hostOf, isPage, pageError, send } from './send.js';
import type { HubSession } from './session.js';

/** The most bytes of an answer of the API: a page of a tree has a thousand files. */
const mostBytes = 64 * 1024 * 1024;

const readText = async (hub: HubSession, answer: Answer): Promise<string> => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of answer.body as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > mostBytes) throw new Transient(`${hostOf(answer.url)} sends an answer that does not end`);
    }
  } catch (error) {
    throw networkError(hub, hostOf(answer.url), error);
  }
  return Buffer.concat(chunks).toString();
};

interface JsonAnswer {
  readonly value: unknown;
  readonly headers: Readonly<Record<string, string>>;
}

/** Asks the API for JSON about a model. */
const getJson = (hub: HubSession, { id, revision }: HubModel, address: string): Promise<JsonAnswer> =>
  patiently(hub, async () => {
    const answer = await send(hub, address, { accept: 'application/json' });
    const text = await readText(hub, answer);
    if (answer.status >= 400) throw refusalOf(hub, { id, revision }, answer);
    if (isPage(answer.headers) || text.trimStart().startsWith('<'))
      throw pageError(hub, answer.url, answer.status);
    try {
      return { value: JSON.parse(text) as unknown, headers: answer.headers };
    } catch {
      throw new Transient(`${hostOf(answer.url)} sends what is not JSON`);
    }
  });

const notAHub = (hub: HubSession, what: string): LayerloomError =>
  new LayerloomError('HUB_UNAVAILABLE', {
    endpoint: hub.environment.endpoint,
    reason: `answers without ${what}, as no hub does`,
    remedy: 'check HF_ENDPOINT',
  });

const commitHash = /^[0-9a-f]{40}$/;

/** Asks the hub which commit a revision is. */
export const askCommit = async (hub: HubSession, { id, revision }: HubModel): Promise<string> => {
  const address = `${hub.environment.endpoint}/api/models/${id}/revision/${encodeURIComponent(revision)}`;
  const { value } = await getJson(hub, { id, revision }, address);
  const commit = isObject(value) ? value['sha'] : undefined;
  if (typeof commit !== 'string' || !commitHash.test(commit)) throw notAHub(hub, 'the commit of a model');
  return commit;
};

/** The address of the next page, by the header `Link`. */
const nextOf = (link: string | undefined): string | undefined =>
  /<(?<next>[^>]+)>\s*;\s*rel="?next"?/.exec(link ?? '')?.groups?.['next'];

/** An ETag becomes the name of a blob. */
const blobName = /^[\w-]+$/;

const parseEntry = (entry: unknown): ListedFile | undefined => {
  const { type, path: name, size, oid, lfs } = isObject(entry) ? entry : {};
  if (type !== 'file' || typeof name !== 'string' || typeof oid !== 'string' || !blobName.test(oid))
    return undefined;
  if (isObject(lfs) && typeof lfs['oid'] === 'string' && typeof lfs['size'] === 'number') {
    const sha256 = lfs['oid'].replace(/^sha256:/, '');
    if (!/^[0-9a-f]{64}$/.test(sha256)) return undefined;
    return { name, bytes: lfs['size'], etag: sha256, sha256 };
  }
  return typeof size === 'number' ? { name, bytes: size, etag: oid } : undefined;
};

/** Lists the files of a commit, by name. */
export const listFiles = async (
  hub: HubSession,
  { id, commit }: { id: string; commit: string },
): Promise<ReadonlyMap<string, ListedFile>> => {
  const files = new Map<string, ListedFile>();
  let address: string | undefined =
    `${hub.environment.endpoint}/api/models/${id}/tree/${commit}?recursive=true&expand=false`;
  for (const seen = new Set<string>(); address !== undefined && !seen.has(address); ) {
    seen.add(address);
    const { value, headers }: JsonAnswer = await getJson(hub, { id, revision: commit }, address);
    if (!Array.isArray(value)) throw notAHub(hub, 'a list of files');
    for (const file of value.map(parseEntry)) if (file !== undefined) files.set(file.name, file);
    const next = nextOf(headers['link']);
    address = next === undefined ? undefined : new URL(next, address).href;
  }
  return files;
};
