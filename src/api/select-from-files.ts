import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { argument, layerloomCommand } from '../core/base/errors/command-line.js';
import { LayerloomError, reasonOf } from '../core/base/errors/errors.js';
import { groupBy, itemAt, propertyAt } from '../core/base/errors/lookup.js';
import { optionName } from '../core/base/errors/option-name.js';
import { overlapsName, readCosines } from '../core/measure/analysis/advice/saved-analysis.js';
import { splitName } from '../core/models/address/name.js';
import { readSmallFile } from '../core/models/checkpoint/files/small-file.js';
import { mostCsvBytes, parseCsv } from '../core/texts/csv.js';
import { headlineMetric } from '../study/evaluation/data/task-facts.js';
import { declaredIn } from '../study/evaluation/declared.js';
import { type FoundResult, ResultFiles } from '../study/evaluation/result-files.js';
import { fewProblems, rangeText } from '../study/evaluation/selected-by.js';
import { type ExperimentRecord, readRecord } from '../study/experiment/record/experiment-record.js';
import { isHigherBetter } from '../study/scores/reading/metrics.js';
import {
  type ChosenBy,
  type Pool,
  type SelectionByRole,
  selectByRole,
} from '../study/search/select/select-by-role.js';
import type { SelectionDistance } from '../study/search/select/select-checkpoints.js';
import type { SelectionWishes } from '../study/search/select/selection-wishes.js';
import { type AnalyzeOptions, analyze } from './analyze.js';

/** Files and criteria of `selectFromFiles`. */
export interface SelectParameters extends SelectionWishes {
  /**
   * A CSV file with the columns `name`, optionally `role`, and at least one of scores (higher is better); or
   * the directory of an experiment whose references `layerloom evaluate` scored.
   */
  readonly scores: string;
  /**
   * Directory of `layerloom analyze`, whose `overlap.json` has the cosines of task vectors. Required for a
   * CSV file. By default an experiment's checkpoints are analysed, each role into `analysis/ROLE` of its
   * directory.
   */
  readonly analysis?: string | undefined;
  /** Number of checkpoints to choose for each role; default 3. */
  readonly count?: number | undefined;
  /** Weight of diversity relative to score; default 1. */
  readonly balance?: number | undefined;
  /** Roles to choose for: `task`, a language (its experts), a reference's role. Default: all, separately. */
  readonly role?: readonly string[] | undefined;
}

/**
 * Chooses checkpoints that balance score and diversity, like `selectCheckpoints`, but reads files. Task
 * experts and the experts of each language are chosen separately.
 *
 * @throws LayerloomError SELECTION_INVALID, with the name of an invalid file
 */
export const selectFromFiles = async (
  { scores, analysis, count, balance, role: roles, ...wishes }: SelectParameters,
  options: SelectOptions = {},
): Promise<SelectedExperts> => {
  const isDirectory = (await stat(scores).catch(() => undefined))?.isDirectory() === true;
  const given = analysis === undefined ? undefined : await distancesIn(analysis);
  const analysed = given && new Set(given.flatMap(({ pair }) => pair));
  const record = isDirectory ? await readRecord(scores) : undefined;
  const all =
    record === undefined ? await poolsIn(scores, analysed) : await poolsOf(resolve(scores), record, analysed);
  const unknown = roles?.find((role) => !all.some((pool) => pool.role === role));
  if (unknown !== undefined)
    throw invalidFile(
      scores,
      `has no candidates of the role ${unknown}`,
      all.some(({ role }) => role !== null)
        ? `choose among ${all.flatMap(({ role }) => role ?? []).join(', ')}`
        : `omit ${optionName('role')}, or add a column role`,
    );
  const pools = all.filter(({ role }) => roles === undefined || (role !== null && roles.includes(role)));
  const distances = given ?? (record && (await measured(resolve(scores), record, pools, options)));
  if (distances === undefined)
    throw new LayerloomError('USAGE', {
      reason: `${optionName('analysis')} is missing: ${scores} is a file without paths of checkpoints; ${howToAnalyze}`,
    });
  const selection = selectByRole(pools, { distances, count, balance, wishes });
  if (record === undefined) return { ...selection, warnings: [] };
  const measures = measuredBy(selection, record);
  return {
    ...selection,
    measured: measures,
    warnings: warningsOf(measures),
    ...modelsOf(selection, record),
  };
};

/** Options of `selectFromFiles` that do not change its choice. */
export type SelectOptions = Pick<AnalyzeOptions, 'threads' | 'signal' | 'onProgress'>;

/** Choice; for an experiment, also the paths of its models. */
export interface SelectedExperts extends SelectionByRole {
  /** Problems by task that decided the choice; absent for a CSV file. */
  readonly measured?: Readonly<Record<string, ChosenBy>>;
  readonly warnings: readonly string[];
  /** Input for `experiment init`; absent for a CSV file, and without a base. */
  readonly models?: {
    readonly base: string;
    readonly tasks: Readonly<Record<string, string>>;
    readonly languages: Readonly<Record<string, Readonly<Record<string, string>>>>;
  };
}

