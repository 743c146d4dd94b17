import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { Readable } from 'node:stream';

/** Bytes of a file, read when they are sent and as often as they are: no file is held in memory. */
export class UploadBlob extends Blob {
  readonly #path: string;
  readonly #begin: number;
  readonly #end: number;
  readonly #onRead: (bytes: number) => void;

  private constructor(path: string, begin: number, end: number, onRead: (bytes: number) => void) {
    super();
    this.#path = path;
    this.#begin = begin;
    this.#end = end;
    this.#onRead = onRead;
  }

  static async of(path: string): Promise<UploadBlob> {
    return new UploadBlob(path, 0, (await stat(path)).size, () => undefined);
  }

  /** Returns the same bytes; `onRead` is called with the number of each that are streamed. */
  counted(onRead: (bytes: number) => void): UploadBlob {
    return new UploadBlob(this.#path, this.#begin, this.#end, onRead);
  }

  override get size(): number {
    return this.#end - this.#begin;
  }

  override slice(begin = 0, end = this.size): UploadBlob {
    const at = (position: number) => Math.min(this.#end, this.#begin + position);
    return new UploadBlob(this.#path, at(begin), at(end), this.#onRead);
  }

  override async arrayBuffer(): Promise<ArrayBuffer> {
    const bytes = new Uint8Array(this.size);
    const file = await open(this.#path, 'r');
    try {
      for (let done = 0; done < bytes.length; ) {
        const { bytesRead } = await file.read(bytes, done, bytes.length - done, this.#begin + done);
        if (bytesRead === 0) throw new Error(`${this.#path} became shorter while it was read`);
        done += bytesRead;
      }
    } finally {
      await file.close();
    }
    return bytes.buffer;
  }

  override async text(): Promise<string> {
    return Buffer.from(await this.arrayBuffer()).toString('utf8');
  }

  override stream(): ReturnType<Blob['stream']> {
    const { size } = this;
    if (size === 0) return new Blob([]).stream();
    const onRead = this.#onRead;
    const chunks = createReadStream(this.#path, {
      start: this.#begin,
      end: this.#end - 1,
      highWaterMark: 256 * 1024,
    });
    chunks.on('data', (chunk) => onRead(chunk.length));
    return Readable.toWeb(chunks) as ReturnType<Blob['stream']>;
  }
}
