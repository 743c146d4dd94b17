import { visibleLine } from '../../../../../base/errors/visible.js';
import { jsonOrNone } from '../../../../../texts/json.js';
import { isObject } from '../../../../checkpoint/files/json.js';
import { jsonHeaders, parseJson, readAll } from '../../requests/read-json.js';
import { type Answer, discard, hostOf, isPage, pageError, send } from '../../requests/send.js';
import { patiently } from '../../requests/session/patience.js';
import { parseAddress } from '../../requests/session/server-address.js';
import type { HubSession } from '../../requests/session/session.js';
import { unavailable } from '../../requests/session/unavailable.js';
import { checkAnswer } from './answers.js';
import { UploadBlob } from './upload-blob.js';

/** Counts bytes of sent files; retried requests count once. */
export interface SentBytes {
  add(bytes: number): void;
}

/** A token that the hub's library accepts; requests replace it by the user's. */
export const placeholderToken = 'hf_';

const mostSaid = 500;

/**
 * Returns a `fetch` for the hub's library that retries transient failures, uses the user's proxy, has no time
 * limit while bytes move, and counts bytes sent. The library sees only checked answers.
 */
export const uploadFetch =
  (hub: HubSession, sent: SentBytes): typeof fetch =>
  (input, init = {}) =>
    patiently(hub, async () => {
      const url = parseAddress(input instanceof Request ? input.url : String(input));
      if (url === undefined) throw unavailable(hub, 'gives no valid address for an upload');
      let ofThis = 0;
      const count = (bytes: number) => {
        ofThis += bytes;
        sent.add(bytes);
      };
      try {
        const path = pathOfApi(hub, url);
        const answer = await send(hub, url.href, questionOf(init, path, count));
        if (path !== undefined) return await fromApi(hub, answer, path, init.body);
        return await (init.body ? takenByStorage(hub, answer, init.body) : knownToStorage(hub, answer));
      } catch (error) {
        sent.add(-ofThis);
        throw error;
      }
    });

const questionOf = (
  { method = 'GET', headers, body, signal }: RequestInit,
  path: string | undefined,
  count: (bytes: number) => void,
): Parameters<typeof send>[2] => {
  const given = Object.fromEntries(
    [...new Headers(headers)].filter(([, value]) => value !== `Bearer ${placeholderToken}`),
  );
  const length = body instanceof UploadBlob ? { 'content-length': String(body.size) } : {};
  return {
    method,
    headers: { ...(path === undefined ? {} : jsonHeaders), ...given, ...length },
    ...(body ? { body: () => bodyOf(body, count) } : {}),
    ...(signal ? { signal } : {}),
  };
};

const bodyOf = (body: NonNullable<RequestInit['body']>, count: (bytes: number) => void) => {
  if (body instanceof UploadBlob) return body.counted(count).read();
  if (typeof body === 'string' || body instanceof Uint8Array) return body;
  throw new TypeError('the library sends a body of another kind than before');
};

/** Returns an address's path in the hub's API, if any. The storage answers `/api/complete_multipart`. */
const pathOfApi = ({ environment: { endpoint } }: HubSession, { href }: URL): string | undefined => {
  if (!href.startsWith(`${endpoint}/`)) return undefined;
  const path = href.slice(endpoint.length).replace(/\?.*$/s, '');
  return /^\/api\/(models|repos)\/|\.git\/info\/lfs\/objects\/batch$/.test(path) ? path : undefined;
};

const kept = ({ headers }: Answer): Record<string, string> =>
  Object.fromEntries(
    ['etag', 'x-request-id', 'link'].flatMap((name) => {
      const value = headers[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );

const fromApi = async (
  hub: HubSession,
  answer: Answer,
  path: string,
  body: RequestInit['body'] | undefined,
): Promise<Response> => {
  const { status } = answer;
  const text = (await readAll(hub, answer)).toString();
  if (isPage(answer.headers)) throw pageError(hub, answer.url, status);
  const headers = { ...kept(answer), 'content-type': 'application/json' };
  if (status >= 300)
    return new Response(JSON.stringify({ error: saidIn(text, answer) }), { status, headers });
  const asked: unknown =
    typeof body === 'string' && body.startsWith('{') ? jsonOrNone(firstLine(body)) : undefined;
  const result = checkAnswer(path, text === '' ? undefined : parseJson(hub, answer, text), asked);
  if ('wrong' in result) throw unavailable(hub, `answers a push as no hub does (${result.wrong})`);
  return new Response(JSON.stringify(result.checked) ?? '', { headers });
};

const firstLine = (text: string): string => text.split('\n', 1)[0] ?? '';

const saidIn = (text: string, { status, headers }: Answer): string => {
  // If the body is not JSON, only the status is reported.
  const value = jsonOrNone(text);
  const said = isObject(value) ? (value['error'] ?? value['message']) : headers['x-error-message'];
  return typeof said === 'string' ? said.slice(0, mostSaid) : `it answers ${status}`;
};

/** Confirms that the storage has taken a file. Otherwise ends the push, because the addresses expire. */
const takenByStorage = async (
  hub: HubSession,
  answer: Answer,
  body: NonNullable<RequestInit['body']>,
): Promise<Response> => {
  const { status, headers } = answer;
  const host = hostOf(answer.url);
  const what = body instanceof UploadBlob ? body.name : 'a file';
  if (status >= 300) {
    const most = { bytes: 16 * 1024, stalls: 1 };
    // An error while reading the reason must not hide the refusal.
    const said = String(await readAll(hub, answer, most).catch(() => ''));
    const reason = /<Message>(?<reason>[^<]{1,200})/.exec(said)?.groups?.['reason'];
    throw unavailable(
      hub,
      `the storage ${host} answers ${status}${reason === undefined ? '' : ` (${visibleLine(reason)})`} to the upload of ${what}: the address that the hub gave for it is refused, or has expired`,
      'push again: new addresses are asked for, and files that were sent whole are not sent again',
    );
  }
  discard(answer.body);
  if (body instanceof UploadBlob && body.isPart && headers['etag'] === undefined)
    throw unavailable(hub, `the storage ${host} takes a part of ${what} without an ETag`);
  return new Response('{}', { headers: kept(answer) });
};

/** Passes on the storage's answer about a chunk, which need not be sent if known. */
const knownToStorage = async (hub: HubSession, answer: Answer): Promise<Response> =>
  new Response(new Uint8Array(await readAll(hub, answer)), { status: answer.status });
