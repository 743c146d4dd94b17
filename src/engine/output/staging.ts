import { constants } from 'node:buffer';
import { randomUUID } from 'node:crypto';
import { type FileHandle, lstat, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { readSmallFile } from '../../checkpoint/small-file.js';
import { LayerloomError, reasonOf } from '../../errors.js';
import { exchange, tryLock } from '../../native/addon.js';
import type { MergePlan } from '../../plan/plan.js';
import { makeDirectories, syncDirectory, writeDurably } from './durable.js';
import { type Extents, readJournal } from './journal.js';
import { foreignFiles, type Output } from './output.js';
import { planDifferences } from './plan-differences.js';

/**
 * The directory beside the target where a merge grows: `.OUT.layerloom-partial/`, with the checkpoint in a folder of its
 * own, the plan it carries out, the journal, and the lock that tells a live run from what a dead one left.
 */
export interface Staging {
  readonly directory: string;
  readonly checkpoint: string;
  readonly journal: string;
  /** What an earlier run left that still holds; empty for a fresh start. */
  readonly done: Extents;
  readonly warnings: readonly string[];
  /**
   * Makes everything durable and puts the checkpoint in the target's place. The target never exists half-written. Returns warnings: once the
   * checkpoint is in its place nothing is a failure any more.
   */
  commit(): Promise<string[]>;
  /** Removes the staging and all in it. */
  discard(): Promise<void>;
  /** Leaves the staging for a later `--resume`. */
  keep(): Promise<void>;
}

/** A plan of many tensors is large, but was written as one text. */
const longestText = { most: constants.MAX_STRING_LENGTH, what: 'a plan' };

const nameBeside = (out: string, what: string): string =>
  join(dirname(out), `.${basename(out)}.layerloom-${what}`);

export const stagingPath = (out: string): string => nameBeside(out, 'partial');

/**
 * Opens the staging of `output`, alone: what a live run holds is refused, what a dead one left is removed, or continued when
 * `resume` is asked and it carried out the same plan over the same inputs.
 *
 * @throws LayerloomError OUTPUT_BUSY, RESUME_MISMATCH, WRITE_FAILED
 */
export const openStaging = async (output: Output, plan: MergePlan, resume: boolean): Promise<Staging> => {
  const directory = stagingPath(output.path);
  const paths = {
    checkpoint: join(directory, 'checkpoint'),
    journal: join(directory, 'journal.jsonl'),
    plan: join(directory, 'plan.json'),
  };
  const { lock, warnings } = await acquire(directory, output.path);
  try {
    warnings.push(...(await leftovers(output.path)));
    const former = await readSmallFile(paths.plan, longestText).catch(() => undefined);
    const continues = resume && former !== undefined;
    if (continues) requireSamePlan(former, plan, directory);
    else if (former !== undefined)
      warnings.push(`removed what an interrupted merge had left in ${directory}`);
    if (!continues) await begin(directory, paths, plan);
    return {
      directory,
      checkpoint: paths.checkpoint,
      journal: paths.journal,
      done: continues ? await whatStands(paths, plan) : new Map(),
      warnings,
      commit: async () => {
        const remaining = await publish(directory, paths, output);
        return [...remaining, ...(await remove(directory, output.path, lock))];
      },
      discard: async () => {
        for (const warning of await remove(directory, output.path, lock)) process.emitWarning(warning);
      },
      keep: () => lock.close(),
    };
  } catch (error) {
    await lock.close();
    throw error;
  }
};

/** The lock's file may be removed by its former holder between our opening and our locking it: then it is another file. */
const acquire = async (directory: string, out: string): Promise<{ lock: FileHandle; warnings: string[] }> => {
  const path = join(directory, 'lock');
  for (;;) {
    await makeStaging(directory).catch((cause: unknown) => {
      throw new LayerloomError('WRITE_FAILED', { file: directory, reason: reasonOf(cause) }, { cause });
    });
    const lock = await open(path, 'a').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw new LayerloomError('WRITE_FAILED', { file: path, reason: reasonOf(error) }, { cause: error });
    });
    if (lock === undefined) continue;
    const state = tryLock(lock.fd);
    const [held, named] = await Promise.all([lock.stat(), stat(path).catch(() => undefined)]);
    if (state !== 'held elsewhere' && named?.ino === held.ino) {
      const unguarded = `the file system of ${directory} has no locks: make sure that no other merge writes ${out}`;
      return { lock, warnings: state === 'unsupported' ? [unguarded] : [] };
    }
    await lock.close();
    if (state === 'held elsewhere') throw new LayerloomError('OUTPUT_BUSY', { out, staging: directory });
  }
};

