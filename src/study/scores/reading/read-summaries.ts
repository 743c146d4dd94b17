import { basename } from 'node:path';
import * as z from 'zod';
import { LayerloomError } from '../../../core/base/errors/errors.js';
import { itemAt } from '../../../core/base/errors/lookup.js';
import { reading } from '../../../core/base/files/writing.js';
import { readSmallFile } from '../../../core/models/checkpoint/files/small-file.js';
import { mostCsvBytes, parseCsv } from '../../../core/texts/csv.js';
import { allLanguages } from './imported.js';
import type { ImportedSummary } from './scored-experiment.js';

interface Line {
  readonly line: number;
  readonly of: Readonly<Record<string, string>>;
}

type Read = (lines: readonly Line[], columns: readonly string[], file: string) => ImportedSummary[];

/** Functions that read tables, by the tables' first columns. */
const shapes: readonly (readonly [first: readonly string[], read: Read])[] = [
  [['language', 'benchmark', 'row', 'statistic', 'value', 'unit'], (lines, _, file) => ownShape(lines, file)],
  [
    ['language', 'statistic'],
    (lines, columns, file) =>
      lines.flatMap(({ of, line }) =>
        wide(of, columns.slice(2), { language: of['language'], statistic: of['statistic'], line, file }),
      ),
  ],
  [['row', 'base'], (lines, columns, file) => oneLanguage(lines, columns, file)],
  [['task', 'metric', 'shots', 'language'], (lines, columns, file) => experts(lines, columns, file)],
  [
    ['language'],
    (lines, columns, file) =>
      lines.flatMap(({ of, line }) =>
        wide(of, columns.slice(1), { language: of['language'], statistic: 'avg', line, file }),
      ),
  ],
];

/**
 * Reads published or foreign figures from a CSV file with the columns `language`, `benchmark`, `row`,
 * `statistic`, `value`, `unit`, and optionally `n` and `note`. Also reads CSV files like the paper's tables:
 * the comparison with a column per row (percent on MGSM), and the experts' sheet (shares and BLEU). Skips
 * empty values.
 *
 * @throws SUMMARIES_INVALID with the line number; READ_FAILED
 */
export const readSummaries = async (file: string): Promise<ImportedSummary[]> => {
  const content = await reading(file, () => readSmallFile(file, { most: mostCsvBytes, what: 'a table' }));
  const text = content.toString();
  const lines = text.replace(/^\ufeff/, '').split(/\r?\n/);
  // Comments become blank lines, which keeps line numbers.
  const { rows: cellsOf, fault } = parseCsv(
    lines.map((line) => (line.startsWith('#') ? '' : line)).join('\n'),
  );
  if (fault !== undefined) throw invalidSummaries(file, fault.row + 1, fault.reason);
  const filled = cellsOf
    .map((cells, at) => ({ cells: cells.map((cell) => cell.trim()), line: at + 1 }))
    .filter(({ cells }) => cells.some((cell) => cell !== ''));
  const [head, ...rest] = filled;
  if (head === undefined) throw invalidSummaries(file, 1, 'the file has no header');
  const columns = head.cells;
  const shape = shapes.find(([first]) => first.every((name, at) => columns[at] === name));
  if (shape === undefined) throw invalidSummaries(file, head.line, `unknown columns ${columns.join(', ')}`);
  const rows = rest.map(({ cells, line }): Line => {
    if (cells.length !== columns.length)
      throw invalidSummaries(file, line, `${cells.length} values for ${columns.length} columns`);
    return { line, of: Object.fromEntries(columns.map((name, at) => [name, itemAt(cells, at)])) };
  });
  return shape[1](rows, columns, file);
};

const invalidSummaries = (file: string, line: number, reason: string): LayerloomError =>
  new LayerloomError('SUMMARIES_INVALID', { file, line, reason });

