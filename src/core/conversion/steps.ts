import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LayerloomError } from '../base/errors/errors.js';
import { invalidParameter } from '../base/errors/invalid-parameter.js';
import { checkMade, type Made } from './check-made.js';
import type { ConvertedType, GgufType } from './gguf-types.js';
import { findLlamaProgram, type Program, type ProgramPlaces } from './programs.js';
import { runProgram } from './run-program.js';

export interface StepContext {
  readonly model: string;
  readonly log: string;
  readonly directory: string;
  readonly signal?: AbortSignal | undefined;
}

type OnDone = (done: number, total: number) => void;

const lastMatch =
  (pattern: RegExp, onDone: (done: string, total: string) => void) =>
  (text: string): void => {
    const [, done, total] = [...text.matchAll(pattern)].at(-1) ?? [];
    if (done !== undefined && total !== undefined) onDone(done, total);
  };

const units: Readonly<Record<string, number>> = { '': 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12 };

const size = (text: string): number =>
  Number.parseFloat(text) * (units[text.replace(/[\d.]/g, '')] ?? Number.NaN);

interface Conversion {
  readonly path: string;
  readonly to: string;
  readonly type: ConvertedType;
  readonly elements: number;
}

/**
 * @param onDone receives numbers of bytes
 * @throws EXPORT_FAILED
 */
export const convert = async (
  converter: Program,
  { path, to, type, elements }: Conversion,
  context: StepContext,
  onDone: OnDone,
): Promise<Made> => {
  const words = [path, '--outfile', to, '--outtype', type];
  // Matches tqdm's progress bar: `Writing: 49%|████▉ | 133M/269M [00:01<…`.
  const bar = /Writing:\s+\d+%\|[^|]*\|\s*([\d.]+[kMGT]?)\/([\d.]+[kMGT]?) ?\[/g;
  const onGrown = lastMatch(bar, (done, total) => onDone(size(done), size(total)));
  await runProgram({ ...context, program: converter, words, onGrown });
  // Accepts a tenth of the elements: converters leave out a tied head, buffers, and vision towers, which may
  // be larger than the text model.
  const isEnough = (made: Made) => 10 * made.elements >= elements;
  return await checkMade(to, isEnough, { ...aboutOf(context), program: converter.name });
};

const aboutOf = ({ model, log }: StepContext) => ({ model, log });

/**
 * Checks that llama-quantize runs and that its help lists the type.
 *
 * @throws EXPORT_FAILED if it does not run; INVALID_PARAMETER
 */
export const checkQuantizer = async (
  quantizer: Program,
  type: GgufType,
  context: StepContext,
): Promise<void> => {
  // llama-quantize's help exits with code 1.
  const run = { ...context, program: quantizer, words: ['--help'], mayFail: true };
  const printed = await runProgram(run);
  const listed = [...printed.matchAll(/^\s*\d+\s+or\s+([\w]+)\s*:/gm)].map(([, name = '']) => name);
  if (listed.length === 0)
    throw new LayerloomError('EXPORT_FAILED', {
      ...{ model: context.model, program: quantizer.name, log: context.log },
      reason: 'its help lists no types, as that of llama.cpp does',
    });
  if (!listed.some((name) => name.toLowerCase() === type))
    throw invalidParameter('type', type, `one that ${quantizer.name} lists: ${listed.join(', ')}`);
};

interface Quantisation {
  readonly from: string;
  readonly to: string;
  readonly type: GgufType;
  readonly made: Made;
}

/**
 * @param onDone receives numbers of tensors
 * @returns the program's version, if printed
 * @throws EXPORT_FAILED
 */
export const quantize = async (
  quantizer: Program,
  { from, to, type, made }: Quantisation,
  context: StepContext,
  onDone: OnDone,
): Promise<string | undefined> => {
  // Matches
  // `[  12/ 273]   blk.0.attn_q.weight - [  576,   576,     1,     1], type =   bf16, converting to q4_K .. `
  const line = /^\[\s*(\d+)\/\s*(\d+)\]/gm;
  const onGrown = lastMatch(line, (done, total) => onDone(Number(done), Number(total)));
  const words = [from, to, type.toUpperCase()];
  const printed = await runProgram({ ...context, program: quantizer, words, onGrown });
  const isEnough = ({ tensors, elements }: Made) => tensors >= made.tensors && elements >= made.elements;
  await checkMade(to, isEnough, { ...aboutOf(context), program: quantizer.name });
  // Matches `main: build = 5142 (c772d549)`.
  return /\bbuild(?: =|:) (\d{1,9} \([0-9a-f]{1,40}\))/.exec(printed)?.[1];
};

const [prompt, tokens] = ['Once upon a time', '8'];

/** Arguments of programs that load a file; the first one found is used. */
const loaders: Readonly<Record<string, (file: string) => readonly string[]>> = {
  'llama-completion': (file) => [
    '-m',
    file,
    '-p',
    prompt,
    '-n',
    tokens,
    '-c',
    '256',
    '--temp',
    '0',
    '-no-cnv',
  ],
  'llama-simple': (file) => ['-m', file, '-n', tokens, prompt],
};

/** Result of loading a file in llama.cpp. */
export interface LoadedOnce {
  readonly program: string;
  /** The program's version; null if it prints none. */
  readonly version: string | null;
  /** The prompt and its continuation. */
  readonly text: string;
  /** False if nothing follows the prompt. A correct model may also end there. */
  readonly generated: boolean;
}

/**
 * Loads a file in llama.cpp and generates some tokens.
 *
 * @returns undefined if no program of llama.cpp is found
 * @throws EXPORT_FAILED
 */
export const loadOnce = async (
  file: string,
  places: ProgramPlaces,
  context: StepContext,
): Promise<LoadedOnce | undefined> => {
  for (const [name, wordsFor] of Object.entries(loaders)) {
    const program = await findLlamaProgram(name, places);
    if (program === undefined) continue;
    const answer = join(context.directory, 'answer');
    await runProgram({ ...context, program, words: wordsFor(file), answer });
    const text = (await readFile(answer, 'utf8')).trim();
    const printed = await runProgram({ ...context, program, words: ['--version'], mayFail: true });
    const version = /^version: (.+)$/m.exec(printed)?.[1] ?? null;
    return { program: name, version, text, generated: text !== '' && text !== prompt };
  }
  return undefined;
};
