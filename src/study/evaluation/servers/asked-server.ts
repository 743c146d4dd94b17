import type { z } from 'zod';
import { reasonOf } from '../../../core/base/errors.js';
import { jsonOrNone } from '../../../core/texts/json.js';

// Questions to a server that takes weights, and what may go wrong between here and there.

/** Something that went wrong between here and a server; another one may do. */
export class Fault extends Error {}

/** Something that no other server would do either. */
export class Permanent extends Fault {}

/**
 * Loads what asks; few of those that import the library ask a server. A load of weights may take longer than the five
 * minutes that undici waits for headers: only `timeoutSeconds` counts.
 */
const loadClient = async () => {
  const { Agent, request } = await import('undici');
  return { request, dispatcher: new Agent({ headersTimeout: 0, bodyTimeout: 0 }) };
};

let client: ReturnType<typeof loadClient> | undefined;

/** The most bytes of an answer: hashes of the parts of a model's tensors are a few megabytes. */
const mostBytes = 64 * 1024 * 1024;

const textOf = async (body: AsyncIterable<Buffer>, url: string): Promise<string> => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      bytes += chunk.length;
      // Ends the loop, which closes the connection.
      if (bytes > mostBytes) break;
    }
  } catch (error) {
    throw new Fault(`${url} broke off its answer (${reasonOf(error)})`);
  }
  if (bytes > mostBytes) throw new Permanent(`${url} sends an answer of more than ${mostBytes} bytes`);
  return Buffer.concat(chunks).toString();
};

interface Patience {
  readonly timeoutSeconds: number;
  readonly signal: AbortSignal | undefined;
  /** What the server must be, in words, where it does not know a path. */
  readonly needs: string;
}

/** A server at a URL, which is asked by GET without a body. Every question throws Fault. */
export class AskedServer {
  readonly url: string;
  readonly timeoutSeconds: number;
  readonly #signal: AbortSignal | undefined;
  readonly #needs: string;

  constructor(url: string, { timeoutSeconds, signal, needs }: Patience) {
    this.url = url;
    this.timeoutSeconds = timeoutSeconds;
    this.#signal = signal;
    this.#needs = needs;
  }

  /** The same server, asked by questions that nothing but time stops: what must be ended when a run is stopped. */
  unstoppable(): AskedServer {
    const { url, timeoutSeconds } = this;
    return new AskedServer(url, { timeoutSeconds, signal: undefined, needs: this.#needs });
  }

  /** Returns an answer that is JSON. */
  async json<T>(schema: z.ZodType<T>, path: string, body?: object): Promise<T> {
    const text = await this.text(path, body);
    const read = schema.safeParse(jsonOrNone(text));
    if (!read.success)
      throw new Fault(`${this.url}${path} answered something else than expected: ${text.slice(0, 300)}`);
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
      throw new Fault(`${url} did not answer (${reasonOf(error)})`);
    });
    const text = await textOf(answer.body, url);
    if (answer.statusCode === 404)
      throw new Permanent(`${url} is not there: the server must be ${this.#needs}`);
    if (answer.statusCode >= 300)
      throw new Fault(`${url} answered ${answer.statusCode}: ${text.slice(0, 300)}`);
    return text;
  }
}
