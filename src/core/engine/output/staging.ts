import { constants } from 'node:buffer';
import { randomUUID } from 'node:crypto';
import { type FileHandle, lstat, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { LayerloomError, reasonOf } from '../../base/errors/errors.js';
import { foreignDirectory } from '../../base/files/own-directory.js';
import { writeFailed, writing } from '../../base/files/writing.js';
import { readFileIfAny } from '../../models/checkpoint/files/small-file.js';
import { exchange, tryLock } from '../../native/addon.js';
import { bytesOf } from '../../tensor/extent.js';
import { ownFile, parseJson } from '../../texts/json.js';
import { makeDirectories, replaceFile, syncDirectory } from './durable.js';
import { type Extents, readJournal } from './journal.js';
import { foreignFiles, type Output } from './output.js';
import { planDifferences, type StagedPlan } from './plan-differences.js';

/** `.OUT.layerloom-partial/`: checkpoint, plan, journal, and a lock that shows whether a merge is running. */
export interface Staging {
  readonly directory: string;
  readonly checkpoint: string;
  readonly journal: string;
  /** Extents from an earlier run that are still valid. */
  readonly done: Extents;
  readonly warnings: readonly string[];
  /** Syncs everything and renames the checkpoint into place. Returns warnings about later failures. */
  commit(): Promise<string[]>;
  discard(): Promise<void>;
  /** Releases the lock and keeps the directory for `--resume`. */
  keep(): Promise<void>;
}

/** Maximum length of a plan file: a plan is written as one string. */
const longestText = { most: constants.MAX_STRING_LENGTH, what: 'a plan' };

export const nameBeside = (out: string, what: string): string =>
  join(dirname(out), `.${basename(out)}.layerloom-${what}`);

export const stagingPath = (out: string): string => nameBeside(out, 'partial');

/**
 * Opens a staging directory, unless a running merge has locked it. Removes an interrupted run's files or,
 * with `resume`, continues it if plan and inputs are equal.
 *
 * @throws OUTPUT_BUSY, RESUME_MISMATCH, WRITE_FAILED, and the codes of `checkOutput`
 */
export const openStaging = async (output: Output, plan: StagedPlan, resume: boolean): Promise<Staging> => {
  const directory = stagingPath(output.path);
  const paths = {
    checkpoint: join(directory, 'checkpoint'),
    journal: join(directory, 'journal.jsonl'),
    plan: join(directory, 'plan.json'),
  };
  const { lock, warnings } = await acquire(directory, output.path);
  let isKept = resume;
  try {
    const { replaces } = await output.again();
    warnings.push(...(await leftovers(output.path)));
    const former = await readFileIfAny(paths.plan, longestText).catch((error: unknown) => {
      // With `resume`, a failed read must not restart the merge.
      if (resume) throw error;
      return undefined;
    });
    const continues = resume && former !== undefined;
    isKept = continues;
    if (continues) requireSamePlan(former, plan, directory);
    else if (former !== undefined)
      warnings.push(`removed the leftovers of an interrupted merge in ${directory}`);
    if (!continues) await writing(directory, () => begin(directory, paths, plan));
    return {
      directory,
      checkpoint: paths.checkpoint,
      journal: paths.journal,
      done: continues ? await writing(directory, () => validExtents(paths, plan)) : new Map(),
      warnings,
      commit: async () => {
        const remaining = await publish(directory, paths, { path: output.path, replaces });
        return [...remaining, ...(await remove(directory, output.path, lock))];
      },
      discard: async () => {
        for (const warning of await remove(directory, output.path, lock)) process.emitWarning(warning);
      },
      keep: () => lock.close(),
    };
  } catch (error) {
    // Keeps an earlier run's work, but removes this run's beginnings.
    if (isKept) await lock.close();
    else await remove(directory, output.path, lock);
    throw error;
  }
};

/**
 * Checks what `openStaging` would find, without writing.
 *
 * @returns bytes of an earlier run that `openStaging` would keep
 * @throws OUTPUT_BUSY, RESUME_MISMATCH, READ_FAILED
 */
export const checkStaging = async (out: string, plan: StagedPlan, resume: boolean): Promise<number> => {
  const directory = stagingPath(out);
  if (await isLocked(join(directory, 'lock')))
    throw new LayerloomError('OUTPUT_BUSY', { out, staging: directory });
  const former = resume ? await readFileIfAny(join(directory, 'plan.json'), longestText) : undefined;
  if (former === undefined) return 0;
  requireSamePlan(former, plan, directory);
  const done = await readJournal(join(directory, 'journal.jsonl'));
  return [...done.values()].reduce((total, extents) => total + bytesOf(extents), 0);
};

export const isLocked = async (path: string): Promise<boolean> => {
  const file = await open(path, 'r+').catch(() => undefined);
  if (file === undefined) return false;
  try {
    return tryLock(file.fd) === 'held elsewhere';
  } finally {
    await file.close();
  }
};

/**
 * Locks a staging directory. Refuses links and other users' directories: its content will be removed, and
 * anyone can create one in a shared folder. Retries if the former holder removed the lock file before we locked it: the
 * path then names another inode or nothing.
 */
const acquire = async (directory: string, out: string): Promise<{ lock: FileHandle; warnings: string[] }> => {
  const path = join(directory, 'lock');
  for (;;) {
    await writing(directory, () => makeStaging(directory));
    const foreign = foreignDirectory(directory);
    if (foreign !== undefined) throw new LayerloomError('WRITE_FAILED', { file: out, reason: foreign });
    const lock = await open(path, 'a').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw writeFailed(path, error);
    });
    if (lock === undefined) continue;
    const state = tryLock(lock.fd);
    const [held, named] = await Promise.all([
      lock.stat().catch(async (cause: unknown) => {
        await lock.close();
        throw writeFailed(path, cause);
      }),
      stat(path).catch(() => undefined),
    ]);
    if (state !== 'held elsewhere' && named?.ino === held.ino) {
      const unguarded = `the file system of ${directory} does not support locks: make sure that no other merge writes ${out}`;
      return { lock, warnings: state === 'unsupported' ? [unguarded] : [] };
    }
    await lock.close();
    if (state === 'held elsewhere') throw new LayerloomError('OUTPUT_BUSY', { out, staging: directory });
  }
};

