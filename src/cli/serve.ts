import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import * as z from 'zod';
import { codeOf, LayerloomError, reasonOf } from '../core/base/errors.js';
import type { Progress } from '../core/engine/run.js';
import { Scratch, scratchName } from '../study/store/scratch.js';
import { printedJson, printTo } from './print.js';
import { describeError, type ReportedError, runCommandLine } from './run-command-line.js';

// `layerloom serve-calls`, which no help shows: runs commands for a program in another language, which keeps this
// process and asks it for one after another (python/layerloom/_engine.py). Lines of JSON, the requests on stdin and the
// answers on a descriptor of their own, which the argument numbers: plugins and libraries may print to stdout.
//
//   in   {"call": ID, "words": ["swap", …], "directory": PATH, "environment": {NAME: TEXT}}
//   in   {"stop": ID}
//   in   {"scratch": ID, "bytes": NUMBER, "beside": PATH, "name": NAME}
//   in   {"release": ID}
//   out  {"call": ID, "progress": {"phase", "done", "total", …}}     any number of these three
//   out  {"call": ID, "event": {"event": NAME, …}}
//   out  {"call": ID, "note": TEXT}
//   out  {"call": ID, "result": what --json prints}                  or an error, at the end; of a scratch {"directory"}
//   out  {"call": ID, "error": {"code", "message", "details", "exitCode", "warnings"}}
//
// Commands run one at a time, in the order of the requests: the directory and the environment are the process's. The
// process ends when its input does, and what runs is stopped then as by Ctrl-C.
//
// A scratch is a directory for so many bytes, in memory where there is room, else in `beside`. It is made at once and
// removed when it is released, or when the input ends: the caller may be killed while it writes there.

const requestSchema = z.union([
  z.object({
    call: z.int(),
    words: z.array(z.string()),
    directory: z.string(),
    environment: z.record(z.string(), z.string()),
  }),
  z.object({ stop: z.int() }),
  z.object({
    scratch: z.int(),
    bytes: z.number().nonnegative(),
    beside: z.string(),
    name: z.string().regex(scratchName),
  }),
  z.object({ release: z.int() }),
]);

type Request = z.infer<typeof requestSchema>;
type Call = Extract<Request, { call: number }>;
type ScratchRequest = Extract<Request, { scratch: number }>;

/** Where answers go. */
let answers = 1;

/** Writes an answer whole: the descriptor is a pipe, which blocks. A caller that has gone ends the input too. */
const answer = (line: object): void => {
  let rest: Uint8Array = Buffer.from(`${JSON.stringify(line)}\n`);
  try {
    while (rest.length > 0) rest = rest.subarray(writeSync(answers, rest));
  } catch (error) {
    if (codeOf(error) !== 'EPIPE') throw error;
  }
};

/** Milliseconds between two reports of progress. */
const progressMs = 50;

const setEnvironment = (environment: Readonly<Record<string, string>>): void => {
  for (const name of Object.keys(process.env)) if (!(name in environment)) delete process.env[name];
  Object.assign(process.env, environment);
};

const reported = (error: LayerloomError): ReportedError => ({
  ...error.toJSON(),
  exitCode: error.exitCode,
  warnings: [],
});

/** What no part of the engine has foreseen. */
const internal = (error: unknown): ReportedError => ({
  ...{ code: 'INTERNAL', message: String(error), details: {}, exitCode: 1, warnings: [] },
});

/** The end of a call that was stopped before its turn. */
const notBegun = reported(new LayerloomError('INTERRUPTED', {}));

/** The scratch directories that callers have not released. */
class Scratches {
  readonly #made = new Map<number, Promise<Scratch | undefined>>();

  /** Makes one, and answers with it or with its error. */
  open({ scratch: call, beside, bytes, name }: ScratchRequest): void {
    const made = Scratch.open(beside, bytes, name).then(
      (scratch) => {
        answer({ call, result: { directory: scratch.directory } });
        return scratch;
      },
      (error: unknown) => {
        const known = error instanceof LayerloomError;
        answer({ call, error: known ? reported(error) : internal(error) });
        return undefined;
      },
    );
    this.#made.set(call, made);
  }

  async release(call: number): Promise<void> {
    const scratch = await this.#made.get(call);
    this.#made.delete(call);
    await scratch?.[Symbol.asyncDispose]().catch((error: unknown) => {
      process.emitWarning(
        `${scratch.directory} could not be removed (${reasonOf(error)}); remove it by hand`,
      );
    });
  }

  async releaseAll(): Promise<void> {
    await Promise.all([...this.#made.keys()].map((call) => this.release(call)));
  }
}

/** Runs the command of a call, and answers. */
const run = async ({ call, words, directory, environment }: Call): Promise<void> => {
  let printed = '';
  let last: unknown;
  let told = 0;
  let failure: ReportedError | undefined;
  printTo({
    out: (text) => {
      if (printedJson() !== 'events') printed += text;
      else {
        last = JSON.parse(text);
        answer({ call, event: last });
      }
    },
    err: (note) => answer({ call, note: note.trimEnd() }),
    progress: (progress: Progress) => {
      if (progress.done < progress.total && performance.now() - told < progressMs) return;
      told = performance.now();
      answer({ call, progress });
    },
  });
  const [command = '', ...rest] = words;
  try {
    process.chdir(directory);
    setEnvironment(environment);
    await runCommandLine(
      [command, '--json', ...rest],
      (error, args, program) => {
        failure = describeError(error, args, program);
        return failure.exitCode;
      },
      'python',
    );
  } catch (error) {
    failure = internal(error);
  }
  if (failure !== undefined) answer({ call, error: failure });
  else if (printedJson() === 'document') answer({ call, result: JSON.parse(printed) });
  else answer({ call, result: last ?? printed });
};

/**
 * Answers calls until the input ends.
 *
 * @param descriptor of answers, in digits; stdout where none is given
 */
export const serve = async (descriptor = '1'): Promise<number> => {
  answers = Number(descriptor);
  const waiting: Call[] = [];
  const scratches = new Scratches();
  let running: number | undefined;
  let wake = (): void => undefined;
  let abandon = (): void => undefined;
  let ended = false;

  const stop = (call: number | undefined): void => {
    if (call === undefined || call !== running) return;
    if (process.listenerCount('SIGINT') > 0) process.emit('SIGINT', 'SIGINT');
    // A caller that has gone does not wait for what cannot be stopped.
    else if (ended) abandon();
    // A command listens once its work has begun.
    else setTimeout(stop, progressMs, call);
  };

  const lines = createInterface({ input: process.stdin });
  lines.on('line', (line) => {
    const request = requestSchema.parse(JSON.parse(line));
    if ('call' in request) waiting.push(request);
    else if ('scratch' in request) scratches.open(request);
    else if ('release' in request) void scratches.release(request.release);
    else if (request.stop === running) stop(running);
    else {
      const index = waiting.findIndex(({ call }) => call === request.stop);
      for (const { call } of index < 0 ? [] : waiting.splice(index, 1)) answer({ call, error: notBegun });
    }
    wake();
  });
  lines.on('close', () => {
    ended = true;
    waiting.length = 0;
    stop(running);
    wake();
  });

  for (;;) {
    const next = waiting.shift();
    if (next !== undefined) {
      running = next.call;
      const abandoned = new Promise<void>((resolve) => {
        abandon = resolve;
      });
      await Promise.race([run(next), abandoned]);
      running = undefined;
    } else if (ended) break;
    else
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
  }
  await scratches.releaseAll();
  return 0;
};
