import * as z from 'zod';
import { LayerloomError, reasonOf } from '../../../../core/base/errors/errors.js';
import { itemAt } from '../../../../core/base/errors/lookup.js';
import { parseJson } from '../../../../core/texts/json.js';
import { readJsonRows, readLines, readText } from './json-rows.js';

/**
 * Row of MGSM with the fields of `juletxara/mgsm`. `equation_solution` is null, because `exemplars.json`
 * lacks it and no template reads it.
 */
export interface MgsmRow {
  readonly question: string;
  readonly answer: string | null;
  readonly answer_number: number;
  readonly equation_solution: null;
}

/**
 * Reads lines `question TAB answer` without header or quoting.
 *
 * @throws DATA_INVALID for the first invalid line
 */
export const readProblems = async (file: string): Promise<readonly MgsmRow[]> => {
  const lines = await readLines(file);
  return lines.map((text, index) => {
    const [question = '', answer = '', ...more] = text.split('\t');
    // Removes thousands separators: the harness and the hub write 2125 for 2,125.
    const digits = answer.replace(/(?<=\d),(?=\d{3}(?:,|$))/g, '');
    if (question === '' || more.length > 0 || !/^\d+$/.test(digits))
      throw new LayerloomError('DATA_INVALID', {
        file,
        line: index + 1,
        reason: `expected a question, one tab and a whole number, got ${JSON.stringify(text.slice(0, 80))}`,
      });
    return { question, answer: null, answer_number: Number(digits), equation_solution: null };
  });
};

const variant = z.object({
  question: z.string().min(1),
  answer: z.union([z.int(), z.string().regex(/^-?\d{1,3}(,?\d{3})*$/, 'a whole number')]),
});

/**
 * Reads variants of problems: JSON lines with McGill-NLP/mgsm-pro's columns `question` and `answer`.
 *
 * @throws DATA_INVALID for the first invalid line
 */
export const readVariants = async (file: string): Promise<readonly MgsmRow[]> =>
  (await readJsonRows(file, variant)).map(({ question, answer }) => ({
    question,
    answer: null,
    answer_number: Number(String(answer).replaceAll(',', '')),
    equation_solution: null,
  }));

const exemplar = z.object({ q: z.string().min(1), a: z.string().regex(/\d/, 'an answer has a number') });
const exemplars = z.record(z.string(), z.record(z.string().regex(/^\d+$/), exemplar));

const readJson = (file: string, text: string): unknown => {
  try {
    return parseJson(text);
  } catch (error) {
    throw new LayerloomError('DATA_INVALID', { file, reason: reasonOf(error) }, { cause: error });
  }
};

/**
 * Reads labelled few-shot examples: `{LANGUAGE: {"1": {q, a}, …}}`. The answer is the last number in the
 * text.
 *
 * @returns undefined if the file lacks the language
 * @throws DATA_INVALID
 */
export const readExemplars = async (
  file: string,
  language: string,
): Promise<readonly MgsmRow[] | undefined> => {
  const parsed = exemplars.safeParse(readJson(file, await readText(file)));
  if (!parsed.success) {
    const { path, message } = itemAt(parsed.error.issues, 0);
    throw new LayerloomError('DATA_INVALID', { file, reason: `${path.join('.')}: ${message}` });
  }
  const own = parsed.data[language];
  if (own === undefined) return undefined;
  return Object.entries(own)
    .sort(([a], [b]) => Number(a) - Number(b))
    .map(([, { q, a }]) => ({
      question: q,
      answer: a,
      answer_number: Number(a.match(/\d+/g)?.at(-1)),
      equation_solution: null,
    }));
};
