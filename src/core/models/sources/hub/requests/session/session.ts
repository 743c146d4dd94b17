import { type HubEnvironment, hubEnvironment } from '../../environment.js';
import { type HubOptions, type Patience, usualPatience } from '../../hub.js';
import { type Connections, openConnections } from './proxy.js';
import { parseAddress } from './server-address.js';
import { unavailable } from './unavailable.js';

/** State that a run's requests share. */
export interface HubSession extends AsyncDisposable {
  readonly environment: HubEnvironment;
  readonly connections: Connections;
  readonly patience: Patience;
  /** Aborted by the caller or by `stop`. */
  readonly signal: AbortSignal;
  /** True once a server has answered. A network that never worked is given up sooner. */
  reached: boolean;
  stop(): void;
}

export const mostRequests = 8;

/**
 * Opens a session; disposing closes its connections. Uses proxies from `HTTPS_PROXY` and similar variables.
 *
 * @throws HUB_UNAVAILABLE if the user forbids network access, or the endpoint is invalid
 */
export const openHub = async ({
  env = process.env,
  signal,
  patience = usualPatience,
}: HubOptions): Promise<HubSession> => {
  const environment = await hubEnvironment(env);
  const { endpoint, token = '', tokenFrom, offline, stallMs } = environment;
  if (offline !== undefined)
    throw unavailable(
      { environment },
      `${offline} forbids asking it`,
      'unset it, or use models that are in the cache',
    );
  // Paths are appended to the endpoint, so it must have no query or fragment.
  if (parseAddress(endpoint) === undefined || /[?#]/.test(endpoint))
    throw unavailable(
      { environment },
      'HF_ENDPOINT is no address of a server',
      'give one such as https://huggingface.co, or unset it',
    );
  if (/[^\x21-\x7e]/.test(token))
    throw unavailable(
      { environment },
      `the token (${tokenFrom}) has characters that cannot be sent`,
      'set it again',
    );
  const connections = openConnections(env, {
    headersTimeout: stallMs,
    bodyTimeout: stallMs,
    connect: { timeout: stallMs },
    connections: mostRequests,
  });
  const own = new AbortController();
  const stop = () => own.abort();
  if (signal?.aborted) stop();
  signal?.addEventListener('abort', stop);
  return {
    environment,
    connections,
    patience,
    signal: own.signal,
    reached: false,
    stop,
    [Symbol.asyncDispose]: () => {
      signal?.removeEventListener('abort', stop);
      return connections.close();
    },
  };
};