const measuredBy = (
  { weights, leftOut }: SelectionByRole,
  { references }: ExperimentRecord,
): Record<string, ChosenBy> => {
  const tasks = new Set([
    ...weights.flatMap(({ task, weight }) => (weight > 0 ? [task] : [])),
    ...leftOut.map(({ benchmark }) => benchmark),
  ]);
  return Object.fromEntries(
    [...tasks].flatMap((task) => {
      const scores = references.flatMap(({ scores: own }) => own?.[task] ?? []);
      if (scores.length === 0) return [];
      const rows = [...new Set(scores.map((score) => rangeText(score.rows)))];
      return [
        [
          task,
          {
            rows: rows.length === 1 ? String(rows[0]) : 'all',
            problems: Math.min(...scores.map(({ n }) => n)),
          },
        ],
      ];
    }),
  );
};

const warningsOf = (measures: Readonly<Record<string, ChosenBy>>): string[] =>
  Object.entries(measures).flatMap(([task, { problems }]) =>
    problems < fewProblems
      ? [
          `${task} has ${problems} problems: too few to tell which checkpoint is better, so chance decides; score at least ${fewProblems}`,
        ]
      : [],
  );

const modelsOf = (
  { chosen }: SelectionByRole,
  { base, references }: ExperimentRecord,
): Pick<SelectedExperts, 'models'> => {
  if (base === null) return {};
  const names = new Set(chosen.map(({ name }) => name));
  const taken = references.filter(({ name }) => names.has(name));
  const pathsOf = (some: readonly Reference[]) =>
    Object.fromEntries(some.map(({ name, model }) => [name, splitName(model).rest]));
  const languages = new Set(
    taken.flatMap(({ role, expertIn = [] }) => (role === 'language' ? expertIn : [])),
  );
  return {
    models: {
      base: splitName(base).rest,
      tasks: pathsOf(taken.filter(({ role }) => role === 'task')),
      languages: Object.fromEntries(
        [...languages].map((language) => [
          language,
          pathsOf(taken.filter(({ role, expertIn }) => role === 'language' && expertIn?.includes(language))),
        ]),
      ),
    },
  };
};

const measured = async (
  directory: string,
  { base, references }: ExperimentRecord,
  pools: readonly Pool[],
  options: SelectOptions,
): Promise<SelectionDistance[]> => {
  if (base === null)
    throw invalidFile(
      directory,
      'has no base to compare checkpoints with',
      `name it in the experiment's file under base`,
    );
  const distances: SelectionDistance[] = [];
  for (const { role, candidates } of pools) {
    if (candidates.length < 2) continue;
    const names = new Set(candidates.map(({ name }) => name));
    const experts = references.flatMap(({ name, model }) => (names.has(name) ? [model] : []));
    const out = join(directory, 'analysis', role ?? 'all');
    await analyze({ base: splitName(base).rest, experts }, { ...options, out });
    distances.push(...(await distancesIn(out)));
  }
  return distances;
};

const invalidFile = (file: string, reason: string, remedy: string): LayerloomError =>
  new LayerloomError('SELECTION_INVALID', { reason: `${file} ${reason}`, remedy });

const textOf = async (file: string, remedy: string): Promise<string> => {
  try {
    return (
      await readSmallFile(file, { most: mostCsvBytes, what: 'a table of scores', pipes: true })
    ).toString();
  } catch (error) {
    throw invalidFile(file, `cannot be read: ${reasonOf(error)}`, remedy);
  }
};

const howToAnalyze = `make it with ${layerloomCommand('analyze', '--base', 'BASE', 'CHECKPOINT...', '-o', 'DIR')}`;

const distancesIn = async (analysis: string): Promise<SelectionDistance[]> => {
  const overlaps = await readCosines(analysis, ({ file, reason, isRead }) =>
    invalidFile(file, isRead ? reason : `cannot be read: ${reason}`, howToAnalyze),
  );
  return overlaps.map(({ experts: pair, whole: { cosine } }): SelectionDistance => {
    if (cosine === null)
      throw invalidFile(
        join(analysis, overlapsName),
        `has no cosine of ${pair.join(' and ')}`,
        'remove the one that equals the base',
      );
    return { pair, distance: 1 - cosine };
  });
};

const howToScore =
  'give a CSV file with the columns name and score, or the directory of an evaluated experiment';

const noScores = ['name', 'role'];