const ownRow = z.object({
  language: z.string().min(1, 'no language'),
  benchmark: z.string().min(1, 'no benchmark'),
  row: z.string().min(1, 'no row'),
  statistic: z.enum(['min', 'avg', 'max'], { error: 'statistic is min, avg or max' }),
  value: z
    .string()
    .transform(Number)
    .pipe(z.number({ error: 'value is not a number' })),
  unit: z.enum(['percent', 'share', 'BLEU'], { error: 'unit is percent, share or BLEU' }),
  n: z
    .string()
    .default('')
    .transform((text) => (text === '' ? undefined : Number(text)))
    .pipe(z.int({ error: 'n is not a whole number' }).positive({ error: 'n is not positive' }).optional()),
  note: z.string().default(''),
});

const ownShape = (lines: readonly Line[], file: string): ImportedSummary[] =>
  lines
    .filter(({ of }) => of['value'] !== '')
    .map(({ of, line }) => {
      const { success, data, error } = ownRow.safeParse(of);
      if (!success) throw invalidSummaries(file, line, error.issues.map(({ message }) => message).join('; '));
      const { n, note, language, ...rest } = data;
      return {
        ...rest,
        language: languageOf(language),
        ...(n === undefined ? {} : { n }),
        ...(note === '' ? {} : { note }),
        file: basename(file),
      };
    });

const languageOf = (name: string): string =>
  /^(all|all languages|(10|ten)-lang(uage)?s? avg)$/i.test(name) ? allLanguages : name;

interface Place {
  readonly language: string | undefined;
  readonly statistic: string | undefined;
  readonly line: number;
  readonly file: string;
}

/** Reads a line with a column per group of models. A column's name may end in the number of models, `(9)`. */
const wide = (
  of: Readonly<Record<string, string>>,
  columns: readonly string[],
  { language, statistic, line, file }: Place,
): ImportedSummary[] =>
  columns.flatMap((column) => {
    const { name, n } = /^(?<name>.*?)(?: \((?<n>\d+)\))?$/.exec(column)?.groups ?? {};
    return ownShape(
      [
        {
          line,
          of: {
            language: language ?? '',
            benchmark: 'MGSM',
            row: name ?? '',
            statistic: statistic ?? '',
            value: of[column] ?? '',
            unit: 'percent',
            n: n ?? '',
          },
        },
      ],
      file,
    );
  });

const shared = ['base', 'math expert'];

/**
 * Reads the form of Table 2, with rows such as `swahili min` and `english avg`. A column such as `swahili
 * expert` tells the models' language.
 */
const oneLanguage = (lines: readonly Line[], columns: readonly string[], file: string): ImportedSummary[] => {
  const subject = columns
    .find((column) => column.endsWith(' expert') && column !== 'math expert')
    ?.split(' ')[0];
  return lines.flatMap(({ of, line }) => {
    const [, language, statistic] = /^(.*) (min|avg|max)$/.exec(of['row'] ?? '') ?? [];
    if (language === undefined)
      throw invalidSummaries(file, line, `row ${of['row']} is not a language followed by min, avg or max`);
    return wide(of, columns.slice(1), { language, statistic, line, file }).map((summary) =>
      subject === undefined || shared.includes(summary.row) || summary.row.startsWith(`${subject} `)
        ? summary
        : { ...summary, row: `${subject} ${summary.row}` },
    );
  });
};

/** Reads the form of Table 5, with a column per kind of expert. Values: BLEU for FLORES, otherwise shares. */
const experts = (lines: readonly Line[], columns: readonly string[], file: string): ImportedSummary[] =>
  lines.flatMap(({ of, line }) =>
    columns.slice(4).flatMap((column) =>
      ownShape(
        [
          {
            line,
            of: {
              language: of['language'] ?? '',
              benchmark: of['task'] ?? '',
              row: column === 'base' ? 'base' : `${column} expert`,
              statistic: 'avg',
              value: of[column] ?? '',
              unit: of['metric'] === 'BLEU' ? 'BLEU' : 'share',
            },
          },
        ],
        file,
      ),
    ),
  );
