import { watchLog } from '../../../core/programs/watch-log.js';

export interface Requests {
  readonly done: number;
  readonly total: number;
}

/**
 * Matches the harness's progress bars over requests: `Running generate_until requests: 12%|█▏ | 3/25
 * [00:10<…`. Bars over contexts, tokens and texts do not match.
 */
const bar = /(?:Running [\w ]+ requests|Requesting API|Processed prompts):\s+\d+%\|[^|]*\|\s*(\d+)\/(\d+) \[/;

/** Matches the line before the requests of a kind, with the numbers of cached and remaining requests. */
const cached = /Cached requests: (\d+), Requests remaining: (\d+)/;

/**
 * Counts requests from a growing log. The harness draws one bar per kind of request; for perplexities, one
 * per batch. A text longer than the context counts as one request.
 */
export class RequestCounter {
  /** Requests of earlier kinds. The fields below are about the present kind. */
  #earlier = 0;
  #kind: { readonly total: number; readonly cached: number } | undefined;
  #ended = 0;
  #bar: Requests | undefined;
  #rest = '';

  feed(text: string): void {
    const lines = `${this.#rest}${text}`.split(/[\r\n]/);
    this.#rest = lines.at(-1) ?? '';
    for (const line of lines) this.#read(line);
  }

  /** Requests done and in total; undefined before the first progress bar. */
  get requests(): Requests | undefined {
    if (this.#bar === undefined) return undefined;
    const total = this.#kind?.total ?? this.#ended + this.#bar.total;
    const done = Math.min(total, (this.#kind?.cached ?? 0) + this.#ended + this.#bar.done);
    return { done: this.#earlier + done, total: this.#earlier + total };
  }

  #read(line: string): void {
    const [, before, remaining] = cached.exec(line) ?? [];
    if (before !== undefined) this.#begin(Number(before), Number(remaining));
    const [, done, total] = bar.exec(line) ?? [];
    if (done === undefined) return;
    const next = { done: Number(done), total: Number(total) };
    if (this.#bar !== undefined && next.done < this.#bar.done) this.#ended += this.#bar.total;
    this.#bar = next;
  }

  #begin(before: number, remaining: number): void {
    const kind = { total: before + remaining, cached: before };
    // The log's last line may be incomplete; it is read again when the log grows.
    if (this.#bar === undefined && this.#kind?.total === kind.total) return;
    this.#earlier += this.#bar === undefined ? 0 : (this.#kind?.total ?? this.#ended + this.#bar.total);
    [this.#kind, this.#ended, this.#bar] = [kind, 0, undefined];
  }
}

/**
 * Watches a run's log for progress bars. The run itself reports an unreadable log.
 *
 * @returns ends the watch
 */
export const watchRequests = (
  log: string,
  begin: number,
  onRequests: (requests: Requests) => void,
): (() => void) => {
  const counter = new RequestCounter();
  let seen = '';
  return watchLog(log, begin, (grown) => {
    counter.feed(grown);
    const { requests } = counter;
    const text = `${requests?.done} ${requests?.total}`;
    if (requests === undefined || text === seen) return;
    seen = text;
    onRequests(requests);
  });
};
