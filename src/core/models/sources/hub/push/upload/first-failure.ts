/**
 * A promise that rejects with the first failure. Callers race the library with it, because the library may
 * lose an error and never settle.
 */
export class FirstFailure {
  readonly promise: Promise<never>;
  #reject: (error: unknown) => void = () => {};

  constructor() {
    this.promise = new Promise((_, reject) => {
      this.#reject = reject;
    });
    // Avoids an unhandled rejection.
    this.promise.catch(() => {});
  }

  readonly note = (error: unknown): void => this.#reject(error);

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
