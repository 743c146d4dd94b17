import { createHash } from 'node:crypto';
import { lstat, rename } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import * as z from 'zod';
import { namesIn, unlessMissing } from '../../core/base/files/unless-missing.js';
import { version } from '../../core/base/files/version.js';
import { reading, writing } from '../../core/base/files/writing.js';
import { counted } from '../../core/base/format.js';
import { hashHere } from '../../core/engine/output/checksums.js';
import { makeDirectories } from '../../core/engine/output/durable.js';
import { staysInside } from '../../core/models/address/file-name.js';
import { provenanceName } from '../../core/models/checkpoint/files/file-names.js';
import { readFileIfAny } from '../../core/models/checkpoint/files/small-file.js';
import { jsonOrNone, ownFile } from '../../core/texts/json.js';
import { ResultFiles } from '../evaluation/result-files.js';
import type { ExperimentRecord } from '../experiment/record/experiment-record.js';

const hex = z.string().regex(/^[0-9a-f]{64}$/);
const fileName = z.string().refine(staysInside);

const recordSchema = z.object({
  layerloom: z.string(),
  inputs: z.array(
    z.object({
      name: z.string(),
      path: z.string(),
      files: z.array(z.object({ file: z.string(), bytes: z.number(), header: z.string().exactOptional() })),
    }),
  ),
  shards: z.array(z.object({ file: fileName, bytes: z.number(), sha256: hex.exactOptional() })),
  sideFiles: z.array(z.object({ file: fileName, sha256: hex })),
});

type MergeFacts = z.output<typeof recordSchema>;

const factsIn = async (directory: string): Promise<MergeFacts | undefined> => {
  const text = await readFileIfAny(join(directory, provenanceName));
  return text === undefined ? undefined : recordSchema.safeParse(jsonOrNone(text, ownFile)).data;
};

/** SHA-256 of scored models' files, by model. */
export type ScoredSums = ReadonlyMap<string, readonly string[]>;

/** Returns the file hashes of scored models. Results match records by the hash of the files' identities. */
export const scoredSums = async (
  study: string,
  references: ExperimentRecord['references'],
): Promise<ScoredSums> => {
  const files = new ResultFiles(study);
  const folder = join(files.directory, '.contents');
  const byWeights = new Map<string, string[]>();
  for (const name of await namesIn(folder)) {
    const text = await readFileIfAny(join(folder, name));
    const { data } = contentsSchema.safeParse(text === undefined ? undefined : jsonOrNone(text));
    if (data === undefined) continue;
    const hash = createHash('sha256').update('files\n');
    for (const { identity } of data.files) hash.update(`${identity}\n`);
    byWeights.set(
      hash.digest('hex'),
      data.files.map(({ sha256 }) => sha256),
    );
  }
  const found = new Map<string, readonly string[]>();
  for (const { name, scores = {} } of references) {
    const [score] = Object.values(scores);
    const result = score && (await files.read(basename(score.result)).catch(() => undefined));
    const sums = result && byWeights.get(result.result.weights);
    if (sums !== undefined) found.set(name, sums);
  }
  return found;
};

const contentsSchema = z.object({ files: z.array(z.object({ identity: z.string(), sha256: hex })) });

export interface MergeFolders {
  /** Folder with a bundle's records. */
  readonly bundled: string;
  /** Study to complete; equal to `bundled` for a new study. */
  readonly study: string;
  /** Folder of merges made here. */
  readonly work: string;
}

/** True if a study has all recorded files of a merge, with their SHA-256; Markdown files need not agree. */
export const isComplete = async (
  { bundled, study }: Pick<MergeFolders, 'bundled' | 'study'>,
  path: string,
): Promise<boolean> => {
  const recorded = await factsIn(join(bundled, path));
  if (recorded === undefined) return false;
  for (const { file, sha256 } of filesOf(recorded))
    if (sha256 === undefined || (await sumIfAny(join(study, path, file))) !== sha256) return false;
  return true;
};

const filesOf = ({ shards, sideFiles }: MergeFacts) =>
  [...sideFiles, ...shards].filter(({ file }) => !/\.md$/.test(file));

