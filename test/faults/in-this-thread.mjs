// @ts-check
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const require = createRequire(import.meta.url);

/** A pool without threads, which does a task where it is asked to. */
export class Piscina {
  /** @type {Readonly<Record<string, (task: unknown) => Promise<unknown>>>} */
  #worker;

  /** @param {{ readonly filename: string }} options */
  constructor({ filename }) {
    this.#worker = require(fileURLToPath(filename));
  }

  on() {}

  /** @param {unknown} task @param {{ readonly name: string }} options */
  async run(task, { name }) {
    return await this.#worker[name]?.(task);
  }

  async destroy() {}
}
