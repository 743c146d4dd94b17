import { addAbortListener, setMaxListeners } from 'node:events';
import type { Readable } from 'node:stream';
import { type Dispatcher, request } from 'undici';
import type { LayerloomError } from '../../../../base/errors/errors.js';
import { version } from '../../../../base/files/version.js';
import { networkError, retryAfter, TransientError } from './session/patience.js';
import { parseAddress } from './session/server-address.js';
import type { HubSession } from './session/session.js';
import { unavailable } from './session/unavailable.js';

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Dispatcher.ResponseData['body'];
  readonly url: string;
  readonly isRedirected: boolean;
  /** Headers of the hub's redirects. The last redirect names the file: `x-linked-etag`, `x-repo-commit`. */
  readonly hubHeaders: Readonly<Record<string, string>>;
}

/** Returns an address's host, for messages: signed addresses are secret. */
export const hostOf = (url: string): string => new URL(url).host;

const flat = (headers: Record<string, string | string[] | undefined>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name.toLowerCase(), Array.isArray(value) ? value.join(', ') : value]],
    ),
  );

const mostRedirects = 10;

/** Returns the token for requests to the hub itself; redirect targets never get it. */
const authorization = ({ environment: { endpoint, token } }: HubSession, url: URL): Record<string, string> =>
  token !== undefined && url.origin === new URL(endpoint).origin ? { authorization: `Bearer ${token}` } : {};

export interface Question {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Returns the body; called for each request, because redirects send it again. */
  readonly body?: (() => string | Uint8Array | Readable) | undefined;
  /** Aborts this request only; the session's signal aborts all. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Sends a request and follows redirects. A 4xx status is not an error.
 *
 * @throws TransientError for a failed connection, 408, 429 and 5xx; LayerloomError HUB_UNAVAILABLE
 */
export const send = async (hub: HubSession, address: string, question: Question = {}): Promise<Answer> => {
  let url = new URL(address);
  let hubHeaders: Record<string, string> = {};
  for (let hop = 0; hop <= mostRedirects; hop += 1) {
    const response = await ask(hub, url, question);
    const given = flat(response.headers);
    hub.reached = true;
    const { statusCode: status, body } = response;
    if (status >= 300 && status < 400) {
      discard(body);
      hubHeaders = { ...hubHeaders, ...given };
      url = redirected(hub, url, given['location'], status, question);
      continue;
    }
    if (status === 408 || status === 429 || status >= 500) {
      discard(body);
      const afterMs = retryAfter(given);
      throw new TransientError(`${url.host} answers ${status}${reasonGiven(given)}`, { afterMs });
    }
    return { status, headers: given, body, url: url.href, isRedirected: hop > 0, hubHeaders };
  }
  throw unavailable(hub, `redirects more than ${mostRedirects} times`, 'check HF_ENDPOINT and the proxy');
};

/** Returns a redirect's target. Sends a body again only if the status demands it. */
const redirected = (
  hub: HubSession,
  from: URL,
  location: string | undefined,
  status: number,
  { method = 'GET' }: Question,
): URL => {
  const url = location === undefined ? undefined : parseAddress(location, from);
  if (url === undefined)
    throw unavailable(hub, `${from.host} answers ${status}, and not with the address of another server`);
  if (method !== 'GET' && status !== 307 && status !== 308)
    throw unavailable(hub, `${from.host} answers ${status} to a ${method}, as no hub does`);
  return url;
};

/** Time limit for the start of an answer, in multiples of the stall timeout. */
const mostStallsBefore = 3;

const ask = async (hub: HubSession, url: URL, { method = 'GET', headers, body, signal }: Question) => {
  const own = new AbortController();
  const from = [hub.signal, ...(signal === undefined ? [] : [signal])];
  // A push has up to 25 parallel requests, and Node warns at more than ten listeners.
  setMaxListeners(0, ...from);
  const links = from.map((one) => addAbortListener(one, () => own.abort(one.reason)));
  const unlink = () => {
    for (const link of links) link[Symbol.dispose]();
  };
  const limitMs = mostStallsBefore * hub.environment.stallMs;
  const late = () => own.abort(new TransientError(`${url.host} gave no answer in ${limitMs / 1000} s`));
  const timer = body === undefined ? setTimeout(late, limitMs) : undefined;
  try {
    const answer = request(url, {
      method: method as Dispatcher.HttpMethod,
      dispatcher: hub.connections.for(url),
      signal: own.signal,
      headers: { 'user-agent': `layerloom/${version}`, ...authorization(hub, url), ...headers },
      ...(body === undefined ? {} : { body: body() }),
    });
    // Undici ignores the signal until it is connected.
    const response = await Promise.race([answer, rejected(own.signal)]);
    response.body.on('close', unlink);
    return response;
  } catch (error) {
    unlink();
    throw signal?.aborted ? error : networkError(hub, url.host, error);
  } finally {
    clearTimeout(timer);
  }
};

const rejected = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));

/** Limits on reading an unwanted answer to its end; beyond them, the connection is closed. */
const restBytes = 16 * 1024;
const restMs = 1000;

export const discard = (body: Answer['body']): void => {
  const timer = setTimeout(() => body.destroy(), restMs).unref();
  const settled = () => clearTimeout(timer);
  body.dump({ limit: restBytes }).then(settled, settled);
};

const mostSaid = 500;

export const reasonGiven = (headers: Readonly<Record<string, string>>): string => {
  const message = headers['x-error-message'];
  return message === undefined ? '' : ` (${message.slice(0, mostSaid)})`;
};

/** True for HTML, which proxies and login portals send. */
export const isPage = (headers: Readonly<Record<string, string>>): boolean =>
  /^(text\/html|application\/xhtml)/i.test(headers['content-type'] ?? '');

export const pageError = (hub: HubSession, url: string, status: number): LayerloomError =>
  unavailable(
    hub,
    `${hostOf(url)} answers ${status} with a page of HTML, as a proxy or a login page does`,
    'log in there, or set HTTPS_PROXY, NO_PROXY or HF_ENDPOINT',
  );
