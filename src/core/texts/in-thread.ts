import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { withCode } from '../base/errors.js';

/** A library took longer for a text than it may. */
export class TookTooLong extends Error {}

/** Calls functions of a module, as they are asked for. */
const program = `
const { parentPort, workerData } = require('node:worker_threads');
const functions = require(workerData);
parentPort.on('message', ([name, values]) => {
  let answer;
  try {
    answer = { value: functions[name](...values) };
  } catch (error) {
    answer = { reason: String(error?.message ?? error) };
  }
  parentPort.postMessage(answer);
});
`;

type Answer = { readonly value: unknown } | { readonly reason: string } | { readonly error: unknown };

/** How often the time of a call is looked at, in milliseconds. */
const everyMs = 50;

/** Limit on a library's objects, several times what the largest tokenizers need. */
const mostMegabytes = 2048;

/**
 * A thread in which a library handles texts from outside, among them regular expressions that may take any time: a call that
 * takes longer than it may ends with the thread.
 */
export class LibraryThread {
  readonly #worker: Worker;
  /** Microseconds that calls may take still. */
  #left = 0;
  /** Takes what becomes of the call that is made. */
  #answer: (answer: Answer) => void = () => undefined;
  /** The thread's end, after which no call is answered. */
  #ended: Answer | undefined;

  /** @param module a CommonJS module */
  constructor(module: URL) {
    this.#worker = new Worker(program, {
      eval: true,
      workerData: fileURLToPath(module),
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: mostMegabytes },
    });
    this.#worker.on('message', (answer: Answer) => this.#answer(answer));
    const end = (error: Error): void => {
      this.#ended ??= { error: withCode(error) };
      this.#answer(this.#ended);
    };
    this.#worker.on('error', end);
    this.#worker.on('exit', () => end(new Error('its thread ended')));
  }

  /**
   * Calls a function of the module, one call at a time.
   *
   * @param seconds that the call may take, besides those that earlier ones left: of the process, which does nothing else
   *   meanwhile, so that a machine with other work does not shorten them
   * @throws TookTooLong; LayerloomError THREADS_UNAVAILABLE; Error with the library's own message
   */
  async call(name: string, values: readonly unknown[], seconds: number): Promise<unknown> {
    const began = process.cpuUsage();
    this.#left += seconds * 1e6;
    const left = (): number => {
      const { user, system } = process.cpuUsage(began);
      return this.#left - user - system;
    };
    let timer: NodeJS.Timeout | undefined;
    try {
      const answer = await new Promise<Answer>((resolve) => {
        this.#answer = resolve;
        if (this.#ended !== undefined) resolve(this.#ended);
        timer = setInterval(() => {
          if (left() < 0) resolve({ error: new TookTooLong() });
        }, everyMs);
        this.#worker.postMessage([name, values]);
      });
      if ('error' in answer) throw answer.error;
      if ('reason' in answer) throw new Error(answer.reason);
      return answer.value;
    } finally {
      clearInterval(timer);
      this.#left = left();
    }
  }

  /** Ends the thread, whatever it does. */
  async end(): Promise<void> {
    await this.#worker.terminate();
  }
}
