import { extname } from 'node:path';
import { LayerloomError, reasonOf } from '../../core/base/errors/errors.js';
import { reading } from '../../core/base/files/writing.js';
import { isObject } from '../../core/models/checkpoint/files/json.js';
import { readSmallFile } from '../../core/models/checkpoint/files/small-file.js';
import { parseCsv } from '../../core/texts/csv.js';
import { decodeUtf8, parseJson } from '../../core/texts/json.js';

/** Corrected answer, found by the hash of the problem's data, else by question, else by row. */
export interface Correction {
  readonly document?: string;
  readonly question?: string;
  readonly id?: number;
  readonly answer: string;
}

/** Column names in published files, in order of preference. */
const columns = {
  document: ['doc_hash', 'document'],
  question: ['question', 'problem', 'query', 'prompt'],
  id: ['id', 'doc_id', 'index', 'idx'],
  answer: ['corrected_answer', 'answer_number', 'target', 'answer', 'gold', 'label'],
} as const;

/**
 * Reads corrected answers: JSON lines, a JSON list, CSV or TSV. A TSV without a header has MGSM's
 * `question TAB answer`.
 *
 * @throws READ_FAILED, DATA_INVALID
 */
export const readCorrections = async (file: string): Promise<readonly Correction[]> => {
  const rows = await rowsOf(file);
  if (rows.length === 0) throw new LayerloomError('DATA_INVALID', { file, reason: 'contains no rows' });
  return rows.map((row, index) => {
    const given = (kind: keyof typeof columns): string | undefined => {
      for (const name of columns[kind]) {
        const value = row[name];
        if (typeof value === 'string' || typeof value === 'number') return String(value).trim();
      }
      return undefined;
    };
    const fail = (reason: string) => new LayerloomError('DATA_INVALID', { file, line: index + 1, reason });
    const [document, question, id, answer] = [
      given('document'),
      given('question'),
      given('id'),
      given('answer'),
    ];
    if (answer === undefined || answer === '')
      throw fail(`expected an answer in one of ${columns.answer.join(', ')}`);
    if (document === undefined && question === undefined && id === undefined)
      throw fail(`expected one of ${[...columns.question, ...columns.id].join(', ')}`);
    if (id !== undefined && !/^\d{1,15}$/.test(id))
      throw fail(`expected a row's number, got ${JSON.stringify(id)}`);
    return {
      answer,
      ...(document === undefined ? {} : { document }),
      ...(question === undefined ? {} : { question: plainQuestion(question) }),
      ...(id === undefined ? {} : { id: Number(id) }),
    };
  });
};

export const plainQuestion = (text: string): string => text.normalize('NFC').replace(/\s+/g, ' ').trim();

type Row = Readonly<Record<string, unknown>>;

const rowsOf = async (file: string): Promise<readonly Row[]> => {
  const text = await textOf(file);
  const kind = extname(file);
  if (kind === '.jsonl' || kind === '.json') {
    const lines = kind === '.json' ? [text] : text.split('\n').filter((line) => line.trim() !== '');
    const values = lines.map((line, index) => parsed(file, index + 1, line));
    const rows = kind === '.json' ? (Array.isArray(values[0]) ? values[0] : []) : values;
    return rows.map((row: unknown, index) => {
      if (isObject(row)) return row;
      throw new LayerloomError('DATA_INVALID', { file, line: index + 1, reason: 'expected an object' });
    });
  }
  const table =
    kind === '.tsv'
      ? text.split(/\r?\n/).flatMap((line) => (line === '' ? [] : [line.split('\t')]))
      : parseCsv(text, { skipsEmpty: true }).rows;
  const [head = [], ...body] = table;
  const all: readonly string[] = Object.values(columns).flat();
  const isHead = head.some((name) => all.includes(name.trim()));
  const names = isHead ? head.map((name) => name.trim()) : ['question', 'answer'];
  return (isHead ? body : table).map((cells) =>
    Object.fromEntries(names.map((name, at) => [name, cells[at]])),
  );
};

const textOf = async (file: string): Promise<string> => {
  const bytes = await reading(file, () => readSmallFile(file));
  try {
    return decodeUtf8(bytes);
  } catch (error) {
    throw new LayerloomError('DATA_INVALID', { file, reason: reasonOf(error) });
  }
};

const parsed = (file: string, line: number, text: string): unknown => {
  try {
    return parseJson(text);
  } catch (error) {
    throw new LayerloomError('DATA_INVALID', { file, line, reason: reasonOf(error) });
  }
};

/** Problem to leave out, by hash, or by row in one task or all. */
export interface Dropped {
  readonly text: string;
  readonly task?: string;
  readonly id?: number;
  readonly document?: string;
}

/**
 * Reads problems to leave out, one per line: `ROW`, `TASK ROW`, or the hash of a problem's data. `#` starts a
 * comment.
 *
 * @throws READ_FAILED, DATA_INVALID
 */
export const readDropped = async (file: string): Promise<readonly Dropped[]> =>
  (await textOf(file)).split(/\r?\n/).flatMap((line, index): Dropped[] => {
    const text = line.replace(/#.*/, '').trim();
    if (text === '') return [];
    const [first = '', second, ...more] = text.split(/\s+/);
    const [task, problem] = second === undefined ? [undefined, first] : [first, second];
    const of = task === undefined ? { text } : { text, task };
    if (/^\d{1,15}$/.test(problem) && more.length === 0) return [{ ...of, id: Number(problem) }];
    if (task === undefined && problem.length >= 16) return [{ ...of, document: problem }];
    throw new LayerloomError('DATA_INVALID', {
      file,
      line: index + 1,
      reason: 'expected ROW, TASK ROW or the hash of a problem',
    });
  });
