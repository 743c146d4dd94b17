import { execFile } from 'node:child_process';
import * as z from 'zod';
import { shellWord } from '../base/errors/command-line.js';
import { checkInterrupt, LayerloomError, reasonOf } from '../base/errors/errors.js';
import { optionName } from '../base/errors/option-name.js';
import { shipped } from '../base/files/shipped.js';
import type { LoadingVerdict } from '../measure/verification/loading-verdict.js';
import { findProgram } from '../programs/find-program.js';
import { pythonOfHarness } from '../programs/python-of-harness.js';
import { jsonOrNone } from '../texts/json.js';

const program = shipped('python/layerloom_loads');
const programVersion = 1;

const names = z.array(z.string());
const answerSchema = z.object({
  program: z.literal(programVersion),
  absent: names.optional(),
  versions: z.record(z.string(), z.string()).optional(),
  notChecked: z.string().optional(),
  class: z.string().optional(),
  missing: names.optional(),
  unexpected: names.optional(),
  mismatched: z
    .array(z.object({ tensor: z.string(), stored: z.array(z.number()), model: z.array(z.number()) }))
    .optional(),
  dtype: z.object({ said: z.string(), stored: z.record(z.string(), z.number()) }).nullish(),
  refused: z.string().nullish(),
});

type Answer = z.infer<typeof answerSchema>;

interface LoadingOptions {
  /** Python's path, or its name on PATH; default: the evaluation harness's, or `python3`. */
  readonly python?: string | undefined;
  /** For an adapter: its base's folder, if available. */
  readonly base?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Asks transformers, and for an adapter PEFT, whether a folder loads: whether its files have exactly the
 * tensors that its configuration describes. Reads no weights, and runs no code from the folder.
 *
 * @param folder absolute path
 * @throws PROGRAM_MISSING if Python is missing, LIBRARY_MISSING, PROCESS_UNAVAILABLE, INTERRUPTED
 */
export const checkLoading = async (folder: string, options: LoadingOptions): Promise<LoadingVerdict> => {
  checkInterrupt(options.signal);
  const python = await findPython(options.python);
  const answer = await ask(
    python,
    [folder, ...(options.base === undefined ? [] : ['--base', options.base])],
    options.signal,
  );
  if (answer.absent !== undefined)
    throw new LayerloomError('LIBRARY_MISSING', { python, libraries: answer.absent });
  return verdictOf(answer);
};

const findPython = async (given: string | undefined): Promise<string> => {
  const path = process.env['PATH'] ?? '';
  if (given !== undefined) {
    const found = await findProgram(given, path);
    if (found !== undefined) return shellWord(found);
    throw missing([given]);
  }
  const ofHarness = await pythonOfHarness('lm_eval', path);
  if (ofHarness !== undefined) return ofHarness;
  const found = await findProgram('python3', path);
  if (found === undefined) throw missing(['python3']);
  return shellWord(found);
};

const missing = (programs: string[]): LayerloomError =>
  new LayerloomError('PROGRAM_MISSING', {
    programs,
    directory: undefined,
    remedy: `name a Python that has transformers and torch with ${optionName('python')}`,
  });

/** Maximum size of an answer, which names a few hundred tensors. */
const mostBytes = 2 ** 24;

const ask = async (
  python: string,
  words: readonly string[],
  signal: AbortSignal | undefined,
): Promise<Answer> => {
  const { text, failure } = await new Promise<{ text: string; failure?: string }>((resolve, reject) => {
    execFile(
      '/bin/sh',
      ['-c', `exec ${python} "$@"`, 'sh', program, ...words],
      { maxBuffer: mostBytes, ...(signal === undefined ? {} : { signal }) },
      (error, stdout, stderr) => {
        if (signal?.aborted) reject(error ?? new Error('aborted'));
        else
          resolve(
            error === null
              ? { text: stdout }
              : { text: stdout, failure: lastLine(stderr) ?? reasonOf(error) },
          );
      },
    );
  }).catch((error: unknown) => {
    checkInterrupt(signal);
    throw error;
  });
  const found = answerSchema.safeParse(jsonOrNone(text));
  if (found.success && failure === undefined) return found.data;
  throw new LayerloomError('PROCESS_UNAVAILABLE', {
    command: python,
    reason: failure ?? 'its answer is not that of this version of layerloom',
  });
};

const lastLine = (text: string): string | undefined => text.trim().split('\n').at(-1) || undefined;

const verdictOf = (answer: Answer): LoadingVerdict => {
  const { versions = {}, notChecked, missing = [], unexpected = [], mismatched = [], dtype = null } = answer;
  const { refused = null } = answer;
  const isWhole =
    missing.length + unexpected.length + mismatched.length === 0 && dtype === null && refused === null;
  return {
    loads: notChecked === undefined ? isWhole : null,
    by: versions,
    loadedAs: answer.class ?? null,
    ...{ missing, unexpected, mismatched, dtype },
    reason: notChecked ?? refused,
  };
};
