import { randomUUID } from 'node:crypto';
import { mkdir, readdir, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { LayerloomError } from '../../core/base/errors/errors.js';
import { exists } from '../../core/base/files/exists.js';
import { foreignDirectory } from '../../core/base/files/own-directory.js';
import { writeFailed } from '../../core/base/files/writing.js';
import type { InputFiles } from '../../core/engine/input-files.js';
import { makeDirectories, syncDirectory } from '../../core/engine/output/durable.js';
import { type Link, type Linked, linkFileBy, linkRefused } from '../../core/engine/output/link.js';
import { checkOutput, foreignFiles } from '../../core/engine/output/output.js';
import { writeSideFiles } from '../../core/engine/output/record/provenance.js';
import { nameBeside, takePlace } from '../../core/engine/output/staging.js';
import { cardName, provenanceName } from '../../core/models/checkpoint/files/file-names.js';
import { readSmallFile } from '../../core/models/checkpoint/files/small-file.js';
import { markdownText } from '../../core/plan/card/markdown.js';
import type { MergePlan, PlannedInput } from '../../core/plan/plan.js';
import { ownFile, parseJson } from '../../core/texts/json.js';
import type { LinkedShard } from '../store/files/link-shard.js';
import type { ShardStore } from '../store/shard-store.js';
import type { BatchDigests } from './batch-digests.js';
import type { MergeShard } from './planning/merge-shards.js';

export interface Assembled {
  readonly inputs: readonly PlannedInput[];
  readonly shards: readonly MergeShard[];
  plan(): Promise<MergePlan>;
}

/**
 * Links shards that all exist, writes the side files, and renames the staging directory into place. Replaces
 * a former merge if layerloom wrote all of its files.
 *
 * @param digests if the merge gets a statement
 * @returns warnings
 * @throws LINK_REFUSED, STORE_SHARD_MISSING, OUTPUT_NOT_OURS, OUTPUT_INVALID, INPUT_CHANGED, READ_FAILED,
 * WRITE_FAILED
 */
export const assemble = async (
  merge: Assembled,
  out: string,
  store: ShardStore,
  inputs: InputFiles,
  link: Link,
  digests?: BatchDigests,
): Promise<string[]> => {
  const { shards } = merge;
  await makeDirectories(dirname(out), true);
  const output = await checkOutput(merge, out, true);
  const staging = join(dirname(output.path), `.${basename(output.path)}.layerloom-batch-${process.pid}`);
  const warnings: string[] = [];
  const foreign = foreignDirectory(staging);
  if (foreign !== undefined) throw new LayerloomError('WRITE_FAILED', { file: output.path, reason: foreign });
  try {
    await rm(staging, { recursive: true, force: true });
    await mkdir(staging);
    const linked = new Map<string, Exclude<Link, 'copy'>>();
    const checksums = new Map<string, string>();
    const linkAll = async (): Promise<void> => {
      for (const folder of new Set(shards.map(({ file }) => dirname(file))))
        await makeDirectories(join(staging, folder));
      for (const shard of shards) {
        const to = join(staging, shard.file);
        const made = await linkOne(shard, to, store, inputs, link);
        warnings.push(...made.warnings);
        if (made.link !== 'copy') linked.set(shard.file, made.link);
        if (made.sha256 !== undefined) checksums.set(to, made.sha256);
      }
    };
    if (link === 'hard') await inputs.whileLinking(verbatimOf(shards), linkAll);
    else await linkAll();
    const stated = await digests?.of(staging, shards);
    for (const [path, sha256] of stated?.inputs ?? []) checksums.set(path, sha256);
    for (const [file, sha256] of stated?.weights.files ?? []) {
      const path = join(staging, file);
      // Keeps the store's SHA-256, so that verification finds a damaged shard.
      if (!checksums.has(path)) checksums.set(path, sha256);
    }
    // Plans the files only after linking: an earlier plan would outlive V8's young generation.
    await writeSideFiles(await merge.plan(), staging, checksums, linked as Linked, {
      ...{ keys: keysOf(shards), digests: stated?.weights },
    });
    await syncDirectory(staging);
    await inputs.verify(merge.inputs.flatMap(({ files }) => files.map(({ path }) => path)));
    if (link === 'symbolic') for (const path of verbatimOf(shards)) await inputs.verifyPath(path);
    const former = await replace(staging, output.path, output.replaces);
    if (former === undefined) return warnings;
    // If somebody added a file meanwhile, keeps the former merge and that file.
    const foreign = await foreignFiles(former);
    if (foreign.length > 0) {
      const kept = nameBeside(output.path, `former-${randomUUID().slice(0, 8)}`);
      await rename(former, kept);
      return [
        ...warnings,
        `the former ${output.path} contained ${foreign.join(', ')} by the end, and was kept as ${kept}`,
      ];
    }
    // Removing a merge changes link counts of inputs, which must not look like a changed input.
    const remove = () => rm(former, { recursive: true, force: true });
    if (link === 'hard') await inputs.whileLinking(inputs.linked, remove);
    else await remove();
    return warnings;
  } catch (error) {
    await rm(staging, { recursive: true, force: true });
    throw writeFailed(output.path, error);
  }
};

const keysOf = (shards: readonly MergeShard[]): ReadonlyMap<string, string> =>
  new Map(shards.map(({ file, key }) => [file, key]));

const linkOne = async (
  { verbatim, key }: MergeShard,
  to: string,
  store: ShardStore,
  inputs: InputFiles,
  link: Link,
): Promise<LinkedShard> => {
  if (verbatim === undefined) return await store.link(key, to, link);
  const from = await realpath(verbatim);
  await linkFileBy[link](from, to).catch((cause: unknown) => {
    throw linkRefused(from, link, cause);
  });
  await inputs.verifyPath(verbatim);
  return { link, warnings: [] };
};

const verbatimOf = (shards: readonly MergeShard[]): string[] =>
  shards.flatMap(({ verbatim }) => verbatim ?? []);

/** Moves the staging directory into place. @returns the former merge's new path, if any */
const replace = async (staging: string, path: string, replaces: boolean): Promise<string | undefined> => {
  const former = replaces ? `${staging}-former` : undefined;
  if (former === undefined) await rename(staging, path);
  else await takePlace(staging, path, former);
  await syncDirectory(dirname(path));
  return former;
};

interface FoundShard {
  readonly file: string;
  readonly key?: string;
  readonly link?: Link;
}

interface FoundRecord {
  readonly shards?: readonly FoundShard[];
  readonly inputs?: readonly PlannedInput[];
  readonly sideFiles?: readonly { readonly file: string }[];
}

/** False if a card lacks a note because the card was written before the scores. */
export const hasNotes = async (out: string, notes: readonly string[] = []): Promise<boolean> => {
  if (notes.length === 0) return true;
  const card = await readSmallFile(join(out, cardName)).catch(() => '');
  return notes.every((note) => card.toString().includes(markdownText(note)));
};

/**
 * True if a merge's shards are exactly these, linked to the store's current files.
 *
 * @param inputs if given, the merge must also have their configurations, and be newer than their side files
 */
export const isAssembled = async (
  out: string,
  shards: readonly MergeShard[],
  store: ShardStore,
  inputs?: readonly PlannedInput[],
): Promise<boolean> => {
  const text = await readSmallFile(join(out, provenanceName)).catch(() => '{}');
  try {
    const record = parseJson(text, ownFile) as FoundRecord;
    const byFile = new Map((record.shards ?? []).map((shard) => [shard.file, shard]));
    if (byFile.size !== shards.length) return false;
    const isThere = await Promise.all(
      shards.map((shard) => isThereStill(shard, byFile.get(shard.file), out, store)),
    );
    if (!isThere.every(Boolean)) return false;
    return inputs === undefined || (await hasCurrentSideFiles(out, record, inputs));
  } catch {
    return false;
  }
};

/** True if a merge's side files (configuration, tokenizer) are current; shard keys do not cover them. */
const hasCurrentSideFiles = async (
  out: string,
  record: FoundRecord,
  inputs: readonly PlannedInput[],
): Promise<boolean> => {
  if (configsIn(record.inputs ?? []) !== configsIn(inputs)) return false;
  const made = await stat(join(out, provenanceName));
  const folders = new Set(inputs.flatMap(({ files }) => files.map(({ path }) => dirname(path))));
  for (const folder of folders)
    for (const { file } of record.sideFiles ?? []) {
      // File systems have coarse clocks, so equal times may mean a later change.
      const own = await stat(join(folder, file)).catch(() => undefined);
      if (own !== undefined && own.mtimeMs >= made.mtimeMs) return false;
    }
  return true;
};

const configsIn = (inputs: readonly PlannedInput[]): string =>
  JSON.stringify(
    inputs.flatMap(({ role, path, files }) =>
      role === 'config' ? [path, ...files.map(({ header }) => header)] : [],
    ),
  );

const isThereStill = async (
  { file, key, bytes, verbatim }: MergeShard,
  found: FoundShard | undefined,
  out: string,
  store: ShardStore,
): Promise<boolean> => {
  if (found?.key !== key) return false;
  const { size, ino, dev } = await stat(join(out, file));
  if (size !== bytes) return false;
  if (verbatim !== undefined || found.link !== 'hard') return true;
  // If the store has replaced a damaged shard, a link to the former file is still damaged.
  const stored = await stat(store.pathOf(key));
  return stored.ino === ino && stored.dev === dev;
};

/** True if a former merge has somebody else's files. A staging directory without a record is unfinished. */
const hasForeign = async (directory: string): Promise<boolean> =>
  (await exists(join(directory, provenanceName))) && (await foreignFiles(directory)).length > 0;

const stagingName = /^\..+\.layerloom-batch-\d+(-former)?$/;

/** Removes merges' staging directories. The caller must hold the experiment's lock. */
export const clearStaging = async (out: string, names: readonly string[]): Promise<void> => {
  for (const directory of new Set(names.map((name) => dirname(join(out, name)))))
    for (const name of await readdir(directory).catch(() => [])) {
      const path = join(directory, name);
      if (stagingName.test(name) && foreignDirectory(path) === undefined && !(await hasForeign(path)))
        await rm(path, { recursive: true, force: true });
    }
};