/** The directories above the target stay with it, the staging itself need not outlive a crash. */
const makeStaging = async (directory: string): Promise<void> => {
  await makeDirectories(dirname(directory), true);
  await makeDirectories(directory);
};

const begin = async (
  directory: string,
  paths: { checkpoint: string; journal: string; plan: string },
  plan: MergePlan,
): Promise<void> => {
  await rm(paths.plan, { force: true });
  await rm(paths.journal, { force: true });
  await rm(paths.checkpoint, { recursive: true, force: true });
  await mkdir(paths.checkpoint);
  // A crash must not bring a former plan or journal back beside this merge's shards.
  await syncDirectory(directory);
  // Whole or not there: a plan cut short must not look like another plan.
  await writeDurably(`${paths.plan}.new`, JSON.stringify(plan));
  await rename(`${paths.plan}.new`, paths.plan);
  await syncDirectory(directory);
};

const requireSamePlan = (former: Buffer, plan: MergePlan, staging: string): void => {
  let differences: string[];
  try {
    differences = planDifferences(JSON.parse(former.toString()) as MergePlan, plan);
  } catch {
    differences = ['its plan cannot be read'];
  }
  if (differences.length > 0) throw new LayerloomError('RESUME_MISMATCH', { staging, differences });
};

/**
 * What the journal says of shards that are there: one that has been removed since, or linked by a run with another `--link`, is
 * written again.
 */
const whatStands = async (
  paths: { checkpoint: string; journal: string },
  plan: MergePlan,
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
 * Renames the checkpoint into place. A former one of ours is exchanged with it in one step, or, where the file system has no such
 * step, set aside. It is removed last, and only if nothing has come into it since it was found to be ours. The plan goes first, also on the
 * disk: what ends just after the exchange leaves the former checkpoint in the staging, and no `--resume` may take its shards for the merge's.
 *
 * @returns warnings about what stayed
 */
const publish = async (
  directory: string,
  { checkpoint, plan }: { readonly checkpoint: string; readonly plan: string },
  { path, replaces }: Output,
): Promise<string[]> => {
  const parent = dirname(path);
  const former = nameBeside(path, `former-${randomUUID().slice(0, 8)}`);
  try {
    await syncDirectory(checkpoint);
    if (replaces) {
      await rm(plan);
      await syncDirectory(directory);
    }
    if (!replaces) await rename(checkpoint, path);
    else if (exchange(checkpoint, path)) await rename(checkpoint, former);
    else await setAside(path, former, checkpoint);
    await syncDirectory(parent);
    await syncDirectory(directory);
  } catch (cause) {
    throw new LayerloomError('WRITE_FAILED', { file: path, reason: reasonOf(cause) }, { cause });
  }
  if (!replaces) return [];
  const foreign = await foreignFiles(former);
  if (foreign.length > 0)
    return [`the former ${path} had come to hold ${foreign.join(', ')}, and was kept as ${former}`];
  return await removeAs(former, path);
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

/**
 * What killed runs have left beside the output. What they were removing is removed; checkpoints that they had set aside, or
 * kept for what had come into them, are the user's to look at.
 *
 * @returns warnings
 */
const leftovers = async (out: string): Promise<string[]> => {
  const [former, removed] = ['former-', 'removed-'].map((what) => basename(nameBeside(out, what)));
  // A directory may be writable and not readable; then nothing is known of others.
  const names = await readdir(dirname(out)).catch(() => []);
  const warnings: string[] = [];
  for (const name of names) {
    const path = join(dirname(out), name);
    if (name.startsWith(removed ?? '')) warnings.push(...(await tryRemove(path)));
    else if (name.startsWith(former ?? ''))
      warnings.push(`${path} is a former ${out}; remove it when you do not need it`);
  }
  return warnings;
};

/** Renames first, to a name by which a later run knows what it may remove, should this one be killed. */
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

/**
 * Frees the target's staging name first, so that another run can begin, then the lock, and then removes all: on NFS a file that is
 * still open cannot be removed with its directory.
 */
const remove = (directory: string, out: string, lock: FileHandle): Promise<string[]> =>
  removeAs(directory, out, () => lock.close());

const tryRemove = async (directory: string): Promise<string[]> => {
  try {
    await rm(directory, { recursive: true, force: true });
    return [];
  } catch (error) {
    return [`${directory} could not be removed (${reasonOf(error)}); remove it yourself`];
  }
};
