import { constants } from 'node:buffer';
import { ZodRecord, type ZodType } from 'zod';
import { type LayerloomError, reasonOf } from '../../../base/errors/errors.js';
import { ownFile, parseJson } from '../../../texts/json.js';
import { readSmallFile } from './small-file.js';

export interface JsonFault {
  readonly file: string;
  readonly reason: string;
  readonly cause?: unknown;
  /** False if the file is missing or unreadable; true if its content is wrong. */
  readonly isRead: boolean;
}

export interface JsonFile<T> {
  /** The schema must check without transforming. */
  readonly schema: ZodType<T>;
  /** The kind of file, for errors: `the record of an experiment`. */
  readonly what: string;
  readonly fail: (fault: JsonFault) => LayerloomError;
  readonly read?: typeof readSmallFile;
}

/**
 * Reads a JSON file by layerloom that somebody may have edited.
 *
 * @returns the parsed value itself, so that writing it back keeps unknown keys and key order
 * @throws the result of `fail`
 */
export const readJsonFile = async <T>(
  file: string,
  { schema, what, fail, read = readSmallFile }: JsonFile<T>,
): Promise<T> => {
  const bytes = await read(file, { most: constants.MAX_STRING_LENGTH, what }).catch((cause: unknown) => {
    throw fail({ file, reason: reasonOf(cause), cause, isRead: false });
  });
  let value: unknown;
  try {
    value = parseJson(bytes, ownFile);
  } catch (cause) {
    throw fail({ file, reason: reasonOf(cause), cause, isRead: true });
  }
  const { error } = schema.safeParse(value);
  if (error === undefined) return value as T;
  const [issue] = error.issues;
  // Does not quote the key: a record's top-level keys are arbitrary, and the file may be some other file.
  const path = (schema instanceof ZodRecord ? issue?.path.slice(1) : issue?.path) ?? [];
  const at = path.length === 0 ? '' : `${path.join('.')}: `;
  throw fail({ file, reason: `is not ${what} (${at}${issue?.message})`, isRead: true });
};
