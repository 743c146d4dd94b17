import { randomUUID } from 'node:crypto';
import { lstat, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { LayerloomError, reasonOf } from '../../core/base/errors/errors.js';
import { optionName } from '../../core/base/errors/option-name.js';
import { unlessMissing } from '../../core/base/files/unless-missing.js';
import { readFailed, writing } from '../../core/base/files/writing.js';
import { makeDirectories, syncDirectory } from '../../core/engine/output/durable.js';
import type { RunControls } from '../../core/engine/run.js';
import { TextRefused } from '../../core/texts/text-refused.js';
import { readRecord } from '../experiment/record/experiment-record.js';
import { type MadeAgain, makeAgain } from './make-again.js';
import { unpack } from './read-bundle.js';
import { withExperts } from './with-experts.js';

/** Options of `rebuild`. */
export interface RebuildOptions extends RunControls {
  /** The directory to make. Default: the bundle's name without `.tar`. */
  out?: string | undefined;
  /**
   * A folder of the models by their names, from which all merges are made again. Models of the hub may be in
   * its cache instead. Default: no merges.
   */
  experts?: string | undefined;
}

/** Result of `rebuild`. */
export interface RebuiltStudy {
  /** Absolute path of the directory. */
  readonly out: string;
  readonly files: number;
  readonly bytes: number;
  readonly merges: number;
  /** Null without `experts`. */
  readonly again: MadeAgain | null;
  readonly warnings: readonly string[];
}

/**
 * Unpacks a bundle into a new directory, which is there whole or not at all. With `experts`, also makes its
 * merges again.
 *
 * @throws LayerloomError OUTPUT_EXISTS, MODEL_NOT_FOUND, the codes of `unpack` and `makeAgain`
 */
export const rebuildStudy = async (
  file: string,
  { out = defaultOut(file), experts, ...controls }: RebuildOptions,
): Promise<RebuiltStudy> => {
  const path = resolve(out);
  await checkFree(path);
  const folder = experts === undefined ? undefined : await foundFolder(experts);
  const staging = join(dirname(path), `.${basename(path)}.layerloom-rebuild-${randomUUID()}`);
  await writing(path, async () => {
    await makeDirectories(dirname(path), true);
    await mkdir(staging);
  });
  try {
    const unpacked = await unpack(resolve(file), staging, controls.signal);
    const record = await readRecord(staging);
    const again =
      folder === undefined
        ? null
        : await makeAgain(staging, record, await inputOf(file, record.experiment, folder), {
            ...controls,
            work: join(staging, '.again'),
            experts: folder,
          });
    await writing(path, async () => {
      await syncDirectory(staging);
      // A folder that somebody made meanwhile stays, because only an empty one is replaced.
      await rename(staging, path);
      await syncDirectory(dirname(path));
    });
    return { out: path, ...unpacked, merges: record.merges.length, again, warnings: [] };
  } catch (error) {
    await rm(staging, { recursive: true, force: true }).catch(() => undefined);
    throw error;
  }
};

const defaultOut = (file: string): string => {
  const name = file.replace(/\.tar$/, '');
  if (name !== file && basename(name) !== '') return name;
  throw new LayerloomError('USAGE', {
    reason: `${file} does not end with .tar, so name the directory to make by ${optionName('out')}`,
  });
};

const checkFree = async (path: string): Promise<void> => {
  const found = await unlessMissing(path, lstat(path));
  if (found === undefined) return;
  const isEmpty = found.isDirectory() && (await readdir(path).catch(() => ['?'])).length === 0;
  if (!isEmpty)
    throw new LayerloomError('OUTPUT_EXISTS', {
      out: path,
      reason: 'exists',
      remedy: `choose a new directory (${optionName('out')})`,
    });
};

/** @throws LayerloomError READ_FAILED */
const foundFolder = async (experts: string): Promise<string> => {
  const path = resolve(experts);
  await readdir(path).catch((cause: unknown) => {
    throw readFailed(path, cause);
  });
  return path;
};

const inputOf = (file: string, text: string, experts: string) =>
  withExperts(text, experts).catch((error: unknown) => {
    if (!(error instanceof TextRefused)) throw error;
    throw new LayerloomError('BUNDLE_INVALID', { file, reason: `its experiment ${reasonOf(error)}` });
  });
