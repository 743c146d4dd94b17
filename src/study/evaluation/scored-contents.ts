import { createHash } from 'node:crypto';
import { basename, join, resolve } from 'node:path';
import * as z from 'zod';
import { itemAt, valueAt } from '../../core/base/errors/lookup.js';
import { namesIn } from '../../core/base/files/unless-missing.js';
import { writing } from '../../core/base/files/writing.js';
import { makeDirectories, replaceFile } from '../../core/engine/output/durable.js';
import type { RecordedFile } from '../../core/methods/recipe/recorded-inputs.js';
import type { FileIdentity } from '../../core/models/checkpoint/checkpoint.js';
import { readFileIfAny } from '../../core/models/checkpoint/files/small-file.js';
import { contentOf, identityUnder, observePath } from '../../core/models/checkpoint/same/identity.js';
import { jsonOrNone } from '../../core/texts/json.js';
import type { IdentitiesOf } from '../store/files/weights.js';
import { evaluationsName } from './result-files.js';

// A file's identity includes inode and time, which copying or moving changes. So an evaluation records the files'
// SHA-256. A file with a recorded size and header but another stamp is hashed once. If its bytes are the same, it keeps
// its former identity, and results, merges and shards stay valid.

interface ScoredFile extends RecordedFile {
  readonly ino: string;
  /** Identity from `observePath` with samples. */
  readonly identity: string;
  readonly sha256: string;
}

interface ScoredModel {
  readonly noted: string;
  /** True if results exist from another copy of the same bytes. */
  readonly isMoved: boolean;
  readonly files: readonly ScoredFile[];
}

const hex = z.string().regex(/^[0-9a-f]{64}$/);
const digits = z.string().regex(/^\d{1,20}$/);

const schema: z.ZodType<ScoredModel> = z.object({
  noted: z.string(),
  isMoved: z.boolean(),
  files: z
    .array(
      z.object({
        file: z.string(),
        bytes: z.int().min(0),
        header: hex,
        mtimeNs: digits,
        ino: digits,
        identity: hex,
        sha256: hex,
      }),
    )
    .min(1),
});

const folderName = '.contents';

const recordName = /^[0-9a-f]{32}\.json$/;

export class ScoredContents {
  static readonly #known = new Map<string, ScoredContents>();

  static of(experiment: string): ScoredContents {
    const directory = join(resolve(experiment), evaluationsName, folderName);
    const known = ScoredContents.#known.get(directory) ?? new ScoredContents(directory);
    ScoredContents.#known.set(directory, known);
    return known;
  }

  readonly #directory: string;
  readonly #models = new Map<string, ScoredModel | undefined>();
  readonly #noted = new Set<string>();
  /** Hashes of files that match no record, so that each is hashed only once. */
  readonly #others = new Map<string, Promise<Pick<ScoredFile, 'sha256' | 'mtimeNs' | 'ino'>>>();

  private constructor(directory: string) {
    this.#directory = directory;
  }

