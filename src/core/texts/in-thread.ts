import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { withCode } from '../base/files/writing.js';

export class TookTooLong extends Error {}

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

const everyMs = 50;

/** Memory limit: several times what the largest tokenizers need. */
const mostMegabytes = 2048;

/** A thread for a library that reads texts from outside. A call that exceeds its time ends the thread. */
export class LibraryThread {
  readonly #worker: Worker;
  #left = 0;
  #answer: (answer: Answer) => void = () => undefined;
  #ended: Answer | undefined;

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
   * Calls must not overlap.
   *
   * @param seconds CPU time of the process, plus what earlier calls did not use; unlike wall time, it does
   *   not run out on a busy machine
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

  /** May be called while another call runs. */
  async end(): Promise<void> {
    await this.#worker.terminate();
  }
}
