import type { z } from 'zod';
import { reasonOf } from '../../../core/base/errors/errors.js';
import { jsonOrNone } from '../../../core/texts/json.js';

/** A failure that a new server may not have. */
export class ServerError extends Error {}

/** A failure that every server would have. */
export class PermanentError extends ServerError {}

/**
 * Imports undici on first use. Turns off its timeouts, because loading weights may take longer than its five
 * minutes; `timeoutSeconds` limits each request.
 */
const loadClient = async () => {
  const { Agent, request } = await import('undici');
  return { request, dispatcher: new Agent({ headersTimeout: 0, bodyTimeout: 0 }) };
};

let client: ReturnType<typeof loadClient> | undefined;

/** Longest response; hashes of a model's tensor parts take a few megabytes. */
const mostBytes = 64 * 1024 * 1024;

const textOf = async (body: AsyncIterable<Buffer>, url: string): Promise<string> => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      bytes += chunk.length;
      // `break` also closes the connection.
      if (bytes > mostBytes) break;
    }
  } catch (error) {
    throw new ServerError(`${url} ended its answer too early (${reasonOf(error)})`);
  }
  if (bytes > mostBytes) throw new PermanentError(`${url} sent more than ${mostBytes} bytes`);
  return Buffer.concat(chunks).toString();
};

interface RequestLimits {
  readonly timeoutSeconds: number;
  readonly signal: AbortSignal | undefined;
  /** Option or mode that the server needs, for messages about missing paths. */
  readonly needs: string;
}

/** A client of a server: GET without a body, POST with one. Every request may throw ServerError. */
export class ServerClient {
  readonly url: string;
  readonly timeoutSeconds: number;
  readonly #signal: AbortSignal | undefined;
  readonly #needs: string;

  constructor(url: string, { timeoutSeconds, signal, needs }: RequestLimits) {
    this.url = url;
    this.timeoutSeconds = timeoutSeconds;
    this.#signal = signal;
    this.#needs = needs;
  }

  /** Returns a client whose requests ignore the signal, to clean up after an abort. They still time out. */
  unstoppable(): ServerClient {
    const { url, timeoutSeconds } = this;
    return new ServerClient(url, { timeoutSeconds, signal: undefined, needs: this.#needs });
  }

  async json<T>(schema: z.ZodType<T>, path: string, body?: object): Promise<T> {
    const text = await this.text(path, body);
    const read = schema.safeParse(jsonOrNone(text));
    if (!read.success)
      throw new ServerError(`${this.url}${path} gave an unexpected answer: ${text.slice(0, 300)}`);
    return read.data;
  }

  async text(path: string, body?: object): Promise<string> {
    const url = `${this.url}${path}`;
    const key = process.env['OPENAI_API_KEY'];
    client ??= loadClient();
    const { request, dispatcher } = await client;
    const late = AbortSignal.timeout(this.timeoutSeconds * 1000);
    const answer = await request(url, {
      dispatcher,
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: this.#signal === undefined ? late : AbortSignal.any([this.#signal, late]),
    }).catch((error: unknown) => {
      throw new ServerError(`${url} did not answer (${reasonOf(error)})`);
    });
    const text = await textOf(answer.body, url);
    if (answer.statusCode === 404)
      throw new PermanentError(`${url} does not exist: the server must be ${this.#needs}`);
    if (answer.statusCode >= 300)
      throw new ServerError(`${url} answered ${answer.statusCode}: ${text.slice(0, 300)}`);
    return text;
  }
}
