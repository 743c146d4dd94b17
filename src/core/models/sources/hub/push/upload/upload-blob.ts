import { open, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { Readable } from 'node:stream';
import type { LayerloomError } from '../../../../../base/errors/errors.js';
import { readFailed, reading } from '../../../../../base/files/writing.js';

const pieceBytes = 256 * 1024;

interface Source {
  readonly path: string;
  readonly bytes: number;
  readonly onFault: (error: LayerloomError) => void;
  readonly onRead?: (bytes: number) => void;
}

/** A file's bytes, read each time they are sent. Reports read errors to `onFault`, to prevent retries. */
export class UploadBlob extends Blob {
  readonly #source: Source;
  readonly #begin: number;
  readonly #end: number;

  private constructor(source: Source, begin: number, end: number) {
    super();
    this.#source = source;
    this.#begin = begin;
    this.#end = end;
  }

  static async of(path: string, onFault: Source['onFault'] = () => {}): Promise<UploadBlob> {
    const { size: bytes } = await reading(path, () => stat(path));
    return new UploadBlob({ path, bytes, onFault }, 0, bytes);
  }

  /** Returns a blob of these bytes; `onRead` receives the number of streamed bytes. */
  counted(onRead: (bytes: number) => void): UploadBlob {
    return new UploadBlob({ ...this.#source, onRead }, this.#begin, this.#end);
  }

  get name(): string {
    return basename(this.#source.path);
  }

  get isPart(): boolean {
    return this.size < this.#source.bytes;
  }

  override get size(): number {
    return this.#end - this.#begin;
  }

  override slice(begin = 0, end = this.size): UploadBlob {
    const at = (position: number) => Math.min(this.#end, this.#begin + position);
    return new UploadBlob(this.#source, at(begin), at(end));
  }

  override async arrayBuffer(): Promise<ArrayBuffer> {
    const bytes = new Uint8Array(this.size);
    let done = 0;
    for await (const piece of this.#pieces()) {
      bytes.set(piece, done);
      done += piece.length;
    }
    return bytes.buffer;
  }

  override async text(): Promise<string> {
    return Buffer.from(await this.arrayBuffer()).toString('utf8');
  }

  read(): Readable {
    return Readable.from(this.#pieces(), { objectMode: false });
  }

  override stream(): ReturnType<Blob['stream']> {
    return Readable.toWeb(this.read()) as ReturnType<Blob['stream']>;
  }

  async *#pieces(): AsyncGenerator<Buffer> {
    const { path, onFault, onRead } = this.#source;
    try {
      const file = await open(path, 'r');
      try {
        for (let at = this.#begin; at < this.#end; ) {
          const piece = Buffer.allocUnsafe(Math.min(pieceBytes, this.#end - at));
          const { bytesRead } = await file.read(piece, 0, piece.length, at);
          if (bytesRead === 0) throw new Error('became shorter while it was pushed');
          at += bytesRead;
          onRead?.(bytesRead);
          yield piece.subarray(0, bytesRead);
        }
      } finally {
        await file.close();
      }
    } catch (cause) {
      const error = readFailed(path, cause);
      onFault(error);
      throw error;
    }
  }
}
