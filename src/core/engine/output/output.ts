import { lstat, readdir, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { LayerloomError } from '../../base/errors/errors.js';
import { invalidParameter } from '../../base/errors/invalid-parameter.js';
import { optionName } from '../../base/errors/option-name.js';
import { foundModels } from '../../models/address/found-model.js';
import { isWeightsName } from '../../models/checkpoint/containers/containers.js';
import { provenanceName, signatureName, statementName } from '../../models/checkpoint/files/file-names.js';
import { isObject } from '../../models/checkpoint/files/json.js';
import { readSmallFile } from '../../models/checkpoint/files/small-file.js';
import type { MergePlan } from '../../plan/plan.js';
import { jsonOrNone, ownFile } from '../../texts/json.js';
import { checkApart, checkOutsideStores, isInside, kindOf, realPathOf } from './apart.js';
import { hashHere } from './checksums.js';

/** An output directory, checked before writing. */
export interface Output {
  /** Absolute path with links resolved. */
  readonly path: string;
  /** True if the directory contains a checkpoint that layerloom wrote. */
  readonly replaces: boolean;
  /** Repeats the check. Call it under the staging lock, when no other run can replace the output. */
  readonly again: () => Promise<Output>;
}

/**
 * @throws INVALID_PARAMETER, OUTPUT_INVALID, OUTPUT_INSIDE_INPUT, OUTPUT_EXISTS,
 * OUTPUT_NOT_OURS
 */
export const checkOutput = async (
  plan: Pick<MergePlan, 'inputs'>,
  out: string,
  force: boolean,
): Promise<Output> => {
  const invalidOutput = (reason: string) => new LayerloomError('OUTPUT_INVALID', { out, reason });
  if (typeof out !== 'string' || out === '') throw invalidParameter('out', out, 'a directory to create');
  const path = await realPathOf(resolve(out));
  const again = () => checkOutput(plan, out, force);
  await checkAgainstInputs(plan, path);
  await checkOutsideStores(path);
  const kind = await kindOf(path);
  if (kind === 'other') throw invalidOutput('is not a directory; a merge is written as one');
  if (isWeightsName(path)) throw invalidOutput('names a file, but a merge is written as a directory');
  if (kind === 'absent') return { path, replaces: false, again };
  if ((await stat(path)).dev !== (await stat(dirname(path))).dev)
    throw invalidOutput('is a mount point, which cannot be renamed into place; name a directory in it');
  if (path === process.cwd())
    throw invalidOutput('is the working directory, which a merge would replace; name a directory in it');
  if ((await readdir(path)).length === 0) return { path, replaces: false, again };
  if (!force)
    throw new LayerloomError('OUTPUT_EXISTS', {
      out: path,
      reason: 'is not empty',
      remedy: `choose another output, or ${optionName('force')} to replace a merged checkpoint`,
    });
  const others = await foreignFiles(path);
  if (others.length > 0) throw new LayerloomError('OUTPUT_NOT_OURS', { out: path, others });
  return { path, replaces: true, again };
};

/** Refuses an output that contains an input, which replacing it would delete. */
const checkAgainstInputs = async ({ inputs }: Pick<MergePlan, 'inputs'>, out: string): Promise<void> => {
  await checkApart(out, inputs);
  for (const file of inputs.flatMap((input) => [...foundModels(input), ...input.files]))
    if (isInside(await realPathOf(file.path), out))
      throw new LayerloomError('OUTPUT_INVALID', {
        out,
        reason: `contains the input ${file.path}; choose another output`,
      });
};

/** Returns files that `layerloom.json` does not list or that changed since; all files if it is invalid. */
export const foreignFiles = async (directory: string): Promise<string[]> => {
  for (;;) {
    const { ino } = await stat(directory);
    const found = await foreignFilesNow(directory);
    // Repeats if another run exchanged the directory meanwhile.
    if (found.length === 0 || (await stat(directory)).ino === ino) return found;
  }
};

const foreignFilesNow = async (directory: string): Promise<string[]> => {
  const names = (await readdir(directory, { recursive: true })).sort();
  const provenance = await readProvenance(directory);
  if (provenance === undefined) return names;
  const { mtimeNs: written } = await stat(join(directory, provenanceName), { bigint: true });
  const folders = new Set([...provenance.keys()].map(dirname));
  const foreign: string[] = [];
  for (const name of names) {
    const path = join(directory, name);
    // Ignores statement and signature, which describe only the former output and may go with it.
    if (name === statementName || name === signatureName) continue;
    const recorded = provenance.get(name);
    const isOurs = recorded === undefined ? folders.has(name) : await isAsWritten(path, recorded, written);
    if (!isOurs) foreign.push(name);
  }
  return foreign;
};

/** A file in `layerloom.json`: `link` of shards, `bytes` and `sha256` of side files. */
interface Recorded {
  readonly link?: unknown;
  readonly bytes?: unknown;
  readonly sha256?: unknown;
}

/** True if a file is as recorded, or no newer than the record. */
const isAsWritten = async (
  path: string,
  { link, bytes, sha256 }: Recorded,
  written: bigint,
): Promise<boolean> => {
  const found = await lstat(path, { bigint: true });
  if (link === 'symbolic') return found.isSymbolicLink();
  // Allows any file: the store may have replaced a damaged shard whose last hard link this is.
  if (link === 'stored') return found.isFile();
  // A hard link has the modification time of its input, which may be newer.
  if (link === 'hard' && found.nlink > 1n) return true;
  if (!found.isFile()) return false;
  if (found.mtimeNs <= written) return true;
  return Number(found.size) === bytes && (await hashHere(path)) === sha256;
};

/** Returns each file's entry in `layerloom.json`, by name; undefined if layerloom wrote none. */
const readProvenance = async (directory: string): Promise<ReadonlyMap<string, Recorded> | undefined> => {
  const text = await readSmallFile(join(directory, provenanceName)).catch(() => '');
  const provenance = jsonOrNone(text, ownFile);
  if (!isObject(provenance) || typeof provenance['layerloom'] !== 'string') return undefined;
  const { files, shards, sideFiles } = provenance;
  if (!Array.isArray(files) || !Array.isArray(shards)) return undefined;
  const records = new Map<unknown, Recorded>(
    (Array.isArray(sideFiles) ? sideFiles : []).filter(isObject).map((record) => [record['file'], record]),
  );
  for (const { file, link, key } of shards.filter(isObject))
    records.set(file, { link: link === 'hard' && typeof key === 'string' ? 'stored' : link });
  return new Map(files.map((file) => [String(file), records.get(file) ?? {}]));
};
