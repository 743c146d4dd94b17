import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LayerloomError } from '../../../../core/base/errors/errors.js';
import { exists } from '../../../../core/base/files/exists.js';

/** Files by split, as in `data_files` of `datasets`. */
export type DataFiles = Readonly<Record<string, string>>;

export interface WrittenRows {
  readonly files: DataFiles;
  /** Number of rows in the split `test`. */
  readonly problems: number;
}

/** A task whose rows can come from a local directory. */
export interface LocalTask {
  /** If the directory has no file of this benchmark, the hub's data are used. */
  readonly benchmark: string;
  /** Template in the package's `tasks/`. */
  readonly template: string;
  /** The needed files, for messages. Set only if the hub has no data. */
  readonly needed?: string;
  readonly settingsFor?: (files: DataFiles) => object;
  /**
   * Writes the task's rows as JSON lines.
   *
   * @param data directory of the published data
   * @param into absolute directory
   * @param shots worked examples before each problem; undefined: the task's default
   * @returns files and numbers of problems by task, or by member for a group
   * @throws DATA_MISSING, DATA_INVALID
   */
  readonly write: (
    data: string,
    into: string,
    shots: number | undefined,
  ) => Promise<ReadonlyMap<string, WrittenRows>>;
}

/** Returns the first of `places` in the directory; undefined if it has none of them. */
export const firstThere = async (data: string, places: readonly string[]): Promise<string | undefined> => {
  for (const place of places) if (await exists(join(data, place))) return join(data, place);
  return undefined;
};

/**
 * @param places possible names in the directory; the first existing one is taken
 * @throws DATA_MISSING with the first name
 */
export const requiredFile = async (
  task: string,
  data: string,
  places: readonly [string, ...string[]],
): Promise<string> => {
  const there = await firstThere(data, places);
  if (there !== undefined) return there;
  const remedy = `put it into ${data}, or leave the task out`;
  throw new LayerloomError('DATA_MISSING', { task, file: places[0], remedy, directory: data });
};

export const writeRows = async (file: string, rows: readonly object[]): Promise<string> => {
  await writeFile(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  return file;
};
