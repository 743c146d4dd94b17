import { type Dispatcher, request } from 'undici';
import { LayerloomError } from '../errors.js';
import { version } from '../version.js';
import { networkError, retryAfter, Transient } from './patience.js';
import type { HubSession } from './session.js';

/** An answer whose body has not been read. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Dispatcher.ResponseData['body'];
  /** The address that answered, behind redirects. */
  readonly url: string;
  readonly isRedirected: boolean;
  /** Headers of the hub's redirects, whose last one names the file: `x-linked-etag`, `x-repo-commit`. */
  readonly hubHeaders: Readonly<Record<string, string>>;
}

/** The host of an address, for messages: signed addresses are long and secret. */
export const hostOf = (url: string): string => new URL(url).host;

const flat = (headers: Record<string, string | string[] | undefined>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name.toLowerCase(), Array.isArray(value) ? value.join(', ') : value]],
    ),
  );

const mostRedirects = 10;

/** The token goes to the hub itself, never to where it redirects. */
const authorization = ({ environment: { endpoint, token } }: HubSession, url: URL): Record<string, string> =>
  token !== undefined && url.origin === new URL(endpoint).origin ? { authorization: `Bearer ${token}` } : {};

/**
 * Sends a GET request and follows its redirects. A status of 4xx is an answer like others.
 *
 * @throws Transient for what may pass: a failed connection, 408, 429 and 5xx; LayerloomError HUB_UNAVAILABLE
 */
export const send = async (
  hub: HubSession,
  address: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> => {
  let url = new URL(address);
  let hubHeaders: Record<string, string> = {};
  for (let hop = 0; hop <= mostRedirects; hop += 1) {
    const response = await ask(hub, url, headers);
    const given = flat(response.headers);
    hub.reached = true;
    const { location } = given;
    if (response.statusCode >= 300 && response.statusCode < 400 && location !== undefined) {
      await response.body.dump();
      hubHeaders = { ...hubHeaders, ...given };
      url = new URL(location, url);
      continue;
    }
    const { statusCode: status, body } = response;
    if (status === 408 || status === 429 || status >= 500) {
      await body.dump();
      const afterMs = retryAfter(given);
      throw new Transient(`${url.host} answers ${status}${reasonGiven(given)}`, { afterMs });
    }
    return { status, headers: given, body, url: url.href, isRedirected: hop > 0, hubHeaders };
  }
  throw new LayerloomError('HUB_UNAVAILABLE', {
    endpoint: hub.environment.endpoint,
    reason: `redirects more than ${mostRedirects} times`,
    remedy: 'check HF_ENDPOINT and the proxy',
  });
};

const ask = async (hub: HubSession, url: URL, headers: Readonly<Record<string, string>>) => {
  try {
    return await request(url, {
      dispatcher: hub.connections.for(url),
      signal: hub.signal,
      headers: {
        'user-agent': `layerloom/${version}`,
        'accept-encoding': 'identity',
        ...authorization(hub, url),
        ...headers,
      },
    });
  } catch (error) {
    throw networkError(hub, url.host, error);
  }
};

/** The reason that the hub gives in a header, in parentheses. */
export const reasonGiven = (headers: Readonly<Record<string, string>>): string => {
  const message = headers['x-error-message'];
  return message === undefined ? '' : ` (${message})`;
};

/** True if an answer is a page, as proxies and login portals send in place of what was asked. */
export const isPage = (headers: Readonly<Record<string, string>>): boolean =>
  /^(text\/html|application\/xhtml)/i.test(headers['content-type'] ?? '');

/** @returns the error for a page of HTML in the place of what was asked */
export const pageError = (hub: HubSession, url: string, status: number): LayerloomError =>
  new LayerloomError('HUB_UNAVAILABLE', {
    endpoint: hub.environment.endpoint,
    reason: `${hostOf(url)} answers ${status} with a page of HTML, as a proxy or a login page does`,
    remedy: 'log in there, or set HTTPS_PROXY, NO_PROXY or HF_ENDPOINT',
  });
