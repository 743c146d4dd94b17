import type { ChildProcess } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { checkInterrupt, LayerloomError } from '../base/errors/errors.js';
import { openToAppend, sizeOf } from '../engine/output/durable.js';
import { endGroup, endingOf, notStarted, spawnGroup } from '../programs/process.js';
import { watchLog } from '../programs/watch-log.js';
import type { Program } from './programs.js';

interface ProgramRun {
  readonly program: Program;
  readonly words: readonly string[];
  readonly model: string;
  /** Log file, to which output is appended. */
  readonly log: string;
  /** File for standard output; default: the log. */
  readonly answer?: string | undefined;
  /** True if a non-zero exit code is expected, as from `--help`. */
  readonly mayFail?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called about once a second with the text added to the log. */
  readonly onGrown?: ((text: string) => void) | undefined;
}

/**
 * Runs a program. When it or this process ends, so does its whole process group.
 *
 * @returns the text that the program added to the log
 * @throws EXPORT_FAILED, INTERRUPTED, WRITE_FAILED
 */
export const runProgram = async ({
  program,
  words,
  model,
  log,
  answer,
  mayFail = false,
  signal,
  onGrown = () => undefined,
}: ProgramRun): Promise<string> => {
  checkInterrupt(signal);
  const file = await openToAppend(log);
  const begin = await sizeOf(file, log);
  const endWatch = watchLog(log, begin, onGrown);
  let child: ChildProcess | undefined;
  const stop = () => void (child && endGroup(child));
  signal?.addEventListener('abort', stop);
  try {
    // Checks again, because the signal may have been aborted before the listener was added.
    checkInterrupt(signal);
    const end = await new Promise<Parameters<typeof endingOf>[0]>((resolve, reject) => {
      const [command, given] =
        answer === undefined
          ? [`exec ${program.command} "$@"`, words]
          : [`answer=$1; shift; exec ${program.command} "$@" >"$answer"`, [answer, ...words]];
      child = spawnGroup(command, given, { output: file.fd, env: process.env });
      child.once('error', (error) => reject(notStarted(program.command, error)));
      child.once('exit', (code, by) => resolve({ code, by }));
    });
    checkInterrupt(signal);
    const printed = (await readFile(log)).subarray(begin).toString();
    const isStarted = end.by === null && end.code !== 126 && end.code !== 127;
    if (end.code === 0 || (mayFail && isStarted)) return printed;
    throw new LayerloomError('EXPORT_FAILED', {
      model,
      program: program.name,
      reason: endingOf(end, printed),
      log,
    });
  } finally {
    endWatch();
    signal?.removeEventListener('abort', stop);
    await file.close();
  }
};
