import { LayerloomError } from '../../../../base/errors/errors.js';
import type { Extent } from '../../../../tensor/extent.js';
import type { RemoteBytes, Sink } from '../../ranges/fetch-into.js';
import type { ListedFile } from '../../ranges/folder/record.js';
import { batches, type LeastPace } from './batches.js';
import { alteredBy, bodyRange, plainRange } from './plain-body.js';
import { refusalOf } from './refusal.js';
import { type Answer, discard, hostOf, isPage, pageError, send } from './send.js';
import { Attempts, BadAnswerError, networkError, TooSlowError, TransientError } from './session/patience.js';
import type { HubSession } from './session/session.js';
import { unavailable } from './session/unavailable.js';

export interface HubFile extends ListedFile {
  /** The content's name in Xet storage, without which the hub cannot copy the file. */
  readonly xetHash?: string;
}

/** Lowest acceptable bytes per second of a connection. */
const leastRate = 1024;

/** A server answered a range request with the whole file. */
export class RangesIgnored extends Error {}

const withoutQuotes = (etag: string | undefined): string | undefined =>
  etag?.replace(/^W\//, '').replace(/^"(.*)"$/, '$1');

const isHash = /^([0-9a-f]{40}|[0-9a-f]{64})$/;

export class RemoteFile implements RemoteBytes {
  readonly file: ListedFile;
  readonly #hub: HubSession;
  readonly #id: string;
  readonly #commit: string;
  /** Target of the hub's redirect, which is reused until it expires. */
  #address: string | undefined;
  /** The file server's ETag, which must be equal for all ranges. */
  #served: string | undefined;

  /** @param served the file server's ETag for earlier ranges */
  constructor(
    hub: HubSession,
    { id, commit }: { id: string; commit: string },
    file: ListedFile,
    served?: string,
  ) {
    this.file = file;
    this.#hub = hub;
    this.#id = id;
    this.#commit = commit;
    this.#served = served;
  }

  get served(): string | undefined {
    return this.#served;
  }

  /**
   * Reads bytes [begin, end). Resumes after cut connections and partial answers while bytes arrive.
   *
   * @param mayDiscard true to discard everything but the range if the server sends the whole file
   * @throws HUB_FILE_CHANGED if the content differs from the list or from earlier answers; HUB_ACCESS,
   * HUB_NOT_FOUND, HUB_UNAVAILABLE, INTERRUPTED; RangesIgnored
   */
  async read(begin: number, end: number, sink: Sink, { mayDiscard = false } = {}): Promise<void> {
    const attempts = new Attempts(this.#hub);
    let position = begin;
    while (position < end) {
      try {
        for await (const chunks of this.#answer(position, end, mayDiscard)) {
          await sink(chunks, position);
          position += lengthOf(chunks);
          attempts.progressed(lengthOf(chunks));
        }
        if (position < end)
          throw new BadAnswerError(`the server sends less of ${this.file.name} than is asked for`);
      } catch (error) {
        await attempts.failed(error);
      }
    }
  }

  async readBytes(begin: number, end: number): Promise<Buffer> {
    const content = Buffer.allocUnsafe(end - begin);
    const sink: Sink = (chunks, position) => {
      let at = position - begin;
      for (const chunk of chunks) at += chunk.copy(content, at);
    };
    await this.read(begin, end, sink, { mayDiscard: true });
    return content;
  }

  async *#answer(position: number, end: number, mayDiscard: boolean): AsyncGenerator<Buffer[]> {
    const answer = await this.#request(position, end);
    let first = true;
    let [skip, rest] = [0, 0];
    try {
      const body = this.#check(answer, position, end);
      if (answer.status === 200 && !mayDiscard && end - position < this.file.bytes) throw new RangesIgnored();
      skip = position - body.begin;
      rest = Math.min(end, body.end) - position;
    } catch (error) {
      discard(answer.body);
      throw error;
    }
    try {
      for await (const chunks of batches(answer.body, this.#leastPace(answer))) {
        if (first) this.#checkFirst(answer, chunks);
        first = false;
        const wanted = cut(chunks, skip, rest);
        skip = Math.max(0, skip - lengthOf(chunks));
        rest -= lengthOf(wanted);
        if (wanted.length > 0) yield wanted;
        if (rest === 0) return;
      }
    } catch (error) {
      throw networkError(this.#hub, hostOf(answer.url), error);
    }
    // The server sent only part of the range, or the connection was cut.
    throw new TransientError(`${hostOf(answer.url)} sent too few bytes`);
  }

  #leastPace({ url }: Answer): LeastPace {
    const { stallMs: ms } = this.#hub.environment;
    const bytes = Math.ceil((leastRate * ms) / 1000);
    const error = () => new TooSlowError(`${hostOf(url)} sent less than ${bytes} bytes in ${ms / 1000} s`);
    return { bytes, ms, error };
  }

  async #request(begin: number, end: number): Promise<Answer> {
    const { endpoint } = this.#hub.environment;
    const path = this.file.name.split('/').map(encodeURIComponent).join('/');
    const known = this.#address;
    const address = known ?? `${endpoint}/${this.#id}/resolve/${this.#commit}/${path}`;
    const answer = await send(this.#hub, address, { headers: plainRange({ begin, end }) });
    const isSigned = known !== undefined || answer.isRedirected;
    if (answer.status >= 400 && answer.status !== 416) {
      discard(answer.body);
      // The signed address has expired, and the hub will give another.
      if (isSigned && answer.headers['x-error-code'] === undefined) {
        if (this.#address === known) this.#address = undefined;
        throw new TransientError(
          `${hostOf(answer.url)} answers ${answer.status} at the address that the hub gave`,
        );
      }
      const asked = { id: this.#id, revision: this.#commit, file: this.file.name };
      throw refusalOf(this.#hub, asked, answer);
    }
    if (answer.isRedirected) this.#address = answer.url;
    return answer;
  }

  /** Checks an answer's headers. Returns the body's range, which begins at or before `position`. */
  #check(answer: Answer, position: number, end: number): Extent {
    const { status, headers } = answer;
    if (isPage(headers)) throw pageError(this.#hub, answer.url, status);
    const altered = alteredBy(headers);
    if (altered !== undefined) throw this.#notPlain(answer, altered);
    this.#checkTag(answer);
    if (status === 416) throw this.#changed('is shorter on the server than it was listed');
    const { bytes } = this.file;
    const said = ['content-range', 'content-length'].filter((name) => headers[name] !== undefined);
    if (status === 200 && headers['content-range'] === undefined) return { begin: 0, end: bytes };
    const range = status === 206 ? bodyRange(headers) : undefined;
    if (range?.total !== undefined && range.total !== bytes)
      throw this.#changed(`has ${range.total} bytes on the server, and was listed with ${bytes}`);
    if (range?.begin !== position || range.end > end)
      throw new BadAnswerError(
        `${hostOf(answer.url)} answers ${[status, ...said.map((name) => `${name}: ${headers[name]}`)].join(', ')} where bytes ${position}-${end - 1} were asked for`,
      );
    return range;
  }

  #notPlain({ url }: Answer, altered: string): LayerloomError {
    return unavailable(
      this.#hub,
      `${hostOf(url)} sends ${this.#id}/${this.file.name} with ${altered}, and not as the bytes that it is`,
      'use a server, and a proxy, that send files as they are: see HF_ENDPOINT and HTTPS_PROXY',
    );
  }

  #checkTag({ headers, hubHeaders, isRedirected }: Answer): void {
    const own = withoutQuotes(headers['etag']);
    // Only the hub's own ETag names the content; other servers' ETags are arbitrary.
    const isHub = !isRedirected && this.#address === undefined && isHash.test(own ?? '');
    const name =
      withoutQuotes(hubHeaders['x-linked-etag'] ?? headers['x-linked-etag']) ?? (isHub ? own : undefined);
    // A SHA-256 as ETag cannot be compared if the list of files states none.
    const isComparable = this.file.sha256 !== undefined || name?.length !== 64;
    if (name !== undefined && name !== this.file.etag && isComparable)
      throw this.#changed(`was listed with the ETag ${this.file.etag} and now has ${name}`);
    if (own === undefined) return;
    this.#served ??= own;
    if (own !== this.#served) throw this.#changed(`had the ETag ${this.#served} before and now has ${own}`);
  }

  /** Detects an HTML page instead of the file, by length and first bytes. */
  #checkFirst(answer: Answer, chunks: readonly Buffer[]): void {
    if (answer.status !== 200) return;
    const length = answer.headers['content-length'];
    if (length !== undefined && Number(length) === this.file.bytes) return;
    const start = Buffer.concat(chunks).subarray(0, 512).toString('latin1');
    if (/^\s*<(!doctype\s+html|html)/i.test(start)) throw pageError(this.#hub, answer.url, answer.status);
    if (length !== undefined)
      throw this.#changed(`has ${length} bytes on the server, and was listed with ${this.file.bytes}`);
  }

  #changed(reason: string): LayerloomError {
    return new LayerloomError('HUB_FILE_CHANGED', { model: this.#id, file: this.file.name, reason });
  }
}

const lengthOf = (chunks: readonly Buffer[]): number =>
  chunks.reduce((bytes, chunk) => bytes + chunk.length, 0);

const cut = (chunks: readonly Buffer[], skip: number, most: number): Buffer[] => {
  const wanted: Buffer[] = [];
  let [before, rest] = [skip, most];
  for (const chunk of chunks) {
    const piece = chunk.subarray(before, before + rest);
    before = Math.max(0, before - chunk.length);
    rest -= piece.length;
    if (piece.length > 0) wanted.push(piece);
  }
  return wanted;
};
