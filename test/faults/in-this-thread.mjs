// @ts-check
// Replaces piscina, which the program loads for its threads, by a pool without threads. Starting threads
// takes longer than the rest of a small merge.
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const require = createRequire(import.meta.url);

class InThisThread {
  /** @type {(message: unknown) => Promise<unknown>} */
  #worker;

  /** @param {{ readonly filename: string }} options */
  constructor({ filename }) {
    this.#worker = require(fileURLToPath(filename)).run;
  }

  on() {}

  /** @param {unknown} message */
  async run(message) {
    return await this.#worker(message);
  }

  async destroy() {}
}

// Must precede its import, which copies the exports.
Object.defineProperty(require('piscina'), 'Piscina', { value: InThisThread });
