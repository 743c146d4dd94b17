import type * as z from 'zod';
import { LayerloomError, reasonOf } from '../../../../core/base/errors/errors.js';
import { reading } from '../../../../core/base/files/writing.js';
import { readSmallFile } from '../../../../core/models/checkpoint/files/small-file.js';
import { parseJson } from '../../../../core/texts/json.js';

/** @throws READ_FAILED, also for a directory */
export const readText = async (file: string): Promise<string> =>
  (await reading(file, () => readSmallFile(file))).toString();

/** @throws READ_FAILED */
export const readLines = async (file: string): Promise<readonly string[]> =>
  (await readText(file)).replace(/\r?\n$/, '').split(/\r?\n/);

/**
 * Reads JSON lines and keeps the columns in `schema`.
 *
 * @throws DATA_INVALID for the first invalid line
 */
export const readJsonRows = async <Row>(file: string, schema: z.ZodType<Row>): Promise<Row[]> => {
  const lines = await readLines(file);
  return lines.map((line, index) => {
    const fail = (reason: string, cause?: unknown) =>
      new LayerloomError('DATA_INVALID', { file, line: index + 1, reason }, { cause });
    let value: unknown;
    try {
      value = parseJson(line);
    } catch (error) {
      throw fail(reasonOf(error), error);
    }
    const parsed = schema.safeParse(value);
    if (parsed.success) return parsed.data;
    const [issue] = parsed.error.issues;
    throw fail(`column ${issue?.path.join('.')}: ${issue?.message}`);
  });
};
