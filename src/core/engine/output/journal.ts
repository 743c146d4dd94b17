import { type FileHandle, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isCount } from '../../base/is-count.js';
import { isObject } from '../../models/checkpoint/files/json.js';
import { readSmallFile } from '../../models/checkpoint/files/small-file.js';
import type { Extent } from '../../tensor/extent.js';
import { jsonOrNone } from '../../texts/json.js';
import { replaceFile, syncDirectory } from './durable.js';

/** Byte ranges by file name. */
export type Extents = ReadonlyMap<string, readonly Extent[]>;

/** Parses a line. If a crash damaged the line, its range is written again. */
const parseLine = (line: string): ({ shard: string } & Extent) | undefined => {
  const entry = jsonOrNone(line);
  const { shard, begin, end } = isObject(entry) ? entry : {};
  return typeof shard === 'string' && isCount(begin) && isCount(end) ? { shard, begin, end } : undefined;
};

export const readJournal = async (path: string): Promise<Extents> => {
  const extents = new Map<string, Extent[]>();
  const text = await readSmallFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  for (const line of text.toString().split('\n')) {
    const { shard, begin, end } = parseLine(line) ?? {};
    if (shard === undefined || begin === undefined || end === undefined) continue;
    const ofShard = extents.get(shard);
    if (ofShard === undefined) extents.set(shard, [{ begin, end }]);
    else ofShard.push({ begin, end });
  }
  return extents;
};

/** Joins adjacent extents, so that a shard written in order needs one line. */
const merge = (extents: readonly Extent[]): Extent[] => {
  const merged: Extent[] = [];
  for (const { begin, end } of [...extents].sort((a, b) => a.begin - b.begin)) {
    const last = merged.at(-1);
    if (last !== undefined && last.end === begin) merged[merged.length - 1] = { begin: last.begin, end };
    else merged.push({ begin, end });
  }
  return merged;
};

export const covers = (extents: readonly Extent[], { begin, end }: Extent): boolean => {
  let reached = begin;
  for (const extent of [...extents].sort((a, b) => a.begin - b.begin))
    if (extent.begin <= reached) reached = Math.max(reached, extent.end);
  return reached >= end;
};

const linesOf = (shard: string, extents: readonly Extent[]): string =>
  merge(extents)
    .map((extent) => `${JSON.stringify({ shard, ...extent })}\n`)
    .join('');

/**
 * A journal of written extents. Lines are appended after fdatasync of the shard, so extents survive a crash.
 */
export class Journal {
  readonly #file: FileHandle;

  private constructor(file: FileHandle) {
    this.#file = file;
  }

  /** Opens a journal with the `known` extents only, durably, so that no stale line remains. */
  static async open(path: string, known: Extents): Promise<Journal> {
    const lines = [...known].map(([shard, extents]) => linesOf(shard, extents)).join('');
    await replaceFile(path, lines, `${path}.new`);
    await syncDirectory(dirname(path));
    return new Journal(await open(path, 'a'));
  }

  /** Fdatasyncs `shard`, then records extents written before the call. Calls must not overlap. */
  async record(
    shard: { readonly name: string; readonly file: FileHandle },
    extents: readonly Extent[],
  ): Promise<void> {
    await shard.file.datasync();
    await this.#file.appendFile(linesOf(shard.name, extents));
  }

  async close(): Promise<void> {
    await this.#file.close();
  }
}
