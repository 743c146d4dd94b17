import { lstat, readdir, readFile, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { isObject } from '../checkpoint/json.js';
import { LayerloomError } from '../errors.js';
import type { MergePlan } from '../plan/plan.js';

/** The provenance file, which also marks a directory as ours to replace. */
export const provenanceName = 'layerloom.json';

/** Where a merge goes, as checked before anything is written. */
export interface Output {
  /** Absolute, links resolved. */
  readonly path: string;
  /** Whether a checkpoint of ours stands there and is to be replaced. */
  readonly replaces: boolean;
}

const kindOf = async (path: string): Promise<'absent' | 'directory' | 'other'> => {
  const found = await stat(path).catch(() => undefined);
  if (found !== undefined) return found.isDirectory() ? 'directory' : 'other';
  const isLink = await lstat(path).then(
    () => true,
    () => false,
  );
  return isLink ? 'other' : 'absent';
};

/** The real path of what may not exist yet: that of its nearest existing ancestor, and the rest. */
const realPathOf = async (path: string): Promise<string> => {
  try {
    return await realpath(path);
  } catch (error) {
    if (dirname(path) === path) throw error;
    return join(await realPathOf(dirname(path)), basename(path));
  }
};

const isInside = (path: string, directory: string): boolean => {
  const way = relative(directory, path);
  return way === '' || !(way === '..' || way.startsWith(`..${sep}`));
};

/**
 * Decides whether a merge may write to `out`, before it writes anything.
 *
 * @throws LayerloomError OUTPUT_INVALID, OUTPUT_INSIDE_INPUT, OUTPUT_EXISTS, OUTPUT_NOT_OURS
 */
export const checkOutput = async (plan: MergePlan, out: string, force: boolean): Promise<Output> => {
  if (out === '')
    throw new LayerloomError('OUTPUT_INVALID', { out, reason: 'an output directory must be named' });
  const path = await realPathOf(resolve(out));
  for (const input of plan.inputs)
    if ((await kindOf(input.path)) === 'directory' && isInside(path, await realpath(input.path)))
      throw new LayerloomError('OUTPUT_INSIDE_INPUT', { out: path, input: input.path });

  const kind = await kindOf(path);
  if (kind === 'other')
    throw new LayerloomError('OUTPUT_INVALID', {
      out: path,
      reason: 'is not a directory; a merge is written as one',
    });
  if (path.endsWith('.safetensors'))
    throw new LayerloomError('OUTPUT_INVALID', {
      out: path,
      reason: 'names a file, but a merge is written as a directory',
    });
  const names = kind === 'absent' ? [] : await readdir(path);
  if (names.length === 0) return { path, replaces: false };
  if (!force) throw new LayerloomError('OUTPUT_EXISTS', { out: path });
  const ours = await filesOf(path);
  const others = names.filter((name) => !ours.has(name));
  if (ours.size === 0 || others.length > 0)
    throw new LayerloomError('OUTPUT_NOT_OURS', { out: path, others: ours.size === 0 ? [] : others });
  return { path, replaces: true };
};

/** The files that the provenance in `directory` says layerloom wrote; none where there is no such provenance. */
const filesOf = async (directory: string): Promise<ReadonlySet<string>> => {
  const text = await readFile(join(directory, provenanceName), 'utf8').catch(() => '{}');
  let provenance: unknown;
  try {
    provenance = JSON.parse(text);
  } catch {
    // A file of that name that we did not write.
    return new Set();
  }
  const files =
    isObject(provenance) && typeof provenance['layerloom'] === 'string' ? provenance['files'] : undefined;
  return new Set(
    Array.isArray(files) ? files.filter((name): name is string => typeof name === 'string') : [],
  );
};