/**
 * Makes a staging directory. Syncs only the output's parents, because the directory need not survive a crash.
 */
const makeStaging = async (directory: string): Promise<void> => {
  await makeDirectories(dirname(directory), true);
  await makeDirectories(directory);
};

const begin = async (
  directory: string,
  paths: { checkpoint: string; journal: string; plan: string },
  plan: StagedPlan,
): Promise<void> => {
  await rm(paths.plan, { force: true });
  await rm(paths.journal, { force: true });
  await rm(paths.checkpoint, { recursive: true, force: true });
  await mkdir(paths.checkpoint);
  // Syncs, so that no crash brings back an old plan or journal beside this merge's shards.
  await syncDirectory(directory);
  // Writes atomically, because a truncated plan would look like another plan.
  await replaceFile(paths.plan, JSON.stringify(plan), `${paths.plan}.new`);
  await syncDirectory(directory);
};

const requireSamePlan = (former: Buffer, plan: StagedPlan, staging: string): void => {
  let differences: string[];
  try {
    differences = planDifferences(parseJson(former, ownFile) as StagedPlan, plan);
  } catch {
    differences = ['its plan cannot be read'];
  }
  if (differences.length > 0) throw new LayerloomError('RESUME_MISMATCH', { staging, differences });
};

/** Returns the journalled extents of intact shards. Removed shards and links are written again. */
const validExtents = async (
  paths: { checkpoint: string; journal: string },
  plan: StagedPlan,
): Promise<Extents> => {
  const done = new Map(await readJournal(paths.journal));
  await makeDirectories(paths.checkpoint);
  for (const { file, bytes } of plan.shards) {
    const found = await lstat(join(paths.checkpoint, file)).catch(() => undefined);
    if (found?.size !== bytes || !found.isFile() || found.nlink !== 1) done.delete(file);
  }
  return done;
};

