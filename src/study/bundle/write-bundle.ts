import { createHash } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { dirname, isAbsolute, resolve } from 'node:path';
import { LayerloomError } from '../../core/base/errors/errors.js';
import { itemAt } from '../../core/base/errors/lookup.js';
import { optionName } from '../../core/base/errors/option-name.js';
import { unlessMissing } from '../../core/base/files/unless-missing.js';
import { readFailed } from '../../core/base/files/writing.js';
import { makeDirectories, writeWhole } from '../../core/engine/output/durable.js';
import type { ExperimentRecord } from '../experiment/record/experiment-record.js';
import { type BundleFile, hasWeights, listFiles } from './list-files.js';
import { type EntryKind, entryKinds, folderName, kindOfEntry, sumsName } from './names.js';
import { blockBytes, endBytes, paddingOf, tarHeader } from './tar.js';

/** Options of `bundle`. */
export interface BundleOptions {
  /** File to write: `study.tar`. */
  out: string;
  /** Only list files and sizes; default false. */
  dryRun?: boolean | undefined;
  /** Replace an existing file; default false. */
  force?: boolean | undefined;
}

/** Files of one kind in a bundle. */
export interface BundledFiles {
  readonly kind: EntryKind;
  readonly files: number;
  readonly bytes: number;
}

/** Result of `bundle`. */
export interface Bundle {
  readonly out: string;
  readonly bytes: number;
  /** SHA-256 of the bundle; null in a dry run. */
  readonly sha256: string | null;
  readonly merges: number;
  readonly kinds: readonly BundledFiles[];
  readonly leftOut: readonly string[];
  readonly warnings: readonly string[];
}

/**
 * Writes a study without weights as one tar file. Bundles of the same study have the same bytes.
 *
 * @throws as `listFiles`; OUTPUT_EXISTS, WRITE_FAILED
 */
export const writeBundle = async (
  directory: string,
  { out, dryRun = false, force = false }: BundleOptions,
): Promise<Bundle> => {
  const [study, path] = [resolve(directory), resolve(out)];
  const { record, files, leftOut, lacksAuthors } = await listFiles(study);
  const headers = files.map(({ name, bytes }) => headerOf(study, name, bytes));
  const sums = files.reduce(
    (total, { name }) => total + Buffer.byteLength(name) + hexDigits + '  \n'.length,
    0,
  );
  const bytes = [...files.map((file) => file.bytes), sums].reduce(
    (total, content) => total + blockBytes + content + paddingOf(content),
    endBytes,
  );
  if (!force && (await unlessMissing(path, lstat(path))) !== undefined)
    throw new LayerloomError('OUTPUT_EXISTS', {
      out: path,
      reason: 'exists',
      remedy: `choose another file, or ${optionName('force')} to replace it`,
    });
  const hash = createHash('sha256');
  if (!dryRun) {
    await makeDirectories(dirname(path));
    await writeWhole(path, hashed(archiveOf(study, files, headers), hash));
  }
  const isWeighty = await hasWeights(study, record);
  return {
    out: path,
    bytes,
    sha256: dryRun ? null : hash.digest('hex'),
    merges: record.merges.length,
    kinds: entryKinds.map((kind) => {
      const own = files.filter(({ name }) => kindOfEntry(name) === kind);
      return { kind, files: own.length, bytes: own.reduce((total, file) => total + file.bytes, 0) };
    }),
    leftOut: [...(isWeighty ? ['the weights of merges'] : []), ...leftOut],
    warnings: [
      ...(record.state === 'done' ? [] : [`the batch of ${study} is ${record.state}`]),
      ...(lacksAuthors
        ? [`the bundle's CITATION.cff names no authors; put a CITATION.cff into ${study} before you publish`]
        : []),
      ...pathsIn(record)
        .slice(0, 1)
        .map((path) => `the record names folders of this machine, such as ${path}`),
    ],
  };
};

const hexDigits = 64;

const pathsIn = ({ base, options, references, store }: ExperimentRecord): string[] =>
  [options?.directory, base, ...references.map(({ model }) => model), store].filter(
    (path): path is string => typeof path === 'string' && isAbsolute(path),
  );

const headerOf = (study: string, name: string, bytes: number): Buffer => {
  const header = tarHeader(`${folderName}/${name}`, bytes);
  if (header === undefined)
    throw new LayerloomError('BUNDLE_REFUSED', {
      study,
      reason: `the name of ${name} is too long for a tar file, or it has more than 8 GiB`,
    });
  return header;
};

function* archiveOf(
  study: string,
  files: readonly BundleFile[],
  headers: readonly Buffer[],
): Generator<Uint8Array> {
  const sums: string[] = [];
  for (const [index, file] of files.entries()) {
    const hash = createHash('sha256');
    yield itemAt(headers, index);
    for (const piece of 'text' in file ? [Buffer.from(file.text)] : piecesOf(file)) {
      hash.update(piece);
      yield piece;
    }
    yield Buffer.alloc(paddingOf(file.bytes));
    sums.push(`${hash.digest('hex')}  ${file.name}\n`);
  }
  const text = Buffer.from(sums.join(''));
  yield headerOf(study, sumsName, text.length);
  yield text;
  yield Buffer.alloc(paddingOf(text.length) + endBytes);
}

const pieceBytes = 4 * 1024 * 1024;

/** @throws READ_FAILED, also if the file's size changes */
function* piecesOf({
  path,
  bytes,
}: {
  readonly path: string;
  readonly bytes: number;
}): Generator<Uint8Array> {
  let file: number | undefined;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    if (!fstatSync(file).isFile()) throw new Error('is no longer a regular file');
    let done = 0;
    while (done < bytes) {
      const piece = Buffer.allocUnsafe(Math.min(pieceBytes, bytes - done));
      const read = readSync(file, piece, 0, piece.length, done);
      if (read === 0) break;
      done += read;
      yield piece.subarray(0, read);
    }
    if (done !== bytes || fstatSync(file).size !== bytes) throw new Error('changed while it was bundled');
  } catch (cause) {
    throw readFailed(path, cause);
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

function* hashed(pieces: Iterable<Uint8Array>, hash: ReturnType<typeof createHash>): Generator<Uint8Array> {
  for (const piece of pieces) {
    hash.update(piece);
    yield piece;
  }
}
