import { realpath, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { LayerloomError } from '../base/errors/errors.js';
import { groupBy, itemAt } from '../base/errors/lookup.js';
import { optionName } from '../base/errors/option-name.js';
import type { Run } from '../engine/run.js';
import { isOutput } from '../measure/verification/is-output.js';
import { readWrittenRecord, type WrittenRecord } from '../measure/verification/written-record.js';
import { parseAddress } from '../models/address/address.js';
import { provenanceName } from '../models/checkpoint/files/file-names.js';
import { locateIfHere } from '../models/sources/locate.js';
import { hubAddressOf } from '../statements/purl.js';
import type { ChainModel, LinkState } from './chain.js';
import { checkProof } from './check-proof.js';
import { type ComparedFiles, compareStated, unstatedFile } from './compare-stated.js';
import { hashFile } from './hash-files.js';
import { fileAt, placedInputs, placesOf } from './input-places.js';
import { type Stated, type StatedInput, statedOf } from './stated.js';

const mostModels = 10_000;
const mostDepth = 200;

/** A model on this machine: a folder, or one file in it. */
interface Place {
  readonly folder: string;
  readonly file: string | undefined;
}

/**
 * Follows statements from a model to the models that it was made from. Hashes every file, because an input is
 * recognised by its SHA-256 and never by its name.
 */
export class ChainWalk {
  readonly #run: Run;
  readonly #hashes = new Map<string, Promise<string>>();
  /** Models visited so far, each with its statement's fault, if any. */
  readonly #seen = new Map<string, string | undefined>();
  /** Models from the first to the present one in the chain. */
  readonly #above = new Set<string>();

  constructor(run: Run) {
    this.#run = run;
  }

  /** @throws READ_FAILED, INTERRUPTED */
  async follow(asked: string): Promise<ChainModel> {
    const isFile = (await stat(asked)).isFile();
    const name = basename(asked);
    // Resolves links, as for inputs, so that models are recognised.
    const folder = await realpath(isFile ? dirname(asked) : asked);
    return await this.#visit(
      { folder, file: isFile ? name : undefined },
      { name, link: 'asked', uri: null },
      0,
    );
  }

  async #visit(
    { folder, file }: Place,
    named: Pick<ChainModel, 'name' | 'link' | 'uri'>,
    depth: number,
  ): Promise<ChainModel> {
    const path = file === undefined ? folder : join(folder, file);
    const model: ChainModel = {
      ...{ ...named, path, kind: 'model', method: null, by: null },
      ...{ statement: 'none', reason: null, repeated: false, inputs: [] },
    };
    const stated = await statedOf(folder, file);
    if (stated.state === 'absent') return model;
    if (stated.state === 'invalid')
      return { ...model, statement: 'invalid', reason: `${stated.file} ${stated.reason}` };
    const { kind, method, by } = stated;
    // Detects circles of statements, which are possible: a file's hash does not cover its statement.
    if (this.#above.has(path))
      return {
        ...{ ...model, kind, method, by, statement: 'invalid' },
        reason: `${stated.file} states that the model was made from itself`,
      };
    if (this.#seen.has(path)) {
      const reason = this.#seen.get(path) ?? null;
      const statement = reason === null ? 'valid' : 'invalid';
      return { ...model, kind, method, by, statement, reason, repeated: true };
    }
    if (this.#seen.size >= mostModels || depth >= mostDepth)
      return { ...model, kind, method, by, statement: 'invalid', reason: 'the chain is too long to follow' };
    const record = await recordOf(folder);
    const reason = await this.#faultOf(folder, stated, record);
    this.#seen.set(path, reason);
    const inputs: ChainModel[] = [];
    this.#above.add(path);
    for (const input of byModel(stated.inputs))
      inputs.push(...(await this.#inputsOf(kind, folder, input, record.read, depth)));
    this.#above.delete(path);
    const statement = reason === undefined ? 'valid' : 'invalid';
    return { ...model, kind, method, by, statement, reason: reason ?? null, inputs };
  }

  /** Compares a statement with the folder's weights. For layerloom's own statements, also with the record. */
  async #faultOf(folder: string, stated: Stated, { read, fault }: RecordFound): Promise<string | undefined> {
    const isOwn = stated.kind !== 'quantisation';
    if (isOwn && fault !== undefined) return fault;
    const unstated = await unstatedFile(folder, stated);
    const isRecorded = isOwn && read !== undefined && unstated === undefined;
    const { reason, hashes } = isRecorded
      ? await this.#compareRecord(folder, read)
      : await compareStated(folder, stated, this.#run);
    for (const [name, sha256] of hashes) this.#hashes.set(join(folder, name), Promise.resolve(sha256));
    return reason && `${stated.file} ${reason}`;
  }

  async #compareRecord(folder: string, record: WrittenRecord): Promise<ComparedFiles> {
    const { files, hashes } = await checkProof(folder, record, undefined, this.#run);
    return { reason: files.find(({ state }) => state === 'different')?.reason, hashes };
  }

  async #inputsOf(
    kind: Stated['kind'],
    folder: string,
    files: readonly StatedInput[],
    record: WrittenRecord | undefined,
    depth: number,
  ): Promise<ChainModel[]> {
    const [{ model: name, uri = null } = { model: '' }] = files;
    const places = await placesFor(name, uri, folder, record);
    // Searches the statement's folder too: ggufpacker names files beside its statement.
    if (kind === 'quantisation') places.push(folder);
    const found = new Map<string, Place>();
    const faults: { readonly link: LinkState; readonly path: string | null; readonly reason: string }[] = [];
    for (const { file, sha256 } of files) {
      const here = await this.#find(file, sha256, places);
      if ('place' in here) found.set(here.place.file ?? here.place.folder, here.place);
      else faults.push(here);
    }
    const [fault] = faults;
    if (fault !== undefined)
      return [
        {
          ...{ name, uri, kind: 'model', method: null, by: null, statement: 'none' },
          ...{ repeated: false, inputs: [], ...fault },
        },
      ];
    const models: ChainModel[] = [];
    for (const place of found.values())
      models.push(
        await this.#visit(
          place,
          { name: found.size === 1 ? name : basename(place.folder), link: 'same', uri },
          depth + 1,
        ),
      );
    return models;
  }

  async #find(
    file: string,
    sha256: string | undefined,
    places: readonly string[],
  ): Promise<
    | { readonly place: Place }
    | { readonly link: LinkState; readonly path: string | null; readonly reason: string }
  > {
    if (sha256 === undefined)
      return {
        ...{ link: 'unidentified', path: null },
        reason: `the statement has no SHA-256 of ${file}, since the merge had no ${optionName('checksums')}`,
      };
    let other: string | undefined;
    for (const place of places) {
      const path = await fileAt(place, file);
      if (path === undefined) continue;
      if ((await this.#hash(path)) !== sha256) {
        other ??= path;
        continue;
      }
      const isAlone = file.endsWith('.gguf') || path === place;
      return { place: { folder: dirnameOf(path, file), file: isAlone ? basename(path) : undefined } };
    }
    if (other === undefined)
      return { link: 'missing', path: null, reason: `${file} was not found on this machine` };
    return { link: 'different', path: null, reason: `${other} is not the file that was used` };
  }

  #hash(path: string): Promise<string> {
    const known = this.#hashes.get(path);
    if (known !== undefined) return known;
    const hash = this.#hashNow(path);
    this.#hashes.set(path, hash);
    return hash;
  }

  async #hashNow(path: string): Promise<string> {
    const { pool } = this.#run;
    const sha256 = await hashFile(path, pool);
    pool.throwIfStopped();
    this.#run.report({ phase: 'checksums', done: this.#hashes.size, total: this.#hashes.size });
    return sha256 ?? '';
  }
}

