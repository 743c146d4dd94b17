import { realpath, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { LayerloomError } from '../base/errors/errors.js';
import { groupBy, itemAt } from '../base/errors/lookup.js';
import { optionName } from '../base/errors/option-name.js';
import { namesIn } from '../base/files/unless-missing.js';
import type { Run } from '../engine/run.js';
import { readWrittenRecord, type WrittenRecord } from '../measure/verification/written-record.js';
import { parseAddress } from '../models/address/address.js';
import { isWeightsName } from '../models/checkpoint/containers/containers.js';
import { locateIfHere } from '../models/sources/locate.js';
import { hubAddressOf } from '../statements/purl.js';
import type { ChainModel, LinkState } from './chain.js';
import { checkProof } from './check-proof.js';
import { hashFile } from './hash-files.js';
import { fileAt, placedInputs, placesOf } from './input-places.js';
import { type Stated, type StatedInput, statedOf } from './stated.js';

/** Limits on a chain's models and on its depth. */
const mostModels = 10_000;
const mostDepth = 200;

/** A model on this machine: a folder, or a single file in it. */
interface Place {
  readonly folder: string;
  readonly file: string | undefined;
}

/**
 * Follows statements from a model to the models from which it was made. Hashes every file; an input is
 * recognised by its SHA-256, never by its name.
 */
export class ChainWalk {
  readonly #run: Run;
  readonly #hashes = new Map<string, Promise<string>>();
  /** Models that were met, with the fault of each statement. */
  readonly #seen = new Map<string, string | undefined>();

  constructor(run: Run) {
    this.#run = run;
  }

  /** @throws LayerloomError READ_FAILED, INTERRUPTED */
  async follow(path: string): Promise<ChainModel> {
    const isFile = (await stat(path)).isFile();
    const place = isFile
      ? { folder: dirname(path), file: basename(path) }
      : { folder: path, file: undefined };
    return await this.#visit(place, { name: basename(path), link: 'asked', uri: null }, 0);
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
    if (this.#seen.has(path)) {
      const reason = this.#seen.get(path) ?? null;
      const statement = reason === null ? 'valid' : 'invalid';
      return { ...model, kind, method, by, statement, reason, repeated: true };
    }
    if (this.#seen.size >= mostModels || depth >= mostDepth)
      return { ...model, kind, method, by, statement: 'invalid', reason: 'the chain is too long to follow' };
    const record = await recordOf(folder);
    const reason = await this.#faultOf(folder, stated, kind === 'merge' ? record : undefined);
    this.#seen.set(path, reason);
    const inputs: ChainModel[] = [];
    for (const input of byModel(stated.inputs))
      inputs.push(...(await this.#inputsOf(kind, folder, input, record, depth)));
    const statement = reason === undefined ? 'valid' : 'invalid';
    return { ...model, kind, method, by, statement, reason: reason ?? null, inputs };
  }

  /** Compares a statement with the folder's weights and, for a merge, with the record. */
  async #faultOf(
    folder: string,
    { file, kind, subjects }: Stated,
    record: WrittenRecord | undefined,
  ): Promise<string | undefined> {
    if (subjects.size === 0) return `${file} states no file`;
    const others = kind === 'merge' ? (await namesIn(folder)).filter(isWeightsName) : [];
    const unstated = others.find((name) => !subjects.has(name));
    if (unstated !== undefined) return `${file} does not state ${unstated}, which is there`;
    if (record !== undefined) {
      const { files, hashes } = await checkProof(folder, record, undefined, this.#run);
      for (const [name, sha256] of hashes) this.#hashes.set(join(folder, name), Promise.resolve(sha256));
      const wrong = files.find(({ state }) => state === 'different');
      return wrong && `${wrong.file} ${wrong.reason}`;
    }
    for (const [name, sha256] of subjects) {
      const path = await fileAt(folder, name);
      if (path === undefined) return `${file} states ${name}, which is not there`;
      if ((await this.#hash(path)) !== sha256)
        return `${file} states another ${name} than the one that is there`;
    }
    return undefined;
  }

  /** Returns the models that hold an input's files, or what is missing. */
  async #inputsOf(
    kind: Stated['kind'],
    folder: string,
    files: readonly StatedInput[],
    record: WrittenRecord | undefined,
    depth: number,
  ): Promise<ChainModel[]> {
    const [{ model: name, uri = null } = { model: '' }] = files;
    const places = await placesFor(name, uri, folder, record);
    // Files that ggufpacker names are in the statement's folder.
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
      // A GGUF file is a model by itself.
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

/** Returns undefined if the record is missing or unreadable. */
const recordOf = (folder: string): Promise<WrittenRecord | undefined> =>
  readWrittenRecord(folder).catch((error: unknown) => {
    if (error instanceof LayerloomError) return undefined;
    throw error;
  });

/** Returns places where an input may be: the recorded path, the hub's cache, and beside the folder. */
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
