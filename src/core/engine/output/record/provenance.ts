import { createHash } from 'node:crypto';
import { dirname, join } from 'node:path';
import { writing } from '../../../base/files/writing.js';
import { originOf } from '../../../models/address/found-model.js';
import { provenanceName, statementName } from '../../../models/checkpoint/files/file-names.js';
import { readSideFile } from '../../../models/checkpoint/files/small-file.js';
import { recordedName } from '../../../models/checkpoint/recorded-name.js';
import { describeOrigins, type Origin } from '../../../plan/card/origins.js';
import type { MergePlan, PlannedFile } from '../../../plan/plan.js';
import { reportOf } from '../../../plan/reports/method-report.js';
import {
  mergeStatement,
  statedRecordSchema,
  type WeightDigests,
} from '../../../statements/merge-statement.js';
import { statementText } from '../../../statements/statement.js';
import type { Checksums } from '../checksums.js';
import { makeDirectories, syncDirectory, writeDurably } from '../durable.js';
import type { Linked } from '../link.js';
import type { QuantisedOutput } from './kept-changes.js';
import { sealedText } from './record-seal.js';
import type { TruncatedProduct } from './truncated.js';

/** A shard in `layerloom.json` and results. */
export interface ShardRecord {
  readonly file: string;
  readonly bytes: number;
  readonly sha256?: string;
  /** Key in a batch's store. */
  readonly key?: string;
  /** How the shard was linked to an input or to the store; absent if it was written. */
  readonly link?: 'reflink' | 'hard' | 'symbolic';
}

export const describeShards = (
  plan: MergePlan,
  directory: string,
  checksums: Checksums,
  linked: Linked,
  keys: ReadonlyMap<string, string> = new Map(),
): ShardRecord[] =>
  plan.shards.map(({ file, bytes }) => {
    const [sha256, link, key] = [checksums.get(join(directory, file)), linked.get(file), keys.get(file)];
    return {
      file,
      bytes,
      ...(sha256 === undefined ? {} : { sha256 }),
      ...(key === undefined ? {} : { key }),
      ...(link === undefined ? {} : { link }),
    };
  });

export interface SideFileRecord {
  readonly file: string;
  readonly bytes: number;
  readonly sha256: string;
}

export const recordOf = (file: string, content: string | Uint8Array): SideFileRecord => ({
  file,
  bytes: Buffer.byteLength(content),
  sha256: createHash('sha256').update(content).digest('hex'),
});

export interface ProvenanceOptions {
  readonly keys?: ReadonlyMap<string, string>;
  readonly truncated?: readonly TruncatedProduct[];
  readonly quantised?: QuantisedOutput | undefined;
  readonly digests?: WeightDigests | undefined;
}

export const originsOf = (plan: MergePlan): readonly Origin[] =>
  describeOrigins(
    plan.shards.flatMap(({ tensors }) => tensors),
    plan.inputs,
    plan.recipe,
  );

/** Returns the content of `layerloom.json`, which is equal for equal merges of equal inputs. */
const provenanceOf = (
  plan: MergePlan,
  directory: string,
  checksums: Checksums,
  linked: Linked,
  { keys, truncated = [], quantised }: ProvenanceOptions,
  sideFiles: readonly SideFileRecord[],
): Record<string, unknown> => {
  const sha256 = (path: string) => (checksums.has(path) ? { sha256: checksums.get(path) } : {});
  return {
    layerloom: plan.layerloom,
    method: plan.method,
    ...(plan.form === undefined ? {} : { form: plan.form }),
    recipe: plan.recipe,
    completeRecipe: plan.completeRecipe,
    ...reportOf(plan),
    ...(truncated.length === 0 ? {} : { truncated }),
    ...(quantised === undefined ? {} : { quantised }),
    architecture: plan.architecture,
    origins: originsOf(plan),
    inputs: plan.inputs.map((input) => ({
      role: input.role,
      name: input.name,
      path: input.path,
      ...originOf(input),
      ...(input.adapted === undefined ? {} : { adapted: input.adapted }),
      files: input.files.map((file) => ({
        file: recordedName(input, file),
        bytes: file.bytes,
        mtimeNs: file.mtimeNs,
        header: file.header,
        ...sha256(file.path),
      })),
    })),
    shards: describeShards(plan, directory, checksums, linked, keys),
    sideFiles,
    files: [...plan.shards.map(({ file }) => file), ...plan.files.map(({ name }) => name), provenanceName],
  };
};

/**
 * Writes an output's files beside its shards; the caller syncs the directory. Writes `layerloom.json` last,
 * because files modified later count as the user's.
 *
 * @throws READ_FAILED, WRITE_FAILED
 */
export const writeSideFiles = async (
  plan: MergePlan,
  directory: string,
  checksums: Checksums,
  linked: Linked,
  options: ProvenanceOptions = {},
): Promise<void> => {
  const write = async (name: string, content: string | Uint8Array): Promise<SideFileRecord> => {
    const path = join(directory, name);
    await writing(path, () => writeWithFolder(path, content));
    return recordOf(name, content);
  };
  // Writes in parallel, so that the disk can combine syncs.
  const sideFiles = await Promise.all(
    plan.files.map(async (file) => write(file.name, await contentOf(file))),
  );
  const provenance = provenanceOf(plan, directory, checksums, linked, options, sideFiles);
  const folders = new Set(plan.files.map(({ name }) => dirname(join(directory, name))));
  // Skips the output directory, which is synced before its rename.
  for (const folder of folders) if (folder !== directory) await writing(folder, () => syncDirectory(folder));
  const record = sealedText(provenance);
  if (options.digests !== undefined) {
    const stated = statedRecordSchema.parse(JSON.parse(record));
    await write(statementName, statementText(mergeStatement(stated, options.digests)));
  }
  await write(provenanceName, record);
};

const writeWithFolder = async (path: string, content: string | Uint8Array): Promise<void> => {
  await makeDirectories(dirname(path));
  await writeDurably(path, content);
};

/** @throws READ_FAILED */
export const contentOf = (file: PlannedFile): Promise<string | Uint8Array> =>
  'text' in file ? Promise.resolve(file.text) : readSideFile(file.copyOf);
