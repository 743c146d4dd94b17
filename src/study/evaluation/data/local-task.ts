import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LayerloomError } from '../../../core/base/errors.js';
import { exists } from '../../../core/base/exists.js';

/** Files of rows by split, as `datasets` takes them under `data_files`. */
export type DataFiles = Readonly<Record<string, string>>;

/** What a task's rows were written into. */
export interface WrittenRows {
  readonly files: DataFiles;
  /** Rows of the split `test`. */
  readonly problems: number;
}

/** A task whose rows can come from a local directory. */
export interface LocalTask {
  /** Benchmark that the directory's files are of: a directory without any of them leaves it to the hub. */
  readonly benchmark: string;
  /** File in the package's `tasks/` that the task is made from. */
  readonly template: string;
  /** The files that it needs, for people, if the hub has no data of it. */
  readonly needed?: string;
  /** Settings of the task file that depend on which files there are. */
  readonly settingsFor?: (files: DataFiles) => object;
  /**
   * Writes the task's rows as JSON lines.
   *
   * @param data the directory with the data as it was published
   * @param into where the files are written, absolute
   * @param shots worked examples before each problem; undefined: as many as the task takes by itself
   * @returns files and numbers of problems by task: of a group those of its members, else of the task itself
   * @throws LayerloomError DATA_MISSING, DATA_INVALID
   */
  readonly write: (
    data: string,
    into: string,
    shots: number | undefined,
  ) => Promise<ReadonlyMap<string, WrittenRows>>;
}

/**
 * Returns a file's path in a directory of data.
 *
 * @param places names of the file, relative to the directory; the first that is there counts
 * @throws LayerloomError DATA_MISSING with the first of them
 */
export const requiredFile = async (
  task: string,
  data: string,
  places: readonly [string, ...string[]],
): Promise<string> => {
  for (const place of places) if (await exists(join(data, place))) return join(data, place);
  throw new LayerloomError('DATA_MISSING', { task, file: places[0], directory: data });
};

/** Writes rows as JSON lines, and returns the file. */
export const writeRows = async (file: string, rows: readonly object[]): Promise<string> => {
  await writeFile(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  return file;
};