/** Returns `FOLDER` for `FOLDER/a/b` and the file `a/b`. */
const dirnameOf = (path: string, file: string): string =>
  path.endsWith(`/${file}`) ? path.slice(0, -file.length - 1) : dirname(path);

const byModel = (inputs: readonly StatedInput[]): readonly StatedInput[][] =>
  [...groupBy(inputs, ({ model }) => model).values()].map((files) =>
    [...groupBy(files, ({ file, sha256 }) => `${sha256} ${file}`).values()].map((same) => itemAt(same, 0)),
  );

interface RecordFound {
  readonly read?: WrittenRecord;
  readonly fault?: string;
}

const recordOf = async (folder: string): Promise<RecordFound> => {
  if (!(await isOutput(folder, false, true))) return {};
  try {
    const read = await readWrittenRecord(folder);
    return read.isSealed === false
      ? { read, fault: `${provenanceName} was edited since it was written` }
      : { read };
  } catch (error) {
    if (!(error instanceof LayerloomError) || error.code === 'INTERRUPTED') throw error;
    return {
      fault:
        error.code === 'OUTPUT_UNRECORDED'
          ? (error as LayerloomError<'OUTPUT_UNRECORDED'>).details.reason
          : error.message,
    };
  }
};

/** Returns places where an input may be: its recorded path, the hub's cache, or beside the folder. */
const placesFor = async (
  name: string,
  uri: string | null,
  folder: string,
  record: WrittenRecord | undefined,
): Promise<string[]> => {
  const recorded = (record === undefined ? [] : placedInputs(record))
    .filter((input) => input.name === name)
    .flatMap(placesOf);
  const address = uri === null ? undefined : hubAddressOf(uri);
  const inHub =
    address === undefined
      ? undefined
      : await parseAddress(address)
          .then(locateIfHere)
          .catch(() => undefined);
  const beside = /^[^/\\]+$/.test(name) && name !== '..' ? [join(dirname(folder), name)] : [];
  const all = [...recorded, ...(inHub === undefined ? [] : [inHub.path]), ...beside];
  return [...new Set(await Promise.all(all.map((path) => realpath(path).catch(() => path))))];
};
