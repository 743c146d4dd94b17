import { createHash } from 'node:crypto';
import { constants, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { checkInterrupt, LayerloomError, reasonOf } from '../../core/base/errors/errors.js';
import { reading } from '../../core/base/files/writing.js';
import { makeDirectories, syncDirectory, withFile } from '../../core/engine/output/durable.js';
import { TextRefused } from '../../core/texts/text-refused.js';
import { recordName } from '../batch/planning/record-names.js';
import { readRecord } from '../experiment/record/experiment-record.js';
import { byBytes, folderName, kindOfEntry, sumsName } from './names.js';
import { blockBytes, endBytes, paddingOf, readTarHeader } from './tar.js';

// A bundle may come from anybody. A reader accepts only what `writeBundle` writes: file names of a study,
// each once and in order, and files with the stated SHA-256.

/** Maximum number of files in a bundle. A study of 20,000 merges has 200,000. */
const mostFiles = 500_000;

/** Longest list of sums, which is kept in memory. */
const mostSumsBytes = mostFiles * 512;

interface UnpackedFiles {
  readonly files: number;
  readonly bytes: number;
}

/**
 * Unpacks and checks a bundle. Writes only regular files, only into an empty directory.
 *
 * @param directory made by the caller, who removes it if this fails
 * @throws BUNDLE_INVALID, READ_FAILED, WRITE_FAILED, INTERRUPTED
 */
export const unpack = (file: string, directory: string, signal?: AbortSignal): Promise<UnpackedFiles> =>
  withRegular(file, async (handle, size) => {
    try {
      // Checks all names and sizes before writing the first file.
      await new Walk(handle, size, undefined, signal).run();
      const unpacked = await new Walk(handle, size, directory, signal).run();
      await checkRecord(directory);
      return unpacked;
    } catch (error) {
      if (!(error instanceof TextRefused)) throw error;
      throw new LayerloomError('BUNDLE_INVALID', { file, reason: reasonOf(error) });
    }
  });

const withRegular = <T>(path: string, use: (handle: FileHandle, size: number) => Promise<T>): Promise<T> =>
  reading(path, () =>
    withFile(path, constants.O_RDONLY | constants.O_NONBLOCK, async (handle) => {
      const found = await handle.stat();
      if (!found.isFile()) throw new Error('is not a regular file');
      return await use(handle, found.size);
    }),
  );

/** Checks the paths of merges in the record, because readers join them to the study's path. */
const checkRecord = async (directory: string): Promise<void> => {
  const record = await readRecord(directory).catch((error: unknown) => {
    if (!(error instanceof LayerloomError)) throw error;
    if (error.code === 'EXPERIMENT_MISSING') throw new TextRefused(`it has no ${recordName}`);
    if (error.code !== 'EXPERIMENT_INVALID') throw error;
    const { reason } = (error as LayerloomError<'EXPERIMENT_INVALID'>).details;
    throw new TextRefused(`its ${recordName} ${reason}`);
  });
  for (const { path } of record.merges)
    if (kindOfEntry(`${path}/README.md`) !== 'merges')
      throw new TextRefused(
        `its record has a merge in ${JSON.stringify(path)}, which is not a folder of a study`,
      );
};

const pieceBytes = 64 * 1024;

class Walk {
  readonly #handle: FileHandle;
  readonly #size: number;
  readonly #directory: string | undefined;
  readonly #signal: AbortSignal | undefined;
  readonly #piece = Buffer.allocUnsafe(pieceBytes);
  /** Bytes read ahead, beginning at `#aheadAt` in the archive. */
  #ahead = this.#piece.subarray(0, 0);
  #aheadAt = 0;
  readonly #folded = new Set<string>();
  readonly #folders = new Set<string>();
  #position = 0;
  #last = '';
  #files = 0;
  #bytes = 0;
  /** SHA-256 of the expected `SHA256SUMS`, in order of entries. */
  readonly #sums = createHash('sha256');

  constructor(
    handle: FileHandle,
    size: number,
    directory: string | undefined,
    signal: AbortSignal | undefined,
  ) {
    this.#handle = handle;
    this.#size = size;
    this.#directory = directory;
    this.#signal = signal;
  }

  async run(): Promise<UnpackedFiles> {
    for (;;) {
      checkInterrupt(this.#signal);
      const { name, bytes } = this.#nameOf(readTarHeader(await this.#block()));
      if (bytes > this.#size - this.#position)
        throw new TextRefused(`it ends within ${name}: it is truncated, or still being written`);
      const sum = this.#directory === undefined ? undefined : await this.#write(this.#directory, name, bytes);
      if (sum === undefined) this.#position += bytes;
      await this.#padding(paddingOf(bytes));
      if (name !== sumsName) this.#sums.update(`${sum}  ${name}\n`);
      else if (sum === undefined || sum === this.#sums.digest('hex')) break;
      else throw new TextRefused(`its files do not have the SHA-256 that ${sumsName} states`);
    }
    await this.#padding(endBytes);
    if (this.#position !== this.#size) throw new TextRefused('bytes follow its end');
    for (const folder of this.#folders) await syncDirectory(folder);
    return { files: this.#files, bytes: this.#bytes };
  }

  #nameOf({ name: stated, bytes }: { readonly name: string; readonly bytes: number }) {
    const name = stated.startsWith(`${folderName}/`) ? stated.slice(folderName.length + 1) : '';
    if (kindOfEntry(name) === undefined)
      throw new TextRefused(`it contains ${JSON.stringify(stated)}, which is not a file of a study`);
    this.#files += 1;
    if (this.#files > mostFiles) throw new TextRefused(`it contains more than ${mostFiles} files`);
    if (name === sumsName) {
      if (bytes > mostSumsBytes) throw new TextRefused(`its ${sumsName} has ${bytes} bytes`);
      return { name, bytes };
    }
    if (byBytes(this.#last, name) >= 0)
      throw new TextRefused(`it contains ${name} twice, or its names are not sorted`);
    this.#last = name;
    const folded = name.normalize('NFC').toLowerCase();
    if (this.#folded.has(folded)) throw new TextRefused(`it contains ${name} twice, in upper and lower case`);
    this.#folded.add(folded);
    return { name, bytes };
  }

  async #block(): Promise<Buffer> {
    const block = Buffer.alloc(blockBytes);
    await this.#read(block);
    return block;
  }

  async #read(into: Buffer): Promise<void> {
    for (let at = 0; at < into.length; ) at += (await this.#next(into.length - at)).copy(into, at);
  }

  /**
   * Returns at most `most` next bytes, valid until the next call. Reads ahead: headers and files are small.
   */
  async #next(most: number): Promise<Buffer> {
    if (this.#position >= this.#aheadAt + this.#ahead.length) {
      const { bytesRead } = await this.#handle.read(this.#piece, 0, pieceBytes, this.#position);
      if (bytesRead === 0) throw new TextRefused('it ends too early: it is truncated, or not a tar file');
      this.#ahead = this.#piece.subarray(0, bytesRead);
      this.#aheadAt = this.#position;
    }
    const from = this.#position - this.#aheadAt;
    const bytes = this.#ahead.subarray(from, from + most);
    this.#position += bytes.length;
    return bytes;
  }

  async #padding(bytes: number): Promise<void> {
    const block = Buffer.alloc(bytes);
    await this.#read(block);
    if (block.some((byte) => byte !== 0)) throw new TextRefused('bytes are hidden between its files');
  }

  async #write(directory: string, name: string, bytes: number): Promise<string> {
    const path = join(directory, name);
    const folder = dirname(path);
    if (!this.#folders.has(folder)) {
      await makeDirectories(folder);
      this.#folders.add(folder);
    }
    const hash = createHash('sha256');
    await withFile(path, 'wx', async (file) => {
      for (let left = bytes; left > 0; ) {
        const piece = await this.#next(left);
        hash.update(piece);
        await file.writeFile(piece);
        left -= piece.length;
      }
      await file.sync();
    });
    this.#bytes += bytes;
    return hash.digest('hex');
  }
}