const poolsIn = async (file: string, analysed: ReadonlySet<string> | undefined): Promise<Pool[]> => {
  const table = parseCsv(await textOf(file, howToScore), { skipsEmpty: true });
  const wrong = (row: number, reason: string) => invalidFile(file, `line ${row + 1}: ${reason}`, howToScore);
  if (table.fault !== undefined) throw wrong(table.fault.row, table.fault.reason);
  const [header = [], ...data] = table.rows;
  const places = new Map<string, number>();
  for (const [place, field] of header.entries()) {
    const name = field.trim();
    if (places.has(name))
      throw invalidFile(file, `has two columns ${name}`, 'give each column a different name');
    places.set(name, place);
  }
  const tasks = [...places.keys()].filter((field) => !noScores.includes(field));
  if (!places.has('name') || tasks.length === 0)
    throw invalidFile(file, 'lacks a column name or a column of scores', howToScore);
  const rows = data.map((cells, index) => {
    if (cells.length !== header.length)
      throw wrong(index + 1, `${cells.length} values for ${header.length} columns`);
    const cell = (field: string): string | undefined => cells[places.get(field) ?? -1];
    const name = String(cell('name')).trim();
    return {
      name,
      role: cell('role')?.trim() || null,
      scores: Object.fromEntries(tasks.map((task) => [task, numberOf(cell(task), file, name)] as const)),
    };
  });
  const base = rows.find(({ name }) => name === 'base' && !analysed?.has(name));
  const byRole = groupBy(
    rows.filter((row) => row !== base),
    ({ role }) => role,
  );
  if (byRole.size === 0) throw invalidFile(file, 'has no scores of checkpoints', howToScore);
  return [...byRole].map(([role, of]) => ({
    role,
    tasks,
    base: base?.scores,
    isTurned: () => false,
    candidates: of.map(({ name, scores }) => ({ name, scores })),
  }));
};

const numberOf = (text: string | undefined, file: string, name: string | undefined): number => {
  const value = Number(text);
  if (text === undefined || text.trim() === '' || !Number.isFinite(value))
    throw invalidFile(file, `has ${JSON.stringify(text ?? '')} as a score of ${name}`, 'give a number');
  return value;
};

/**
 * Returns an experiment's scored and analysed references by role; experts of each language are a separate
 * role. Tasks are those that all candidates of a role have.
 */
const poolsOf = async (
  directory: string,
  { references, evaluate }: ExperimentRecord,
  analysed: ReadonlySet<string> | undefined,
): Promise<Pool[]> => {
  const declared = declaredIn(evaluate);
  const languages = new Set(references.flatMap(({ expertIn = [] }) => expertIn));
  const reported = new Set(
    Object.entries(evaluate?.tasks ?? {}).flatMap(([language, tasks]) =>
      languages.has(language) ? ([tasks].flat()[0] ?? []) : [],
    ),
  );
  const results = await new ResultFiles(directory).list();
  const scored = references.filter(({ scores }) => scores !== undefined);
  const base = scored.find(({ role }) => role === 'base');
  const candidates = scored.filter(({ name, role }) => analysed?.has(name) ?? role !== 'base');
  if (candidates.length === 0)
    throw invalidFile(
      directory,
      `has no scores of ${analysed === undefined ? 'checkpoints' : 'analysed references'}`,
      howToScore,
    );
  const isTurned = (task: string): boolean => {
    const found = results.find(({ result }) => result.task === task);
    const metric = found && headlineMetric(task, Object.keys(found.result.metrics), declared);
    return (
      metric !== undefined && !isHigherBetter({ ...(found as FoundResult).result, problems: [] }, metric)
    );
  };
  const scoreOf = ({ name, scores = {} }: Reference, task: string): number => {
    const { metrics } = propertyAt(scores, task);
    const metric = headlineMetric(task, Object.keys(metrics), declared);
    const value = metric === undefined ? undefined : metrics[metric];
    if (typeof value !== 'number')
      throw invalidFile(
        directory,
        `has no figure of ${name} in ${task}`,
        `run ${layerloomCommand('evaluate', argument(directory))} again`,
      );
    return isTurned(task) ? -value : value;
  };
  return [...groupBy(candidates, poolOf)].map(([role, of]) => {
    const tasks = Object.keys(itemAt(of, 0).scores ?? {}).filter((task) =>
      of.every(({ scores = {} }) => Object.hasOwn(scores, task)),
    );
    if (tasks.length === 0)
      throw invalidFile(
        directory,
        `has no task in which all analysed references of ${role} have scores`,
        howToScore,
      );
    const scoresOf = (reference: Reference) =>
      Object.fromEntries(
        tasks.flatMap((task) =>
          Object.hasOwn(reference.scores ?? {}, task) ? [[task, scoreOf(reference, task)] as const] : [],
        ),
      );
    return {
      role,
      tasks,
      base: base && scoresOf(base),
      isTurned,
      declared,
      reported,
      candidates: of.map((reference) => ({ name: reference.name, scores: scoresOf(reference) })),
    };
  });
};

type Reference = ExperimentRecord['references'][number];

const poolOf = ({ role, expertIn }: Reference): string =>
  role === 'language' ? (expertIn ?? [role]).join('+') : [role, ...(expertIn ?? [])].join(' ');