  /**
   * Returns the identities of a checkpoint's files. Files that were copied or moved since they were scored
   * keep their former identities.
   *
   * @param keep record the hashes for other processes
   * @throws INPUT_CHANGED, READ_FAILED, WRITE_FAILED
   */
  async identitiesOf(all: readonly FileIdentity[], keep: boolean): Promise<readonly string[]> {
    const now = new Map(await Promise.all(all.map(async (file) => [file, await identityOf(file)] as const)));
    const models = await this.#read();
    // The hub's hash does not change when a file moves.
    const files = all.filter(({ content }) => content === undefined);
    const former =
      models.length === 0 ? now : new Map([...now, ...(await this.#former(files, now, models, keep))]);
    return all.map((file) => valueAt(former, file));
  }

  async #former(
    files: readonly FileIdentity[],
    now: ReadonlyMap<FileIdentity, string>,
    models: readonly ScoredModel[],
    keep: boolean,
  ): Promise<ReadonlyMap<FileIdentity, string>> {
    const scored = models.filter(({ isMoved }) => !isMoved);
    const all = scored.flatMap((model) => model.files);
    const own = new Set(all.map(({ identity }) => identity));
    if (files.every((file) => own.has(valueAt(now, file)))) return now;
    const contents = await Promise.all(
      files.map(async (file) => {
        const isAlike = all.some(({ bytes, header }) => bytes === file.bytes && header === file.header);
        return isAlike ? await this.#contentOf(file, valueAt(now, file), models) : undefined;
      }),
    );
    const isSame = (index: number, { sha256, header }: ScoredFile) =>
      contents[index]?.sha256 === sha256 && files[index]?.header === header;
    const whole = scored.find(
      (model) =>
        model.files.length === files.length && model.files.every((file, index) => isSame(index, file)),
    );
    const former = new Map<FileIdentity, string>();
    for (const [index, file] of files.entries()) {
      const identity = valueAt(now, file);
      const alike = own.has(identity) ? [] : all.filter((each) => isSame(index, each));
      const chosen =
        whole?.files[index] ?? alike.find(({ file: name }) => name === basename(file.path)) ?? alike[0];
      // Records are untrusted, so bytes read from the file must give the same identity.
      const isRight = chosen !== undefined && (await identityUnder(file, chosen)) === chosen.identity;
      former.set(file, isRight ? chosen.identity : identity);
    }
    const known = contents.flatMap((content) => content ?? []);
    if (keep && known.length === files.length)
      await this.#write(
        files.map((file, index) => describe(file, valueAt(now, file), itemAt(known, index))),
        files.some((file) => former.get(file) !== now.get(file)),
      );
    return former;
  }

  /**
   * Records a scored model, once.
   *
   * @throws INPUT_CHANGED, READ_FAILED, WRITE_FAILED, INTERRUPTED
   */
  async note(all: readonly FileIdentity[], signal?: AbortSignal): Promise<void> {
    const files = all.filter(({ content }) => content === undefined);
    const key = files.map(({ path, mtimeNs, bytes }) => `${path} ${mtimeNs} ${bytes}`).join('\n');
    if (files.length === 0 || this.#noted.has(key)) return;
    const now = await Promise.all(files.map(identityOf));
    const models = await this.#read();
    if (this.#models.get(nameOf(now)) === undefined) await this.#hashAndWrite(files, now, models, signal);
    this.#noted.add(key);
  }

  async #hashAndWrite(
    files: readonly FileIdentity[],
    now: readonly string[],
    models: readonly ScoredModel[],
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const noted: ScoredFile[] = [];
    for (const [index, file] of files.entries()) {
      const identity = itemAt(now, index);
      noted.push(describe(file, identity, await this.#contentOf(file, identity, models, signal)));
    }
    await this.#write(noted, false);
  }

  async #contentOf(
    file: FileIdentity,
    identity: string,
    models: readonly ScoredModel[],
    signal?: AbortSignal,
  ): Promise<Pick<ScoredFile, 'sha256' | 'mtimeNs' | 'ino'>> {
    for (const model of models) {
      const known = model.files.find((each) => each.identity === identity);
      if (known !== undefined) return known;
    }
    const found = this.#others.get(identity) ?? contentOf(file, signal);
    this.#others.set(identity, found);
    // If an interrupt ended the hashing, the file is read again.
    found.catch(() => this.#others.delete(identity));
    return await found;
  }

  /**
   * Returns the valid records, oldest first.
   *
   * @throws READ_FAILED
   */
  async #read(): Promise<ScoredModel[]> {
    const names = (await namesIn(this.#directory)).filter((name) => recordName.test(name));
    for (const name of names) {
      if (this.#models.has(name)) continue;
      const text = await readFileIfAny(join(this.#directory, name));
      this.#models.set(name, schema.safeParse(jsonOrNone(text?.toString() ?? '')).data);
    }
    const there = [...this.#models].filter(([name, model]) => model !== undefined && names.includes(name));
    return there
      .map(([name, model]) => ({ name, model: model as ScoredModel }))
      .sort((a, b) => (`${a.model.noted} ${a.name}` < `${b.model.noted} ${b.name}` ? -1 : 1))
      .map(({ model }) => model);
  }

  async #write(files: readonly ScoredFile[], isMoved: boolean): Promise<void> {
    const name = nameOf(files.map(({ identity }) => identity));
    if (this.#models.get(name) !== undefined) return;
    const model: ScoredModel = { noted: new Date().toISOString(), isMoved, files };
    const path = join(this.#directory, name);
    await writing(path, async () => {
      await makeDirectories(this.#directory, true);
      await replaceFile(path, `${JSON.stringify(model)}\n`);
    });
    this.#models.set(name, model);
  }
}

export const movedIn =
  (experiment: string, keep: boolean): IdentitiesOf =>
  (files) =>
    ScoredContents.of(experiment).identitiesOf(files, keep);

const identityOf = async (file: FileIdentity): Promise<string> =>
  file.seen?.hashOf === 'samples' ? file.seen.hash : (await observePath(file, 'samples')).hash;

const describe = (
  { path, bytes, header }: FileIdentity,
  identity: string,
  { sha256, mtimeNs, ino }: Pick<ScoredFile, 'sha256' | 'mtimeNs' | 'ino'>,
): ScoredFile => ({ file: basename(path), bytes, header, mtimeNs, ino, identity, sha256 });

const nameOf = (identities: readonly string[]): string =>
  `${createHash('sha256').update(identities.join('\n')).digest('hex').slice(0, 32)}.json`;
