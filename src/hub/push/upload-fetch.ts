import type { RequestInit as UndiciInit } from 'undici';
import { fetch as ask } from 'undici';
import { version } from '../../version.js';
import { networkError, patiently, retryAfter, Transient } from '../patience.js';
import type { HubSession } from '../session.js';
import { UploadBlob } from './upload-blob.js';

/** Counts the bytes of files that were sent, without those of requests that are repeated. */
export interface SentBytes {
  add(bytes: number): void;
}

/**
 * Returns a `fetch` for the hub's own library that repeats what may pass, goes through the user's proxy, has no
 * limit of time as long as bytes move, and counts the bytes of files that it sends.
 */
export const uploadFetch =
  (hub: HubSession, sent: SentBytes): typeof fetch =>
  (input, init = {}) =>
    patiently(hub, async () => {
      const url = new URL(input instanceof Request ? input.url : input);
      let ofThis = 0;
      const count = (bytes: number) => {
        ofThis += bytes;
        sent.add(bytes);
      };
      const body = init.body instanceof UploadBlob ? init.body.counted(count) : init.body;
      const failed = (reason: string, options: ErrorOptions & { afterMs?: number | undefined } = {}) => {
        sent.add(-ofThis);
        return new Transient(reason, options);
      };
      const response = await ask(url, {
        ...(init as UndiciInit),
        headers: {
          ...headersOf(init.headers),
          'user-agent': `layerloom/${version}`,
          ...authorization(hub, url),
        },
        ...(body === undefined || body === null ? {} : { body: body as NonNullable<UndiciInit['body']> }),
        dispatcher: hub.connections.for(url),
      }).catch((cause: unknown) => {
        const error = networkError(hub, url.host, cause);
        throw error instanceof Transient ? failed(error.message, { cause }) : error;
      });
      hub.reached = true;
      const { status } = response;
      if (status !== 408 && status !== 429 && status < 500) return response as unknown as Response;
      await response.body?.cancel();
      throw failed(`${url.host} answers ${status}`, {
        afterMs: retryAfter(Object.fromEntries(response.headers)),
      });
    });

/** The token goes to the hub itself, and not to the storage that it names. */
const authorization = ({ environment: { endpoint, token } }: HubSession, { origin }: URL) =>
  token !== undefined && origin === new URL(endpoint).origin ? { authorization: `Bearer ${token}` } : {};

const headersOf = (headers: RequestInit['headers']): Record<string, string> =>
  Object.fromEntries([...new Headers(headers)].filter(([name]) => name !== 'authorization'));
