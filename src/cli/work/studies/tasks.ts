import { checkTaskData, type TaskDataReport } from '../../../api/task-data.js';
import { LayerloomError } from '../../../core/base/errors/errors.js';
import { groupBy } from '../../../core/base/errors/lookup.js';
import { counted } from '../../../core/base/format.js';
import { plainTable } from '../../../core/base/table.js';
import { benchmarks, tasksOf } from '../../../study/evaluation/data/benchmarks.js';
import type { OutputOptions } from '../../options/output.js';
import { show } from '../running/show.js';

interface ListedBenchmark {
  readonly name: string;
  readonly title: string;
  readonly measures: string;
  readonly tasks: Readonly<Record<string, readonly string[]>>;
}

export const tasksListCommand = (options: OutputOptions): void =>
  show({ benchmarks: listed() }, options, describeList);

const listed = (): ListedBenchmark[] =>
  Object.entries(benchmarks).map(([name, benchmark]) => ({
    name,
    title: benchmark.title,
    measures: benchmark.measures,
    tasks: Object.fromEntries(
      benchmark.languages.flatMap((language): [string, readonly string[]][] => {
        const tasks = tasksOf(benchmark, language);
        return tasks.length === 0 ? [] : [[language.name, tasks]];
      }),
    ),
  }));

const describeList = ({ benchmarks: all }: { readonly benchmarks: readonly ListedBenchmark[] }): string =>
  all
    .map(({ name, title, measures, tasks }) =>
      [
        `${name}: ${title}, ${measures}`,
        plainTable(Object.entries(tasks).map(([language, of]) => [language, of.join(', ')])),
      ].join('\n'),
    )
    .join('\n\n');

/** @throws DATA_INVALID after the report, for the first task with wrong files */
export const tasksDataCommand = async ({
  directory,
  ...options
}: OutputOptions & { readonly directory: string }): Promise<void> => {
  const report = await checkTaskData(directory);
  show(report, options, describeData);
  const refused = report.tasks.filter(({ state }) => state === 'invalid');
  if (refused.length > 0)
    throw new LayerloomError('TASK_DATA_INVALID', {
      directory: report.directory,
      tasks: refused.map(({ task }) => task),
    });
};

const describeData = ({ directory, tasks, absent }: TaskDataReport): string => {
  const isAbsent = (benchmark: string) => absent.some((one) => one.benchmark === benchmark);
  const rows = tasks
    .filter(({ benchmark, state }) => state !== 'missing' && !isAbsent(benchmark))
    .map(({ benchmark, language, task, state, problems }) => [
      ...[benchmark, language, task],
      state === 'there' ? counted(problems, 'problem') : state,
    ]);
  const missing = groupBy(
    tasks.filter(({ benchmark, state }) => state === 'missing' && !isAbsent(benchmark)),
    ({ benchmark }) => benchmark,
  );
  return [
    directory,
    ...(rows.length === 0 ? [] : [plainTable(rows)]),
    ...tasks.flatMap(({ state, reason }) => (state === 'invalid' ? [`  ${reason}`] : [])),
    ...[...missing].map(
      ([benchmark, of]) =>
        `not there of ${benchmark}: ${[...new Set(of.map(({ language }) => language))].join(', ')}`,
    ),
    ...absent.flatMap(({ benchmark, files, rows: needed }) => [
      `nothing of ${benchmark}: it needs ${files}`,
      `  rows: ${needed}`,
    ]),
  ].join('\n');
};
