import { createInterface } from 'node:readline';
import * as z from 'zod';
import { LayerloomError } from '../base/errors.js';
import type { Progress } from '../engine/run.js';
import { printedJson, printTo } from './print.js';
import { describeError, type ReportedError, runCommandLine } from './run-command-line.js';

// `layerloom serve-calls`, which no help shows: runs commands for a program in another language, which keeps this
// process and asks it for one after another (python/layerloom/_engine.py). Lines of JSON, the requests on stdin and the answers on stdout:
//
//   in   {"call": ID, "words": ["swap", …], "directory": PATH, "environment": {NAME: TEXT}}
//   in   {"stop": ID}
//   out  {"call": ID, "progress": {"phase", "done", "total", …}}     any number of these three
//   out  {"call": ID, "event": {"event": NAME, …}}
//   out  {"call": ID, "note": TEXT}
//   out  {"call": ID, "result": what --json prints}                  or an error, at the end
//   out  {"call": ID, "error": {"code", "message", "details", "exitCode", "warnings"}}
//
// Commands run one at a time, in the order of the requests: the directory and the environment are the process's. The
// process ends when its input does, and what runs is stopped then as by Ctrl-C.

const requestSchema = z.union([
  z.object({
    call: z.int(),
    words: z.array(z.string()),
    directory: z.string(),
    environment: z.record(z.string(), z.string()),
  }),
  z.object({ stop: z.int() }),
]);

type Call = Extract<z.infer<typeof requestSchema>, { call: number }>;

const answer = (line: object): void => {
  process.stdout.write(`${JSON.stringify(line)}\n`);
};

/** Milliseconds between two reports of progress. */
const progressMs = 50;

const setEnvironment = (environment: Readonly<Record<string, string>>): void => {
  for (const name of Object.keys(process.env)) if (!(name in environment)) delete process.env[name];
  Object.assign(process.env, environment);
};

/** The end of a call that was stopped before its turn. */
const notBegun: ReportedError = {
  ...new LayerloomError('INTERRUPTED', {}).toJSON(),
  exitCode: 130,
  warnings: [],
};

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
    failure = { code: 'INTERNAL', message: String(error), details: {}, exitCode: 1, warnings: [] };
  }
  if (failure !== undefined) answer({ call, error: failure });
  else if (printedJson() === 'document') answer({ call, result: JSON.parse(printed) });
  else answer({ call, result: last ?? printed });
};

/** Answers calls until the input ends. */
export const serve = async (): Promise<number> => {
  const waiting: Call[] = [];
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
  return 0;
};
