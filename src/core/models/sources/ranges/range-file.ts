import { type FileHandle, lstat, mkdir, open, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { LayerloomError } from '../../../base/errors/errors.js';
import { unlessMissing } from '../../../base/files/unless-missing.js';
import { reading, writeFailed } from '../../../base/files/writing.js';
import { type Extent, joinExtents } from '../../../tensor/extent.js';
import { readRange } from '../../checkpoint/files/read-block.js';
import { readOpenFile } from '../../checkpoint/files/small-file.js';
import { modelRecordPath, rangeRecordPath } from './folder/folder.js';
import { lockFile } from './folder/lock.js';
import { removeRangeFile } from './folder/own-folder.js';
import {
  contentLine,
  isComplete,
  type ListedFile,
  parseRangeRecord,
  type RangeRecord,
  rangeLines,
  servedLine,
} from './folder/record.js';

const recordEvery = 4 * 1024 * 1024;

/** Returns an mtime in seconds, derived from the content, which does not change as ranges arrive. */
const timeOf = ({ etag }: ListedFile): number => {
  const bits = Number.parseInt(/^[0-9a-f]{7}/.exec(etag)?.[0] ?? '0', 16);
  return 1_000_000_000 + bits;
};

/** A sparse file of the cache of ranges, locked for writing. Ranges are recorded after fdatasync. */
export class RangeFile implements AsyncDisposable {
  readonly path: string;
  readonly #folder: string;
  readonly #file: ListedFile;
  readonly #record: FileHandle;
  readonly #data: FileHandle;
  #known: RangeRecord;
  #written: Extent[] = [];
  #unrecorded = 0;
  #recording: Promise<void> = Promise.resolve();
  #hasFailed = false;

  private constructor(
    [folder, file]: [string, ListedFile],
    [record, data]: [FileHandle, FileHandle],
    known: RangeRecord,
  ) {
    this.path = pathIn(folder, file);
    this.#folder = folder;
    this.#file = file;
    this.#record = record;
    this.#data = data;
    this.#known = known;
  }

  /**
   * Opens a file; waits while another process fetches it. Removes other content under this name.
   *
   * @returns undefined if the folder has a link to the whole file
   * @throws WRITE_FAILED, INTERRUPTED
   */
  static async open(folder: string, file: ListedFile, signal?: AbortSignal): Promise<RangeFile | undefined> {
    const path = pathIn(folder, file);
    const { file: record } = await lockFile(rangeRecordPath(folder, file.name), signal);
    try {
      if (await isWhole(path, file)) {
        await removeRangeFile(rangeRecordPath(folder, file.name));
        await record.close();
        return undefined;
      }
      const { data, known } = await openData(folder, file, record);
      return new RangeFile([folder, file], [record, data], known);
    } catch (cause) {
      await record.close();
      throw writeFailed(path, cause);
    }
  }

  get present(): readonly Extent[] {
    return this.#known.present;
  }

  get isComplete(): boolean {
    return isComplete(this.#known);
  }

  /** The ETag that the file server sent first. */
  get served(): string | undefined {
    return this.#known.served;
  }

  /** Records the file server's ETag. @throws WRITE_FAILED */
  async noteServed(served: string | undefined): Promise<void> {
    if (served === undefined || served === this.#known.served) return;
    this.#known = { ...this.#known, served };
    await this.#record.appendFile(servedLine(served)).catch((cause: unknown) => {
      throw this.#writeFailed(cause);
    });
  }

  async write(chunks: readonly Buffer[], position: number): Promise<void> {
    try {
      let end = position;
      let rest = [...chunks];
      while (rest.length > 0) {
        const { bytesWritten } = await this.#data.writev(rest, end);
        end += bytesWritten;
        rest = behind(rest, bytesWritten);
      }
      this.#written.push({ begin: position, end });
      this.#unrecorded += end - position;
      if (this.#unrecorded >= recordEvery) await this.record();
    } catch (cause) {
      throw this.#writeFailed(cause);
    }
  }

  /** Reads bytes that are present. @throws READ_FAILED */
  async read(begin: number, end: number): Promise<Buffer> {
    return await reading(this.path, () => readRange(this.#data, begin, end));
  }

  /** Syncs written bytes and records them. @throws WRITE_FAILED */
  record(): Promise<void> {
    const written = this.#written;
    this.#written = [];
    this.#unrecorded = 0;
    this.#recording = this.#recording.then(() => this.#recordNow(written));
    return this.#recording;
  }

  async #recordNow(written: readonly Extent[]): Promise<void> {
    if (written.length === 0) return;
    try {
      await this.#data.datasync();
      await this.#data.utimes(timeOf(this.#file), timeOf(this.#file));
      await this.#record.appendFile(rangeLines(written));
    } catch (cause) {
      throw this.#writeFailed(cause);
    }
    this.#known = { ...this.#known, present: joinExtents([...this.#known.present, ...written]) };
  }

  #writeFailed(cause: unknown): LayerloomError {
    this.#hasFailed = true;
    return writeFailed(this.path, cause);
  }

  async discard(): Promise<void> {
    this.#written = [];
    await this.#recording;
    await this.#record.truncate(0);
    await removeRangeFile(this.path);
    // Removes the model's record, so that headers are fetched again.
    await removeRangeFile(modelRecordPath(this.#folder));
  }

  async forget(): Promise<void> {
    await removeRangeFile(rangeRecordPath(this.#folder, this.#file.name));
  }

  /**
   * Records written bytes and unlocks the file.
   *
   * @throws WRITE_FAILED, unless a write failed before
   */
  async [Symbol.asyncDispose](): Promise<void> {
    const hadFailed = this.#hasFailed;
    try {
      await this.record();
    } catch (error) {
      if (!hadFailed) throw error;
    } finally {
      await this.#data.close();
      await this.#record.close();
    }
  }
}

const pathIn = (folder: string, { name }: ListedFile): string => join(folder, ...name.split('/'));

const behind = (chunks: readonly Buffer[], bytes: number): Buffer[] => {
  let skip = bytes;
  const rest: Buffer[] = [];
  for (const chunk of chunks) {
    if (skip < chunk.length) rest.push(chunk.subarray(skip));
    skip = Math.max(0, skip - chunk.length);
  }
  return rest;
};

const isWhole = async (path: string, { bytes }: ListedFile): Promise<boolean> => {
  const found = await unlessMissing(path, lstat(path));
  if (!found?.isSymbolicLink()) return false;
  return (await unlessMissing(path, stat(path)))?.size === bytes;
};

/** Opens the sparse file. If it does not match its record, recreates it, and drops the model's record. */
const openData = async (
  folder: string,
  file: ListedFile,
  record: FileHandle,
): Promise<{ data: FileHandle; known: RangeRecord }> => {
  const path = pathIn(folder, file);
  const known = parseRangeRecord((await readOpenFile(path, record)).toString());
  // Uses lstat, because a link's target in the hub's cache must not be written to.
  const found = await unlessMissing(path, lstat(path));
  if (known?.etag === file.etag && known.bytes === file.bytes && found?.size === file.bytes) {
    // A crash may have truncated the last line, so a new line begins.
    await record.appendFile('\n');
    return { data: await open(path, 'r+'), known };
  }
  await removeRangeFile(modelRecordPath(folder));
  await record.truncate(0);
  await removeRangeFile(path);
  await mkdir(dirname(path), { recursive: true });
  const data = await open(path, 'wx+');
  try {
    await data.truncate(file.bytes);
    await data.utimes(timeOf(file), timeOf(file));
    await data.sync();
    await record.appendFile(contentLine(file, file.bytes));
  } catch (error) {
    await data.close();
    throw error;
  }
  return { data, known: { ...file, present: [] } };
};
