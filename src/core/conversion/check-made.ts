import { lstat, open } from 'node:fs/promises';
import { basename } from 'node:path';
import { LayerloomError, reasonOf } from '../base/errors/errors.js';
import { unlessMissing } from '../base/files/unless-missing.js';
import { countGguf } from '../models/checkpoint/containers/gguf/header.js';
import { ggufReader } from '../models/checkpoint/containers/gguf/reader.js';
import { readHeaderOf } from '../models/checkpoint/containers/read-header.js';

export interface Made {
  readonly tensors: number;
  readonly elements: number;
}

const countIn = async (path: string): Promise<Made> => {
  const handle = await open(path);
  try {
    const { size } = await handle.stat();
    // Gives only the name: the folder is deleted before the message is read.
    const name = basename(path);
    const { header } = await readHeaderOf(ggufReader, handle, name, size);
    return countGguf(header, name, size);
  } finally {
    await handle.close();
  }
};

/** Counts what a program wrote, or returns why it is unusable: programs may exit with 0 too early. */
const whyNot = async (path: string, isEnough: (made: Made) => boolean): Promise<Made | string> => {
  const found = await unlessMissing(path, lstat(path));
  if (found === undefined) return 'left no file';
  if (!found.isFile()) return found.isSymbolicLink() ? 'left a link' : 'left what is no file';
  try {
    const made = await countIn(path);
    if (made.tensors > 0 && isEnough(made)) return made;
    return `left ${made.tensors} tensors with ${made.elements} elements, fewer than the model has`;
  } catch (error) {
    if (!(error instanceof LayerloomError)) throw error;
    return `left no whole GGUF file: ${reasonOf(error)}`;
  }
};

/** @throws EXPORT_FAILED */
export const checkMade = async (
  path: string,
  isEnough: (made: Made) => boolean,
  about: { readonly model: string; readonly program: string; readonly log: string },
): Promise<Made> => {
  const made = await whyNot(path, isEnough);
  if (typeof made !== 'string') return made;
  throw new LayerloomError('EXPORT_FAILED', { ...about, reason: `it ended without an error and ${made}` });
};
