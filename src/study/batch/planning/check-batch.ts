import { statfs } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { LayerloomError } from '../../../core/base/errors/errors.js';
import { exists } from '../../../core/base/files/exists.js';
import { namesIn } from '../../../core/base/files/unless-missing.js';
import { type Checked, checkMemory, orWanted } from '../../../core/engine/check-run.js';
import { checkApart, checkOutsideStores, isInside, realPathOf } from '../../../core/engine/output/apart.js';
import { checkWritable, existingAbove } from '../../../core/engine/output/durable.js';
import { checkDevice, checkLink, type Link } from '../../../core/engine/output/link.js';
import { isLocked } from '../../../core/engine/output/staging.js';
import type { FoundWithAdapter } from '../../../core/models/address/found-model.js';
import { checkSpace } from '../../../core/models/checkpoint/files/disk-space.js';
import { instructionSets } from '../../../core/native/addon.js';
import { markerName } from '../../store/files/paths.js';
import { ShardStore } from '../../store/shard-store.js';
import type { BatchMerge } from './batch-merge.js';
import type { BatchPlan } from './batch-plan.js';
import { linkedIn } from './inputs-of.js';
import { keysOfPart, type Part } from './part.js';
import { experimentExists, hasRecord, lockName } from './record-names.js';

export interface CheckedBatch {
  /** Directory of the merges; if absent, outputs are not checked. */
  readonly out?: string | undefined;
  readonly store?: string | undefined;
  readonly link?: Link | undefined;
  readonly range?: Part | undefined;
  readonly resume?: boolean | undefined;
  readonly force?: boolean | undefined;
  readonly threads?: number | undefined;
}

/**
 * Checks everything but the merges, before weights are read. Writes nothing.
 *
 * @returns MEMORY_NEEDED, DISK_SPACE, and OUTPUT_EXISTS without `resume`, as errors in `wanted`; a warning if
 * fewer threads are used
 * @throws OUTPUT_BUSY, WRITE_FAILED, STORE_INVALID, LINK_REFUSED, INVALID_PARAMETER, INSTRUCTION_SET, and the
 * codes of `checkPlaces`
 */
export const checkBatch = async (
  plan: BatchPlan<BatchMerge>,
  { out: given, store, link = 'hard', range, resume, force, threads }: CheckedBatch,
  present: ReadonlySet<string>,
): Promise<Checked> => {
  instructionSets();
  checkLink(link);
  const mine = keysOfPart(plan, range);
  const wanted: LayerloomError[] = [];
  const shards = [...plan.shards].filter(([key]) => mine.has(key));
  const tensors = shards.flatMap(([, shard]) => shard.tensors);
  const warnings = await checkMemory(tensors, threads, wanted);
  if (given === undefined) return { wanted, warnings };
  const out = resolve(given);
  await checkPlaces(namesOf(plan), plan.inputs, { out, store });
  await checkWritable(out);
  if (range === undefined) {
    if (await isLocked(join(out, lockName)))
      throw new LayerloomError('OUTPUT_BUSY', { out, staging: join(out, lockName) });
    if ((await hasRecord(out)) && !resume && !force) wanted.push(experimentExists(out));
  }
  const directory = resolve(store ?? join(out, '.store'));
  const above = await existingAbove(directory);
  await checkDevices(plan, directory, out, link, range);
  const missing = missingBytes(plan, mine, present);
  await orWanted('DISK_SPACE', wanted, () => checkSpace(above, directory, missing));
  return { wanted, warnings };
};

/**
 * Refuses an output or store inside an input, an output inside a store, and a store where a merge would be.
 * @throws OUTPUT_INSIDE_INPUT, OUTPUT_INVALID, STORE_INVALID
 */
export const checkPlaces = async (
  names: readonly string[],
  inputs: readonly FoundWithAdapter[],
  { out, store = join(out, '.store') }: Pick<CheckedBatch, 'store'> & { readonly out: string },
): Promise<void> => {
  await checkApart(out, inputs);
  await checkApart(store, inputs);
  await checkOutsideStores(out);
  const [output, directory] = await Promise.all([realPathOf(resolve(out)), realPathOf(resolve(store))]);
  if (isInside(output, directory))
    throw new LayerloomError('OUTPUT_INVALID', {
      out: output,
      reason: `is in the store ${directory}; choose another output`,
    });
  const own = names.find((name) => isInside(directory, join(output, name)));
  if (own !== undefined)
    throw new LayerloomError('STORE_INVALID', {
      store: directory,
      reason: `is where the merge ${own} would be written; choose another directory`,
    });
};

export const namesOf = ({ merges }: BatchPlan<BatchMerge>): string[] => merges.map(({ merge }) => merge.name);

/** Disk space in bytes. */
export interface DiskNeed {
  readonly shards: number;
  /** Bytes of missing shards and of merges that are copied. */
  readonly needed: number;
  /** Free bytes on the store's file system; null if unknown. */
  readonly free: number | null;
}

/** @throws STORE_INVALID, WRITE_FAILED */
export const diskNeedOf = async (
  plan: BatchPlan<BatchMerge>,
  { out = '.', store, link = 'hard', range }: CheckedBatch,
  present: ReadonlySet<string>,
): Promise<DiskNeed> => {
  const directory = resolve(store ?? join(out, '.store'));
  const shards = missingBytes(plan, keysOfPart(plan, range), present);
  const free = await statfs(await existingAbove(directory)).catch(() => undefined);
  return {
    shards,
    needed: shards + (link === 'copy' && range === undefined ? plan.bytesPlain : 0),
    free: free === undefined ? null : free.bavail * free.bsize,
  };
};

const missingBytes = (
  plan: BatchPlan<BatchMerge>,
  mine: Pick<ReadonlySet<string>, 'has'>,
  present: ReadonlySet<string>,
): number => {
  let missing = 0;
  for (const [key, { bytes }] of plan.shards) if (mine.has(key) && !present.has(key)) missing += bytes;
  return missing;
};

/**
 * @throws LINK_REFUSED if the output is not on the file system of the store, or of input files to which
 *   missing merges would link
 */
export const checkDevices = async (
  plan: BatchPlan<BatchMerge>,
  store: string,
  out: string,
  link: Link,
  range?: Part,
): Promise<void> => {
  if (link !== 'hard' && link !== 'reflink') return;
  const above = await existingAbove(out);
  await checkDevice(await existingAbove(store), above, link);
  const merges = [];
  for (const planned of plan.merges) if (!(await exists(join(out, planned.merge.name)))) merges.push(planned);
  for (const file of linkedIn({ merges }, range))
    if (await exists(file)) await checkDevice(file, above, link);
};

/**
 * Opens the store if it exists.
 *
 * @throws STORE_INVALID, WRITE_FAILED
 */
export const openThere = async (directory: string): Promise<ShardStore | undefined> => {
  await checkWritable(directory);
  const names = await namesIn(directory);
  // A temporary marker alone is not a store: its process died, or is still creating the store.
  const isBegun = names.some((name) => name === markerName || !name.startsWith(markerName));
  return isBegun ? await ShardStore.open(directory) : undefined;
};
