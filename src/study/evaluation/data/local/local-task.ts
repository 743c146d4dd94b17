import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LayerloomError } from '../../../../core/base/errors/errors.js';
import { exists } from '../../../../core/base/files/exists.js';

export type DataFiles = Readonly<Record<string, string>>;

export interface WrittenRows {
  readonly files: DataFiles;
  /** Rows in the split `test`. */
  readonly problems: number;
}

export interface LocalTask {
  /** Benchmark's name. If the directory has no file of the benchmark, its tasks use the hub's data. */
  readonly benchmark: string;
  /** Template in our `tasks/`. */
  readonly template: string;
  /** Needed files, for messages; set only if the hub lacks the data. */
  readonly needed?: string;
  readonly settingsFor?: (files: DataFiles) => object;
  /**
   * Writes the task's rows as JSON lines.
   *
   * @param into absolute directory
   * @param shots number of few-shot examples; undefined: the task's default
   * @returns files and numbers of problems by task, or by member for a group
   * @throws DATA_MISSING, DATA_INVALID
   */
  readonly write: (
    data: string,
    into: string,
    shots: number | undefined,
  ) => Promise<ReadonlyMap<string, WrittenRows>>;
}

export const firstThere = async (data: string, places: readonly string[]): Promise<string | undefined> => {
  for (const place of places) if (await exists(join(data, place))) return join(data, place);
  return undefined;
};

/** @throws DATA_MISSING, naming the first place */
export const requiredFile = async (
  task: string,
  data: string,
  places: readonly [string, ...string[]],
): Promise<string> => {
  const there = await firstThere(data, places);
  if (there !== undefined) return there;
  const remedy = `put it into ${data}, or remove the task`;
  throw new LayerloomError('DATA_MISSING', { task, file: places[0], remedy, directory: data });
};

export const writeRows = async (file: string, rows: readonly object[]): Promise<string> => {
  await writeFile(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  return file;
};
