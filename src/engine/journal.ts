import { type FileHandle, open, readFile } from 'node:fs/promises';
import { isObject } from '../checkpoint/json.js';

/** Bytes of a shard, from the start of the file. */
export interface Extent {
  readonly begin: number;
  readonly end: number;
}

/** Extents of shards by file name. */
export type Extents = Map<string, Extent[]>;

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

/** A line's entry; undefined where a crash cut it short or left it unwritten. */
const parseLine = (line: string): ({ shard: string } & Extent) | undefined => {
  let entry: unknown;
  try {
    entry = JSON.parse(line);
  } catch {
    // What the journal does not say is done again.
    return undefined;
  }
  const { shard, begin, end } = isObject(entry) ? entry : {};
  return typeof shard === 'string' && isCount(begin) && isCount(end) ? { shard, begin, end } : undefined;
};

/** What a journal says is on the disk. */
export const readJournal = async (path: string): Promise<Extents> => {
  const extents: Extents = new Map();
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  for (const line of text.split('\n')) {
    const entry = parseLine(line);
    if (entry !== undefined)
      extents.set(entry.shard, [...(extents.get(entry.shard) ?? []), { begin: entry.begin, end: entry.end }]);
  }
  return extents;
};

/** Whether others cover all of an extent. */
export const covers = (extents: readonly Extent[], { begin, end }: Extent): boolean => {
  let reached = begin;
  for (const extent of [...extents].sort((a, b) => a.begin - b.begin))
    if (extent.begin <= reached) reached = Math.max(reached, extent.end);
  return reached >= end;
};

/**
 * Which bytes of the staged shards are on the disk: a line is written only after the file it speaks of was synced. So what a
 * journal says holds after a crash, and what it does not say is done again.
 */
export class Journal {
  readonly #file: FileHandle;
  #last: Promise<void> = Promise.resolve();

  private constructor(file: FileHandle) {
    this.#file = file;
  }

  static async open(path: string): Promise<Journal> {
    return new Journal(await open(path, 'a'));
  }

  /** Syncs `shard`, then records extents that were complete before the call. */
  async record(
    shard: { readonly name: string; readonly file: FileHandle },
    extents: readonly Extent[],
  ): Promise<void> {
    await shard.file.datasync();
    const lines = merge(extents).map((extent) => `${JSON.stringify({ shard: shard.name, ...extent })}\n`);
    this.#last = this.#last.then(() => this.#file.appendFile(lines.join('')));
    await this.#last;
  }

  async close(): Promise<void> {
    await this.#file.close();
  }
}

/** Neighbours joined, so that a shard written in order is one line. */
const merge = (extents: readonly Extent[]): Extent[] => {
  const merged: Extent[] = [];
  for (const extent of [...extents].sort((a, b) => a.begin - b.begin)) {
    const last = merged.at(-1);
    if (last !== undefined && last.end === extent.begin)
      merged[merged.length - 1] = { begin: last.begin, end: extent.end };
    else merged.push(extent);
  }
  return merged;
};
