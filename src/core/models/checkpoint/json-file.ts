import { constants } from 'node:buffer';
import { ZodRecord, type ZodType } from 'zod';
import { type LayerloomError, reasonOf } from '../../base/errors.js';
import { ownFile, parseJson } from '../../texts/json.js';
import { readSmallFile } from './small-file.js';

/** Why a file could not be used. */
export interface JsonFault {
  readonly file: string;
  readonly reason: string;
  readonly cause?: unknown;
  /** False if the file was not there or could not be read; true if what was read is something else. */
  readonly isRead: boolean;
}

/** How a JSON file of ours is read. */
export interface JsonFile<T> {
  /** Checks the value and transforms nothing. */
  readonly schema: ZodType<T>;
  /** What the file is, for errors: `the record of an experiment`. */
  readonly what: string;
  readonly fail: (fault: JsonFault) => LayerloomError;
}

/**
 * Reads a JSON file that layerloom wrote, and that somebody may have edited since.
 *
 * @returns the value itself: keys that later versions add, and the order of keys, stay for who writes it back
 * @throws what `fail` returns
 */
export const readJsonFile = async <T>(file: string, { schema, what, fail }: JsonFile<T>): Promise<T> => {
  const bytes = await readSmallFile(file, { most: constants.MAX_STRING_LENGTH, what }).catch(
    (cause: unknown) => {
      throw fail({ file, reason: reasonOf(cause), cause, isRead: false });
    },
  );
  let value: unknown;
  try {
    value = parseJson(bytes, ownFile);
  } catch (cause) {
    throw fail({ file, reason: reasonOf(cause), cause, isRead: true });
  }
  const { error } = schema.safeParse(value);
  if (error === undefined) return value as T;
  const [issue] = error.issues;
  // Any key may stand at the top of a record: the file may be another one, whose keys are not repeated.
  const path = (schema instanceof ZodRecord ? issue?.path.slice(1) : issue?.path) ?? [];
  const at = path.length === 0 ? '' : `${path.join('.')}: `;
  throw fail({ file, reason: `is not ${what} (${at}${issue?.message})`, isRead: true });
};
