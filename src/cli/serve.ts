import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import * as z from 'zod';
import { codeOf, LayerloomError, reasonOf } from '../core/base/errors/errors.js';
import type { Progress } from '../core/engine/run.js';
import { addInMemory, removeInMemory } from '../core/models/checkpoint/files/open-input.js';
import { closeRemote, openRemote } from '../core/native/addon.js';
import { Scratch, scratchName } from '../study/store/claims/scratch.js';
import { commandsInPython } from './options/spellings.js';
import { printedJson, printTo } from './print.js';
import { describeError, type ReportedError, runCommandLine } from './run-command-line.js';

// `layerloom serve-calls` (hidden) runs commands for a program in another language, which keeps this process
// (python/layerloom/_engine.py). Requests are lines of JSON on stdin. Answers go to the descriptor in the
// argument, because plugins may print to stdout.
//
// in   {"call": ID, "words": ["swap", …], "directory": PATH, "environment": {NAME: TEXT}, "memory": {PATH: …}}
// in   {"stop": ID}
// in   {"scratch": ID, "bytes": NUMBER, "beside": PATH, "name": NAME}
// in   {"release": ID}
// out  {"call": ID, "progress": {"phase", "done", "total", …}}, {"call": ID, "event": {"event": NAME, …}} and
//      {"call": ID, "note": TEXT}, any number of each
// out  {"call": ID, "result": RESULT} at the end: the output of --json, or for a scratch {"directory"}
// out  {"call": ID, "error": {"code", "message", "details", "exitCode", "warnings"}} instead of a result
//
// Commands run in order, because directory and environment belong to the process. When the input ends, a
// running command stops as by Ctrl-C. A scratch is a directory in memory if there is room for its bytes, else in
// `beside`. It is removed on release or when the input ends, because the caller may be killed while it writes
// there. `memory` maps a path to [[BYTES, ADDRESS], …] in the caller's memory, read through a second descriptor,
// the caller's /proc/self/mem. The caller keeps these bytes until it has the result.

const requestSchema = z.union([
  z.object({
    call: z.int(),
    words: z.array(z.string()),
    directory: z.string(),
    environment: z.record(z.string(), z.string()),
    memory: z.record(z.string(), z.array(z.tuple([z.int().positive(), z.int().nonnegative()]))).optional(),
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

let answers = 1;
/** Descriptor of the caller's memory, if it can be read. */
let callersMemory: number | undefined;

/** Writes an answer, blocking. Ignores errors: if the caller has ended, the input ends too. */
const answer = (line: object): void => {
  let rest: Uint8Array = Buffer.from(`${JSON.stringify(line)}\n`);
  try {
    while (rest.length > 0) rest = rest.subarray(writeSync(answers, rest));
  } catch (error) {
    if (codeOf(error) !== 'EPIPE') throw error;
  }
};

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

const internal = (error: unknown): ReportedError => ({
  ...{ code: 'INTERNAL', message: String(error), details: {}, exitCode: 1, warnings: [] },
});

const notBegun = reported(new LayerloomError('INTERRUPTED', {}));

class Scratches {
  readonly #made = new Map<number, Promise<Scratch | undefined>>();

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

class Tensors implements Disposable {
  readonly #files = new Map<string, number>();

  constructor(files: NonNullable<Call['memory']>) {
    for (const [path, parts] of Object.entries(files)) {
      if (callersMemory === undefined) throw new Error('the memory of the calling process is not open');
      const fd = openRemote(callersMemory, Float64Array.from(parts.flat()));
      this.#files.set(path, fd);
      addInMemory(path, callersMemory, parts, fd);
    }
  }

  [Symbol.dispose](): void {
    for (const [path, fd] of this.#files) {
      removeInMemory(path);
      closeRemote(fd);
    }
  }
}

const run = async ({ call, words, directory, environment, memory = {} }: Call): Promise<void> => {
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
    err: (note) => answer({ call, note: commandsInPython(note.trimEnd()) }),
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
    using _ = new Tensors(memory);
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
 * @param descriptor of answers, in digits; default: stdout
 * @param memory descriptor of the caller's `/proc/self/mem`, if it can be read
 */
export const serve = async (descriptor = '1', memory?: string): Promise<number> => {
  answers = Number(descriptor);
  callersMemory = memory === undefined ? undefined : Number(memory);
  const waiting: Call[] = [];
  const scratches = new Scratches();
  let running: number | undefined;
  let wake = (): void => undefined;
  let abandon = (): void => undefined;
  let ended = false;

  const stop = (call: number | undefined): void => {
    if (call === undefined || call !== running) return;
    if (process.listenerCount('SIGINT') > 0) process.emit('SIGINT', 'SIGINT');
    // If the caller has ended, abandons work that cannot be stopped.
    else if (ended) abandon();
    // Tries again, because the command has not registered its handler yet.
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
