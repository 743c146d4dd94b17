import { groupBy, itemAt } from '../../core/base/errors/lookup.js';
import { Board, type TableOptions } from './boards/board.js';
import { idOf } from './boards/cells.js';
import { scoresOf } from './reading/model-score.js';
import { type Cell, type ScoreTable, type TableRow, tableOf } from './reading/score-table.js';
import type { ScoredExperiment } from './reading/scored-experiment.js';
import { meanOf } from './statistics/mean.js';
import { type Layouts, tablesOf } from './tables.js';

export interface Base {
  readonly name: string;
  readonly experiment: ScoredExperiment;
}

/** Name of the mean over bases. No base may have it. */
export const meanName = 'mean';

interface Scored extends Base {
  readonly board: Board;
  readonly tables: readonly ScoreTable[];
}

/**
 * Returns the tables of several bases: each table for each base, then the mean if all bases have it.
 *
 * @throws INVALID_PARAMETER for an unknown table
 */
export const tablesOfBases = (
  bases: readonly Base[],
  layouts: Layouts,
  options: TableOptions = {},
): ScoreTable[] => {
  const scored = bases.map(
    (base): Scored => ({
      ...base,
      board: new Board(base.experiment, options),
      tables: tablesOf(base.experiment, layouts, options),
    }),
  );
  const apart = [...differentBenchmarks(scored), ...differentTasks(scored)];
  const all = scored.flatMap(({ name, tables }) => tables.map((table) => ({ ...table, base: name })));
  const names = Object.keys(layouts);
  const place = ({ id }: ScoreTable): number => names.indexOf(id.split('/', 1)[0] as string);
  const byId = [...groupBy(all, ({ id }) => id).values()].sort(
    ([a], [b]) => place(a as ScoreTable) - place(b as ScoreTable),
  );
  const tables = byId.flatMap((of) => {
    const named = of.map((table) => ({ ...table, title: `${table.title}, ${table.base}` }));
    const isWhole = of.length === bases.length && bases.length > 1;
    const mean = isWhole ? meanTable(of, scored, new Set(apart.flatMap(({ benchmarks }) => benchmarks))) : [];
    return [...named, ...mean];
  });
  const refusals = apart.map(({ message }) => message);
  return tables.map((table, at) =>
    at === 0 ? { ...table, refusals: [...table.refusals, ...refusals] } : table,
  );
};

interface Apart {
  readonly benchmarks: readonly string[];
  readonly message: string;
}

const differentBenchmarks = (bases: readonly Scored[]): Apart[] => {
  const benchmarks = [...new Set(bases.flatMap(({ board }) => board.benchmarks))];
  const some = benchmarks.flatMap((benchmark) => {
    const of = bases.filter(({ board }) => board.benchmarks.includes(benchmark));
    return of.length === bases.length ? [] : [{ benchmark, names: of.map(({ name }) => name) }];
  });
  if (some.length === 0) return [];
  const words = some.map(({ benchmark, names }) => `${benchmark} (scored for ${names.join(', ')})`);
  return [
    {
      benchmarks: some.map(({ benchmark }) => benchmark),
      message: `the bases have different benchmarks, so there is no mean for ${words.join('; ')}`,
    },
  ];
};

/** Facts about a task that must agree for a mean over bases. */
const taskFacts = {
  metric: 'metrics',
  version: 'versions of the task',
  fewshot: 'numbers of examples',
  maxTokens: 'token limits',
  sampling: 'sampling settings',
  n: 'numbers of problems',
} as const;

const factsOf = ({ board, experiment }: Scored, task: string) => {
  const subject = board.subjects.find((of) => of.task === task);
  const [first] = subject === undefined ? [] : scoresOf(experiment.models, task, subject.metric);
  if (subject === undefined || first === undefined) return undefined;
  const { taskVersion: version, fewshot, maxTokens, sampling, n } = first.result;
  return {
    benchmark: subject.benchmark,
    metric: subject.metric,
    version,
    fewshot,
    maxTokens: maxTokens ?? "the task's own",
    sampling: sampling ?? 'greedy',
    n,
  };
};

