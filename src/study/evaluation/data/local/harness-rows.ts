import { join } from 'node:path';
import * as z from 'zod';
import { LayerloomError } from '../../../../core/base/errors/errors.js';
import { groupBy, propertyAt } from '../../../../core/base/errors/lookup.js';
import type { Column, LocalRows } from '../benchmark.js';
import { matchTask } from '../task-facts.js';
import { readJsonRows } from './json-rows.js';
import { firstThere, type LocalTask, requiredFile, type WrittenRows, writeRows } from './local-task.js';

// Local rows for the harness's own tasks: JSON lines with the columns of the hub's data sets.
// `tasks/local_rows.py` replaces only a task's rows.

const text = z.string().min(1);

const schemaOf = (column: Column): z.ZodType => {
  if (column === 'text') return text;
  if (column === 'text?') return z.string().nullish();
  if (column === 'whole') return z.int();
  if (column === 'four texts') return z.array(z.string()).length(4);
  const isText = column.every((value) => typeof value === 'string');
  return z.preprocess(
    (value) => (isText && typeof value === 'number' ? String(value) : value),
    z.literal([...column]),
  );
};

const rowSchema = (columns: LocalRows['columns']): z.ZodType<Record<string, unknown>> =>
  z.object(Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, schemaOf(column)])));

/** Spells a value as in the harness's task names: `Arts & Humanities` → `arts_humanities`. */
const memberOf = (value: unknown): string =>
  String(value).toLowerCase().replaceAll(' & ', '_').replaceAll(' ', '_');

/** Returns a task with local rows; undefined if the harness lacks it or its rows cannot be local. */
export const localHarnessTask = (task: string): LocalTask | undefined => {
  const match = matchTask(task);
  const rows = match?.form.rows;
  if (match === undefined || rows === undefined) return undefined;
  const language = match.code ?? '';
  return {
    benchmark: match.benchmark.title,
    template: 'local_template',
    settingsFor: () => ({ metadata: { layerloom_folder: rows.harness } }),
    write: (data, into, shots = match.benchmark.isPaper ? undefined : (match.form.shots ?? 0)) =>
      write(task, rows, language, { data, into, shots }),
  };
};

interface Places {
  readonly data: string;
  readonly into: string;
  readonly shots: number | undefined;
}

const write = async (
  task: string,
  { files: places, splits, columns, by }: LocalRows,
  language: string,
  { data, into, shots }: Places,
): Promise<ReadonlyMap<string, WrittenRows>> => {
  const written = new Map<string, WrittenRows>();
  const members = by?.members(language);
  const schema = rowSchema(columns);
  for (const [at, split] of splits.entries()) {
    const [first = '', ...others] = places.map((place) =>
      place.replaceAll('LANG', language).replaceAll('SPLIT', split),
    );
    // The harness opens the split of worked examples even if it uses none.
    if (at > 0 && shots === 0 && (await firstThere(data, [first, ...others])) === undefined) {
      for (const [name, { files, problems }] of written)
        written.set(name, { files: { ...files, [split]: propertyAt(files, splits[0]) }, problems });
      continue;
    }
    const file = await requiredFile(task, data, [first, ...others]);
    const rows = await readJsonRows(file, schema);
    const parts = by === undefined ? undefined : groupBy(rows, (row) => memberOf(row[by.column]));
    for (const member of members ?? [undefined]) {
      const own = member === undefined ? rows : parts?.get(member);
      if (own === undefined)
        throw new LayerloomError('DATA_INVALID', {
          file,
          reason: `no rows with the ${by?.column} ${member}`,
        });
      const name = member === undefined ? task : `${task}_${member}`;
      const before = written.get(name);
      written.set(name, {
        files: { ...before?.files, [split]: await writeRows(join(into, `${name}.${split}.jsonl`), own) },
        problems: at === 0 ? own.length : (before?.problems ?? 0),
      });
    }
  }
  return written;
};
