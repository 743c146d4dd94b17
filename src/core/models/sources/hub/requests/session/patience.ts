import { setTimeout as delay } from 'node:timers/promises';
import { checkInterrupt, LayerloomError, reasonOf } from '../../../../../base/errors/errors.js';
import type { HubSession } from './session.js';
import { unavailable } from './unavailable.js';
import { leastToldMs, type Wait, waits } from './waits.js';

/** A transient failure, after which the request is retried. */
export class TransientError extends Error {
  /** Milliseconds to wait, if the server asks for it. */
  readonly afterMs: number | undefined;

  constructor(reason: string, options: ErrorOptions & { afterMs?: number | undefined } = {}) {
    super(reason, options);
    this.afterMs = options.afterMs;
  }
}

/** A malformed answer. Retried only a few times, because the cause may be permanent. */
export class BadAnswerError extends TransientError {}

export class TooSlowError extends TransientError {}

/** Maximum consecutive failures if answers are malformed, servers slow, or the network never worked. */
const fewAttempts = 4;

/** Bytes since the last failure that count as progress. */
const leastProgress = 1024;

const progressIfSlow = 1024 * 1024;

/** Counts a request's consecutive failures, and waits before retries. */
export class Attempts {
  readonly #hub: HubSession;
  #failures = 0;
  #bytes = 0;
  #needed = leastProgress;

  constructor(hub: HubSession) {
    this.#hub = hub;
  }

  /** Records received bytes; enough of them reset the count of failures, so that long downloads finish. */
  progressed(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes >= this.#needed) this.#failures = 0;
  }

  /**
   * Waits before the next retry, but not after progress.
   *
   * @throws HUB_UNAVAILABLE after too many failures, INTERRUPTED; `error` itself if retrying cannot help
   */
  async failed(error: unknown): Promise<void> {
    const { patience, reached, signal } = this.#hub;
    checkInterrupt(signal);
    if (!(error instanceof TransientError)) throw error;
    const hadProgress = this.#bytes >= this.#needed;
    this.#bytes = 0;
    this.#failures += 1;
    this.#needed = error instanceof TooSlowError ? progressIfSlow : leastProgress;
    const isLong = reached && !(error instanceof BadAnswerError) && !(error instanceof TooSlowError);
    const most = isLong ? patience.attempts : Math.min(patience.attempts, fewAttempts);
    if (this.#failures >= most)
      throw unavailable(
        this.#hub,
        `${error.message} (tried ${this.#failures} times)`,
        reached ? 'run again later: what has come is kept' : 'check the network, HTTPS_PROXY and HF_ENDPOINT',
        { cause: error },
      );
    if (hadProgress && error.afterMs === undefined) return;
    const delayMs = this.#delayMs(error.afterMs);
    if (delayMs >= leastToldMs) {
      const wait: Wait = { seconds: Math.round(delayMs / 1000), reason: error.message };
      waits.publish(wait);
    }
    await delay(delayMs, undefined, { signal }).catch(() => checkInterrupt(signal));
  }

  #delayMs(asked: number | undefined): number {
    const { firstDelayMs, longestDelayMs } = this.#hub.patience;
    const doubled = firstDelayMs * 2 ** (this.#failures - 1) * (1 + Math.random() / 2);
    return Math.min(longestDelayMs, Math.max(doubled, asked ?? doubled));
  }
}

export const patiently = async <T>(hub: HubSession, work: () => Promise<T>): Promise<T> => {
  const attempts = new Attempts(hub);
  for (;;) {
    try {
      return await work();
    } catch (error) {
      await attempts.failed(error);
    }
  }
};

/** Returns the milliseconds to wait, from `Retry-After` or the hub's `RateLimit: "api";r=0;t=55`. */
export const retryAfter = (
  headers: Readonly<Record<string, string>>,
  now = Date.now(),
): number | undefined => {
  const { 'retry-after': after, ratelimit } = headers;
  const reset = /;\s*r=0;\s*t=(?<seconds>\d+)/.exec(ratelimit ?? '')?.groups?.['seconds'];
  if (after === undefined) return reset === undefined ? undefined : Number(reset) * 1000;
  if (/^\d+$/.test(after)) return Number(after) * 1000;
  const date = Date.parse(after);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
};

const permanent = /^(CERT_|ERR_TLS|ERR_SSL|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|ERR_INVALID|UND_ERR_INVALID)/;

/** Returns the codes of a network error and of its causes (one for each address tried). */
const codesOf = (error: unknown): string[] => {
  if (!(error instanceof Error)) return [];
  const { code, errors } = error as { code?: unknown; errors?: unknown[] };
  return [
    ...(typeof code === 'string' ? [code] : []),
    ...(errors ?? []).flatMap(codesOf),
    ...codesOf(error.cause),
  ];
};

/** Converts a connection's error: transient, except errors of certificates and addresses. */
export const networkError = (hub: HubSession, host: string, error: unknown): unknown => {
  if (hub.signal.aborted || error instanceof LayerloomError || error instanceof TransientError) return error;
  const codes = codesOf(error);
  const said = error instanceof AggregateError ? codes.join(', ') : reasonOf(error);
  const stalled = codes.some((code) => /^UND_ERR_(HEADERS|BODY|CONNECT)_TIMEOUT$/.test(code));
  const reason = stalled
    ? `${host} sent nothing for ${hub.environment.stallMs / 1000} s`
    : `the connection to ${host} failed: ${said}`;
  if (!codes.some((code) => permanent.test(code))) return new TransientError(reason, { cause: error });
  const remedy = 'check the certificates (NODE_EXTRA_CA_CERTS), HTTPS_PROXY and HF_ENDPOINT';
  return unavailable(hub, reason, remedy, { cause: error });
};
