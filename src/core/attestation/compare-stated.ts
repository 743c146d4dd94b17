import { namesIn } from '../base/files/unless-missing.js';
import type { Run } from '../engine/run.js';
import { isWeightsName } from '../models/checkpoint/containers/containers.js';
import { digestsOf } from './digests-of.js';
import { hashFiles } from './hash-files.js';
import { fileAt } from './input-places.js';
import type { Stated } from './stated.js';

export interface ComparedFiles {
  /** How the statement differs from the files: `does not list x.safetensors`. */
  readonly reason?: string | undefined;
  readonly hashes: ReadonlyMap<string, string>;
}

/** Returns a weight file that the statement does not list. ggufpacker's statements may lack their source. */
export const unstatedFile = async (
  folder: string,
  { kind, subjects }: Stated,
): Promise<string | undefined> =>
  kind === 'quantisation'
    ? undefined
    : (await namesIn(folder)).filter(isWeightsName).find((name) => !subjects.has(name));

/**
 * Compares the statement of a folder without a record with its files.
 *
 * @throws READ_FAILED, INTERRUPTED
 */
export const compareStated = async (folder: string, stated: Stated, run: Run): Promise<ComparedFiles> => {
  const { subjects, tensors } = stated;
  const names = [...subjects.keys()];
  const differs = (reason: string): ComparedFiles => ({ reason, hashes: new Map() });
  if (names.length === 0) return differs('states no file');
  const unstated = await unstatedFile(folder, stated);
  if (unstated !== undefined) return differs(`does not list ${unstated}, which is in the folder`);
  for (const name of names)
    if ((await fileAt(folder, name)) === undefined)
      return differs(`lists ${name}, which is missing from the folder`);
  const digests =
    tensors === undefined
      ? { files: await hashFiles(folder, names, run), tensors }
      : await digestsOf(folder, names, run);
  if (digests === undefined) return differs('cannot be compared with the weights');
  const other = names.find((name) => digests.files.get(name) !== subjects.get(name));
  return {
    hashes: digests.files,
    reason:
      other !== undefined
        ? `states another ${other} than the one that is there`
        : digests.tensors !== tensors
          ? 'states another digest of the tensors'
          : undefined,
  };
};