export class Comparing {
  readonly #recorded: string;
  readonly #study: string;
  readonly #made: string;
  readonly #scored: ScoredSums;

  constructor({ bundled, study, work }: MergeFolders, path: string, scored: ScoredSums) {
    this.#scored = scored;
    this.#recorded = join(bundled, path);
    this.#study = join(study, path);
    this.#made = join(work, path);
  }

  /** Returns how the merge differs; if it does not, moves it into the study and returns undefined. */
  async run(): Promise<string | undefined> {
    const [recorded, made] = [await factsIn(this.#recorded), await factsIn(this.#made)];
    if (recorded === undefined) return `the bundle has no valid ${provenanceName} for it`;
    if (made === undefined) return 'the merge made here has no valid record';
    const shards = new Map(made.shards.map((shard) => [shard.file, shard]));
    const stated = new Set(recorded.shards.map(({ file }) => file));
    if (shards.size !== stated.size)
      return `it has ${shards.size} weight files, but the record lists ${stated.size}`;
    const other: string[] = [];
    for (const { file, bytes, sha256 } of recorded.shards) {
      const own = shards.get(file);
      if (own === undefined) return `${file} is recorded, but was not made`;
      if (sha256 === undefined) return `the record has no SHA-256 of ${file}`;
      const found = own.sha256 ?? (await sha256Of(join(this.#made, file)));
      if (own.bytes !== bytes || found !== sha256) other.push(file);
    }
    const [side, sides] = [made, recorded].map(
      ({ sideFiles }) => new Map(sideFiles.map(({ file, sha256 }) => [file, sha256])),
    ) as [Map<string, string>, Map<string, string>];
    const texts = [...new Set([...sides.keys(), ...side.keys()])].filter(
      (file) => !/\.md$/.test(file) && side.get(file) !== sides.get(file),
    );
    if (other.length > 0)
      return `${counted(other.length, 'file')} of weights differ: ${await this.#cause(recorded, made)}`;
    if (texts.length > 0) return `the weights are equal, but ${texts.join(', ')} differ`;
    for (const { file, sha256 } of filesOf(recorded)) {
      const sum = await sumIfAny(join(this.#study, file));
      if (sum !== undefined && sum !== sha256)
        return `the study already contains another ${file}, which is kept; move it away`;
    }
    for (const file of [...shards.keys(), ...side.keys()]) await this.#move(file);
    return undefined;
  }

  async #move(file: string): Promise<void> {
    const to = join(this.#study, file);
    if ((await unlessMissing(to, lstat(to))) !== undefined) return;
    await writing(to, async () => {
      await makeDirectories(dirname(to));
      await rename(join(this.#made, file), to);
    });
  }

  async #cause(recorded: MergeFacts, made: MergeFacts): Promise<string> {
    for (const [index, input] of recorded.inputs.entries()) {
      const own = made.inputs[index];
      if (own === undefined) return `${input.name} is not an input here`;
      for (const [at, file] of input.files.entries()) {
        const here = own.files[at];
        if (here === undefined) return `${input.name} lacks ${file.file}`;
        if (here.bytes !== file.bytes)
          return `${file.file} of ${input.name} has ${here.bytes} bytes here, but had ${file.bytes}`;
        if (here.header !== file.header) return `${file.file} of ${input.name} has another header`;
        const known = this.#scored.get(input.name)?.[at];
        const sum = known && (await sha256Of(join(own.path, here.file)).catch(() => undefined));
        if (known !== undefined && sum !== undefined && known !== sum)
          return `${file.file} of ${input.name} has the SHA-256 ${sum.slice(0, 12)}… here, but had ${known.slice(0, 12)}…`;
      }
    }
    if (made.layerloom !== recorded.layerloom)
      return `layerloom ${recorded.layerloom} made it, but this is ${version}`;
    return 'the inputs have the recorded sizes and headers, so their values probably differ';
  }
}

const sha256Of = (path: string): Promise<string> => reading(path, () => hashHere(path));

export const sumIfAny = async (path: string): Promise<string | undefined> =>
  (await unlessMissing(path, lstat(path))) === undefined ? undefined : await sha256Of(path);
