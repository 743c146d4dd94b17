/**
 * The first failure among requests and reads that a library makes for us. A library that starts several at once may
 * lose an error, and its own promise then never settles: wait for whichever of the two ends first.
 */
export class FirstFailure {
  /** Rejects with the first failure. */
  readonly promise: Promise<never>;
  #reject: (error: unknown) => void = () => {};

  constructor() {
    this.promise = new Promise((_, reject) => {
      this.#reject = reject;
    });
    // Where nobody waits any more, a failure is of no interest.
    this.promise.catch(() => {});
  }

  readonly note = (error: unknown): void => this.#reject(error);

  /** Returns a `fetch` whose failures are noted. */
  watching(ask: typeof fetch): typeof fetch {
    return async (input, init) => {
      try {
        return await ask(input, init);
      } catch (error) {
        this.note(error);
        throw error;
      }
    };
  }
}