/**
 * Publishes the checkpoint. An earlier output of layerloom is exchanged atomically or, if the file system
 * cannot, renamed first; the earlier output is removed last, unless it has foreign files. Before the exchange, the plan
 * is removed durably: otherwise, after a crash, `--resume` would take the earlier output's shards for this merge's.
 *
 * @returns warnings about a former checkpoint that was kept or could not be removed
 */
const publish = async (
  directory: string,
  { checkpoint, plan }: { readonly checkpoint: string; readonly plan: string },
  { path, replaces }: Pick<Output, 'path' | 'replaces'>,
): Promise<string[]> => {
  const parent = dirname(path);
  const former = nameBeside(path, `former-${randomUUID().slice(0, 8)}`);
  await writing(path, async () => {
    await syncDirectory(checkpoint);
    if (replaces) {
      await rm(plan);
      await syncDirectory(directory);
    }
    if (!replaces) await rename(checkpoint, path);
    else await takePlace(checkpoint, path, former);
    await syncDirectory(parent);
    await syncDirectory(directory);
  });
  if (!replaces) return [];
  const foreign = await foreignFiles(former);
  if (foreign.length > 0)
    return [`the former ${path} contained ${foreign.join(', ')} by the end, and was kept as ${former}`];
  return await removeAs(former, path);
};

/** Moves `directory` to `path`, whose directory becomes `former`. */
export const takePlace = async (directory: string, path: string, former: string): Promise<void> => {
  if (exchange(directory, path)) await rename(directory, former);
  else await setAside(path, former, directory);
};

const setAside = async (path: string, former: string, checkpoint: string): Promise<void> => {
  await rename(path, former);
  try {
    await rename(checkpoint, path);
  } catch (error) {
    await rename(former, path);
    throw error;
  }
};

/** Random suffix of the names that `removeAs` gives. */
const token = /^[0-9a-f]{8}$/;

/**
 * Completes removals that killed runs began.
 *
 * @returns warnings about former checkpoints
 */
const leftovers = async (out: string): Promise<string[]> => {
  const [former, removed] = [basename(nameBeside(out, 'former-')), basename(nameBeside(out, 'removed-'))];
  // Finds no leftovers in a writable but unreadable directory.
  const names = await readdir(dirname(out)).catch(() => []);
  const warnings: string[] = [];
  for (const name of names) {
    const path = join(dirname(out), name);
    if (name.startsWith(removed) && token.test(name.slice(removed.length))) {
      const foreign = foreignDirectory(path);
      warnings.push(...(foreign === undefined ? await tryRemove(path) : [`${foreign}; it was not removed`]));
    } else if (name.startsWith(former))
      warnings.push(`${path} is a former ${out}; remove it when you do not need it`);
  }
  return warnings;
};

/** Renames before removing, so that a later run can complete an interrupted removal. */
const removeAs = async (
  directory: string,
  out: string,
  beforeRemoval?: () => Promise<void>,
): Promise<string[]> => {
  const doomed = nameBeside(out, `removed-${randomUUID().slice(0, 8)}`);
  const renamed = await rename(directory, doomed).then(
    () => true,
    () => false,
  );
  await beforeRemoval?.();
  return await tryRemove(renamed ? doomed : directory);
};

/** First closes the lock: NFS keeps directories with open files. */
const remove = (directory: string, out: string, lock: FileHandle): Promise<string[]> =>
  removeAs(directory, out, () => lock.close());

const tryRemove = async (directory: string): Promise<string[]> => {
  try {
    await rm(directory, { recursive: true, force: true });
    return [];
  } catch (error) {
    return [`${directory} could not be removed (${reasonOf(error)}); remove it by hand`];
  }
};