const differentTasks = (bases: readonly Scored[]): Apart[] => {
  const tasks = [...new Set(bases.flatMap(({ board }) => board.subjects.map(({ task }) => task)))];
  return tasks.flatMap((task): Apart[] => {
    const facts = bases.flatMap((base) => {
      const found = factsOf(base, task);
      return found === undefined ? [] : [{ name: base.name, ...found }];
    });
    const [first] = facts;
    const key = (Object.keys(taskFacts) as (keyof typeof taskFacts)[]).find(
      (one) => new Set(facts.map((of) => of[one])).size > 1,
    );
    if (first === undefined || key === undefined) return [];
    const values = facts.map((of) => `${of.name}: ${of[key]}`).join(', ');
    return [
      {
        benchmarks: [first.benchmark],
        message: `${task}: the bases have different ${taskFacts[key]} (${values}); so there is no mean of ${first.benchmark} over the bases`,
      },
    ];
  });
};

/** Matches columns and rows of means over languages: averaged over bases only if all have these languages. */
const overLanguages = /^(mean|all|.*\/all languages)(\/|$)/;

/** Returns means of figures that all bases have. Tables of tests and of models have no mean. */
const meanTable = (
  tables: readonly ScoreTable[],
  bases: readonly Scored[],
  apart: ReadonlySet<string>,
): ScoreTable[] => {
  const first = itemAt(tables, 0);
  const [layout] = first.id.split('/', 1);
  if (layout === 'models' || first.columns.some(({ kind }) => kind === 'text')) return [];
  const benchmarks = new Set(bases.flatMap(({ board }) => board.benchmarks));
  const own = benchmarkOf(first, benchmarks);
  if (apart.has(own)) return [];
  const languages = bases.map(({ board }) =>
    board.subjects.filter(({ benchmark }) => benchmark === own).map(({ language }) => language),
  );
  const isSame = languages.every((of) => String([...of].sort()) === String([...(languages[0] ?? [])].sort()));
  const isMean = (id: string): boolean => isSame || !overLanguages.test(id);
  const columns = first.columns.filter(
    ({ id }) => isMean(id) && tables.every((table) => table.columns.some((of) => of.id === id)),
  );
  const rows = first.rows.filter(
    ({ id }) => isMean(id) && !(layout === 'table-5' && apart.has(id.split('/', 1)[0] as string)),
  );
  const means = rows.map(
    ({ id, label }): TableRow => ({
      id,
      label,
      cells: columns.map((column) => meanCell(tables.map((table) => cellAt(table, id, column.id)))),
    }),
  );
  const filled = means.filter(({ cells }) => cells.some((cell) => cell !== null));
  if (filled.length === 0) return [];
  const names = bases.map(({ name }) => name);
  return [
    tableOf({
      id: first.id,
      base: meanName,
      title: `${first.title}, mean over the bases`,
      caption: `Mean over ${names.join(', ')}, each counted once.`,
      notes: [
        'Means are over figures that all bases have, with the best configuration of each base. Bases are not a sample of other bases, so means have no interval.',
        ...(isSame ? [] : ['The bases have different languages; means over languages are left out.']),
      ],
      columns,
      rows: filled,
    }),
  ];
};

const benchmarkOf = ({ id }: ScoreTable, benchmarks: ReadonlySet<string>): string => {
  const [layout = ''] = id.split('/', 1);
  const isOf = (benchmark: string): boolean => {
    const own = idOf(layout, benchmark);
    return own !== layout && (id === own || id.startsWith(`${own}/`));
  };
  return [...benchmarks].find(isOf) ?? 'MGSM';
};

const cellAt = ({ rows, columns }: ScoreTable, row: string, column: string): Cell | null =>
  rows.find(({ id }) => id === row)?.cells[columns.findIndex(({ id }) => id === column)] ?? null;

const meanCell = (cells: readonly (Cell | null)[]): Cell | null => {
  const values = cells.flatMap((cell) => (typeof cell?.value === 'number' ? cell.value : []));
  if (values.length < cells.length) return null;
  return {
    value: meanOf(values),
    digits: Math.max(...cells.map((cell) => cell?.digits ?? 0)),
    n: cells.length,
    source: 'computed',
  };
};
