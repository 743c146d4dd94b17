import { staysInside } from '../../../address/file-name.js';
import { type HubModel, isCommit } from '../../../address/remote.js';
import { isObject } from '../../../checkpoint/files/json.js';
import { isContentName } from '../../ranges/folder/record.js';
import { jsonHeaders, parseJson, readAll } from './read-json.js';
import { refusalOf } from './refusal.js';
import type { HubFile } from './remote-file.js';
import { send } from './send.js';
import { patiently } from './session/patience.js';
import { parseAddress } from './session/server-address.js';
import type { HubSession } from './session/session.js';
import { unavailable } from './session/unavailable.js';

interface JsonAnswer {
  readonly value: unknown;
  readonly headers: Readonly<Record<string, string>>;
}

const getJson = (hub: HubSession, { id, revision }: HubModel, address: string): Promise<JsonAnswer> =>
  patiently(hub, async () => {
    const answer = await send(hub, address, { headers: jsonHeaders });
    const text = (await readAll(hub, answer)).toString();
    if (answer.status >= 400) throw refusalOf(hub, { id, revision }, answer);
    return { value: parseJson(hub, answer, text), headers: answer.headers };
  });

export const askCommit = async (hub: HubSession, { id, revision }: HubModel): Promise<string> => {
  const address = `${hub.environment.endpoint}/api/models/${id}/revision/${encodeURIComponent(revision)}`;
  const { value } = await getJson(hub, { id, revision }, address);
  const commit = isObject(value) ? value['sha'] : undefined;
  if (typeof commit !== 'string' || !isCommit(commit))
    throw unavailable(hub, 'answers without the commit of a model, as no hub does');
  return commit;
};

/** Maximum pages, each of a thousand files. */
const mostPages = 200;

const nextOf = (link: string | undefined): string | undefined =>
  /<(?<next>[^>]+)>\s*;\s*rel="?next"?/.exec(link ?? '')?.groups?.['next'];

async function* listPages(
  hub: HubSession,
  { id, commit }: { id: string; commit: string },
): AsyncGenerator<readonly unknown[]> {
  let address: string | undefined =
    `${hub.environment.endpoint}/api/models/${id}/tree/${commit}?recursive=true&expand=false`;
  for (const seen = new Set<string>(); address !== undefined && !seen.has(address); ) {
    seen.add(address);
    if (seen.size > mostPages)
      throw unavailable(hub, `lists the files of ${id} on more than ${mostPages} pages`);
    const { value, headers }: JsonAnswer = await getJson(hub, { id, revision: commit }, address);
    if (!Array.isArray(value))
      throw unavailable(hub, 'sent something other than a list of files, so it is no hub');
    yield value;
    const next = nextOf(headers['link']);
    if (next === undefined) return;
    address = parseAddress(next, new URL(address))?.href;
    if (address === undefined)
      throw unavailable(hub, `lists the files of ${id} with a next page that has no address`);
  }
}

const mostFiles = 200_000;

/** Maximum size of a file: above any file on the hub, below file systems' limits. */
const mostBytes = 2 ** 42;

const isSize = (size: unknown): size is number =>
  typeof size === 'number' && Number.isInteger(size) && size >= 0 && size <= mostBytes;

const wrongSize = (size: unknown): string => `with ${typeof size === 'number' ? size : 'no number of'} bytes`;

/**
 * Parses a listed file.
 *
 * @returns the file, or a text about the fault
 */
const parseFile = ({
  path,
  size,
  oid,
  lfs,
  xetHash,
}: Record<string, unknown>): Omit<HubFile, 'name'> | string => {
  // A lone surrogate cannot be encoded in a URL.
  if (/\p{Surrogate}/u.test(String(path))) return 'with a name that is no text';
  if (!staysInside(String(path))) return 'with a name that leads out of a repository';
  if (isObject(lfs)) {
    const sha256 = String(lfs['oid']).replace(/^sha256:/, '');
    if (!/^[0-9a-f]{64}$/.test(sha256)) return 'without a SHA-256';
    const { size: bytes } = lfs;
    if (!isSize(bytes)) return wrongSize(bytes);
    return { bytes, etag: sha256, sha256, ...(typeof xetHash === 'string' ? { xetHash } : {}) };
  }
  if (!isContentName(oid)) return 'without the name of its content';
  return isSize(size) ? { bytes: size, etag: oid } : wrongSize(size);
};

export const listFiles = async (
  hub: HubSession,
  at: { id: string; commit: string },
): Promise<ReadonlyMap<string, HubFile>> => {
  const files = new Map<string, HubFile>();
  for await (const entries of listPages(hub, at))
    for (const entry of entries.filter(isObject)) {
      const { type, path: name } = entry;
      if (type !== 'file' || typeof name !== 'string') continue;
      const file = parseFile(entry);
      if (typeof file === 'string') throw unavailable(hub, `lists ${at.id}/${name} ${file}, as no hub does`);
      files.set(name, { name, ...file });
      if (files.size > mostFiles) throw unavailable(hub, `lists more than ${mostFiles} files of ${at.id}`);
    }
  return files;
};
