import { type FileHandle, lstat, mkdir, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { LayerloomError, reasonOf } from '../errors.js';
import { exchange, tryLock } from '../native/addon.js';
import type { MergePlan } from '../plan/plan.js';
import { type Extents, readJournal } from './journal.js';
import type { Output } from './output.js';

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
  /** Makes everything durable and puts the checkpoint in the target's place. The target never exists half-written. */
  commit(): Promise<void>;
  /** Removes the staging and all in it. */
  discard(): Promise<void>;
  /** Leaves the staging for a later `--resume`. */
  keep(): Promise<void>;
}

export const stagingPath = (out: string): string => join(dirname(out), `.${basename(out)}.layerloom-partial`);

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
    const former = await readFormerPlan(paths.plan);
    const differences = former === undefined ? [] : planDifferences(former, plan);
    if (resume && differences.length > 0)
      throw new LayerloomError('RESUME_MISMATCH', { staging: directory, differences });
    const done = resume && former !== undefined ? await whatStands(paths, plan) : new Map();
    if (former !== undefined && !resume)
      warnings.push(`removed what an interrupted merge had left in ${directory}`);
    if (former === undefined || !resume) await begin(paths, plan);
    return {
      directory,
      checkpoint: paths.checkpoint,
      journal: paths.journal,
      done,
      warnings,
      commit: async () => {
        await publish(paths.checkpoint, output);
        await rm(directory, { recursive: true, force: true });
        await lock.close();
      },
      discard: async () => {
        await rm(directory, { recursive: true, force: true });
        await lock.close();
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
    await mkdir(directory, { recursive: true }).catch((cause: unknown) => {
      throw new LayerloomError('WRITE_FAILED', { file: directory, reason: reasonOf(cause) }, { cause });
    });
    const lock = await open(path, 'a').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw new LayerloomError('WRITE_FAILED', { file: path, reason: reasonOf(error) }, { cause: error });
    });
    if (lock === undefined) continue;
    const state = tryLock(lock.fd);
    const [held, named] = await Promise.all([lock.stat(), stat(path).catch(() => undefined)]);
    if (state === 'held elsewhere') {
      await lock.close();
      throw new LayerloomError('OUTPUT_BUSY', { out, staging: directory });
    }
    const unguarded = `the file system of ${directory} has no locks: make sure that no other merge writes ${out}`;
    if (named?.ino === held.ino) return { lock, warnings: state === 'unsupported' ? [unguarded] : [] };
    await lock.close();
  }
};

const begin = async (
  paths: { checkpoint: string; journal: string; plan: string },
  plan: MergePlan,
): Promise<void> => {
  await rm(paths.plan, { force: true });
  await rm(paths.journal, { force: true });
  await rm(paths.checkpoint, { recursive: true, force: true });
  await mkdir(paths.checkpoint);
  // Whole or not there: a plan cut short must not look like another plan.
  await writeFile(`${paths.plan}.new`, JSON.stringify(plan), { flush: true });
  await rename(`${paths.plan}.new`, paths.plan);
};

const readFormerPlan = async (path: string): Promise<MergePlan | undefined> => {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  return text === undefined ? undefined : (JSON.parse(text) as MergePlan);
};

/**
 * What the journal says of shards that are there: one that has been removed since, or linked by a run with another `--link`, is
 * written again.
 */
const whatStands = async (
  paths: { checkpoint: string; journal: string },
  plan: MergePlan,
): Promise<Extents> => {
  const done = await readJournal(paths.journal);
  for (const { file, bytes } of plan.shards) {
    const found = await lstat(join(paths.checkpoint, file)).catch(() => undefined);
    if (found?.size !== bytes || !found.isFile() || found.nlink !== 1) done.delete(file);
  }
  return done;
};

/** In words, what keeps one plan from continuing another. */
const planDifferences = (former: MergePlan, plan: MergePlan): string[] => {
  const differs = (part: (plan: MergePlan) => unknown) =>
    JSON.stringify(part(former)) !== JSON.stringify(part(plan));
  const differences: string[] = [];
  if (former.layerloom !== plan.layerloom)
    differences.push(`layerloom ${former.layerloom} began it and this is ${plan.layerloom}`);
  if (former.method !== plan.method) differences.push(`it was a ${former.method}`);
  for (const key of new Set([...Object.keys(former.recipe), ...Object.keys(plan.recipe)]))
    if (differs(({ recipe }) => recipe[key]))
      differences.push(
        `${key} was ${JSON.stringify(former.recipe[key])} and is ${JSON.stringify(plan.recipe[key])}`,
      );
  if (differs(({ inputs }) => inputs.map(({ role, path }) => [role, path])))
    differences.push('it had other inputs');
  else
    for (const [index, { files }] of plan.inputs.entries())
      for (const [position, file] of files.entries())
        if (differs(({ inputs }) => inputs[index]?.files[position]))
          differences.push(`${file.path} has changed`);
  if (differences.length === 0 && differs(({ shards }) => shards))
    differences.push('it laid out its shards otherwise');
  if (differences.length === 0 && differs(({ files }) => files)) differences.push('it had other side files');
  return differences;
};

export const syncDirectory = async (directory: string): Promise<void> => {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
};

/**
 * Renames the checkpoint into place. A former one of ours is exchanged with it in one step, or, where the file system has no such
 * step, set aside under a name of its own and removed last.
 */
const publish = async (checkpoint: string, { path, replaces }: Output): Promise<void> => {
  const parent = dirname(path);
  await syncDirectory(checkpoint);
  if (!replaces) {
    await rename(checkpoint, path);
    await syncDirectory(parent);
  } else if (exchange(checkpoint, path)) {
    await syncDirectory(parent);
  } else {
    const aside = join(parent, `.${basename(path)}.layerloom-former`);
    await rename(path, aside);
    await rename(checkpoint, path);
    await syncDirectory(parent);
    await rm(aside, { recursive: true });
  }
};
