import { readFile } from 'node:fs/promises';
import type * as z from 'zod';
import { LayerloomError, reasonOf } from '../../../../core/base/errors/errors.js';
import { parseJson } from '../../../../core/texts/json.js';

/**
 * Reads JSON lines and keeps the columns of `schema`.
 *
 * @throws DATA_INVALID for the first invalid line
 */
export const readJsonRows = async <Row>(file: string, schema: z.ZodType<Row>): Promise<Row[]> => {
  const lines = (await readFile(file, 'utf8')).replace(/\r?\n$/, '').split(/\r?\n/);
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
