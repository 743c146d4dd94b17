import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { reading } from '../../../../core/base/files/writing.js';

/** Byte range in a file; `end` is exclusive. */
export type Range = readonly [begin: number, end: number];

/** Elements in a sample; `exchange.py` and `parts.py` have the same number. */
const sampleElements = 1024;

export const chunkBytes = 1 << 20;

/** Opens each file at its first read and closes all when disposed. */
export class FilesToRead implements AsyncDisposable {
  readonly #handles = new Map<string, FileHandle>();

  /** @throws READ_FAILED, naming the file */
  read<T>(file: string, use: (handle: FileHandle) => Promise<T>): Promise<T> {
    return reading(file, async () => {
      const handle = this.#handles.get(file) ?? (await open(file));
      this.#handles.set(file, handle);
      return await use(handle);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#handles.values()].map((handle) => handle.close()));
  }
}

/** @throws Error if the file ends too early */
export const hashRanges = async (handle: FileHandle, ranges: readonly Range[]): Promise<string> => {
  const hash = createHash('sha256');
  const longest = Math.max(0, ...ranges.map(([begin, end]) => end - begin));
  const chunk = Buffer.allocUnsafe(Math.min(chunkBytes, longest));
  for (const [begin, end] of ranges)
    for (let position = begin; position < end; ) {
      const { bytesRead } = await handle.read(chunk, 0, Math.min(chunkBytes, end - position), position);
      if (bytesRead === 0) throw new Error(`the file ends at byte ${position}, before ${end}`);
      hash.update(chunk.subarray(0, bytesRead));
      position += bytesRead;
    }
  return hash.digest('hex');
};

const within = (ranges: readonly Range[], first: number, last: number): Range[] => {
  let at = 0;
  return ranges.flatMap(([begin, end]): Range[] => {
    const [from, to] = [Math.max(first - at, 0), Math.min(last - at, end - begin)];
    at += end - begin;
    return from < to ? [[begin + from, begin + to]] : [];
  });
};

/** Returns equally spaced samples of the concatenated ranges. */
export const sampledRanges = (ranges: readonly Range[], samples: number, bytes: number): Range[] => {
  const elements = ranges.reduce((sum, [begin, end]) => sum + end - begin, 0) / bytes;
  const last = Math.max(0, elements - sampleElements);
  return Array.from({ length: samples }, (_, index) => {
    const first = Math.floor((last * index) / (samples - 1));
    return [first * bytes, Math.min(elements, first + sampleElements) * bytes] as const;
  }).flatMap(([from, to]) => within(ranges, from, to));
};
