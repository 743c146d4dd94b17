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
import { sumIfAny } from './compare-merge.js';
import { findMakeable, type MadeAgain, makeAgain } from './make-again.js';
import { sumsName } from './names.js';
import { unpack } from './read-bundle.js';
import { withExperts } from './with-experts.js';

export interface RebuildOptions extends RunControls {
  /** Directory to make; default: the bundle's name without `.tar`. */
  out?: string | undefined;
  /** Folder of models by name, for all merges; hub models may be in the hub's cache. Default: no merges. */
  experts?: string | undefined;
  /** Continue in a directory of this bundle: keep all files, remake incomplete merges. Default false. */
  resume?: boolean | undefined;
}

/** Result of `rebuild`. */
export interface RebuiltStudy {
  readonly out: string;
  readonly files: number;
  readonly bytes: number;
  readonly merges: number;
  /** Remade merges; null without `experts`. */
  readonly again: MadeAgain | null;
  readonly warnings: readonly string[];
}

/**
 * Unpacks a bundle into a new directory, either completely or not at all. With `experts`, then remakes the
 * merges whose models exist.
 *
 * @throws OUTPUT_EXISTS, the codes of `unpack`, `findMakeable` and `makeAgain`
 */
export const rebuildStudy = async (
  file: string,
  { out = defaultOut(file), experts, resume = false, ...controls }: RebuildOptions,
): Promise<RebuiltStudy> => {
  const path = resolve(out);
  const isThere = await isFilled(path);
  if (isThere && !resume) throw occupied(path, 'exists');
  const folder = experts === undefined ? undefined : await foundFolder(experts);
  const staging = join(dirname(path), `.${basename(path)}.layerloom-rebuild-${randomUUID()}`);
  await writing(path, async () => {
    await makeDirectories(dirname(path), true);
    await mkdir(staging);
  });
  try {
    const unpacked = await unpack(resolve(file), staging, controls.signal);
    const record = await readRecord(staging);
    const makeable =
      folder === undefined
        ? undefined
        : await findMakeable(record, await inputOf(file, record.experiment, folder), folder, controls);
    if (isThere) await checkSame(staging, path);
    else
      await writing(path, async () => {
        await syncDirectory(staging);
        // The rename replaces only an empty folder, so that a folder which somebody made meanwhile stays.
        await rename(staging, path);
        await syncDirectory(dirname(path));
      });
    const again =
      makeable === undefined
        ? null
        : await makeAgain(
            makeable,
            { bundled: isThere ? staging : path, study: path, work: join(path, '.again') },
            controls,
          );
    return { out: path, ...unpacked, merges: record.merges.length, again, warnings: [] };
  } finally {
    await rm(staging, { recursive: true, force: true }).catch(() => undefined);
  }
};

const defaultOut = (file: string): string => {
  const name = file.replace(/\.tar$/, '');
  if (name !== file && basename(name) !== '') return name;
  throw new LayerloomError('USAGE', {
    reason: `${file} does not end with .tar; name the new directory with ${optionName('out')}`,
  });
};

const isFilled = async (path: string): Promise<boolean> => {
  const found = await unlessMissing(path, lstat(path));
  if (found === undefined) return false;
  return !found.isDirectory() || (await readdir(path).catch(() => ['?'])).length > 0;
};

const occupied = (out: string, reason: string): LayerloomError =>
  new LayerloomError('OUTPUT_EXISTS', {
    out,
    reason,
    remedy: `choose a new directory (${optionName('out')}), or continue an earlier rebuild of this bundle (${optionName('resume')})`,
  });

/** @throws OUTPUT_EXISTS for a folder that was not made from this bundle */
const checkSame = async (bundled: string, study: string): Promise<void> => {
  const [own, there] = await Promise.all([bundled, study].map((folder) => sumIfAny(join(folder, sumsName))));
  if (own !== there) throw occupied(study, `was not rebuilt from this bundle: its ${sumsName} differs`);
};

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
