import { readFile, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import Papa from 'papaparse';
import { layerloomCommand } from '../base/command-line.js';
import { LayerloomError, reasonOf } from '../base/errors.js';
import { groupBy, itemAt, propertyAt } from '../base/lookup.js';
import { type FoundResult, ResultFiles } from '../evaluation/result-files.js';
import { headlineMetric } from '../evaluation/task-facts.js';
import { type ExperimentRecord, readRecord } from '../experiment/record/experiment-record.js';
import { overlapsName, readCosines } from '../measure/analysis/saved-analysis.js';
import { isHigherBetter } from '../scores/metrics.js';
import { type Pool, type SelectionByRole, selectByRole } from '../search/select-by-role.js';
import type { SelectionDistance } from '../search/select-checkpoints.js';
import type { SelectionWishes } from '../search/selection-wishes.js';

/** The files and the numbers that `selectFromFiles` chooses by. */
export interface SelectParameters extends SelectionWishes {
  /**
   * A CSV file with the columns `name`, optionally `role`, and one or more of scores (more being better), or the directory
   * of an experiment whose references `layerloom evaluate` has scored.
   */
  readonly scores: string;
  /** The directory of `layerloom analyze`, whose `overlap.json` has the cosines of task vectors. */
  readonly analysis: string;
  /** Of each role. Default 3. */
  readonly count?: number | undefined;
  /** Weight of diversity against score. Default 1. */
  readonly balance?: number | undefined;
  /** Roles to choose of: `task`, a language (its experts), a reference's role. Default: all, each by itself. */
  readonly role?: readonly string[] | undefined;
}

/**
 * Chooses checkpoints that balance score and diversity, as `selectCheckpoints`, from files. Task experts and the experts of
 * each language are chosen among themselves.
 *
 * @throws LayerloomError SELECTION_INVALID, with the file where one is wrong
 */
export const selectFromFiles = async ({
  scores,
  analysis,
  count,
  balance,
  role: roles,
  ...wishes
}: SelectParameters): Promise<SelectionByRole> => {
  const distances = await distancesIn(analysis);
  const analysed = new Set(distances.flatMap(({ pair }) => pair));
  const isDirectory = (await stat(scores).catch(() => undefined))?.isDirectory() === true;
  const all = isDirectory ? await poolsOf(resolve(scores), analysed) : await poolsIn(scores, analysed);
  const unknown = roles?.find((role) => !all.some((pool) => pool.role === role));
  if (unknown !== undefined)
    throw invalid(
      scores,
      `has no candidates of the role ${unknown}`,
      `choose of ${all.map(({ role }) => role ?? 'none').join(', ')}`,
    );
  const pools = all.filter(({ role }) => roles === undefined || (role !== null && roles.includes(role)));
  return selectByRole(pools, { distances, count, balance, wishes });
};

const invalid = (file: string, reason: string, remedy: string): LayerloomError =>
  new LayerloomError('SELECTION_INVALID', { reason: `${file} ${reason}`, remedy });

const textOf = async (file: string, remedy: string): Promise<string> => {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw invalid(file, `cannot be read: ${reasonOf(error)}`, remedy);
  }
};

const howToAnalyze = `make it with ${layerloomCommand('analyze', '--base', 'BASE', 'CHECKPOINT...', '-o', 'DIR')}`;

const distancesIn = async (analysis: string): Promise<SelectionDistance[]> => {
  const overlaps = await readCosines(analysis, ({ file, reason, isRead }) =>
    invalid(file, isRead ? reason : `cannot be read: ${reason}`, howToAnalyze),
  );
  return overlaps.map(({ experts: pair, whole: { cosine } }): SelectionDistance => {
    if (cosine === null)
      throw invalid(
        join(analysis, overlapsName),
        `has no cosine of ${pair.join(' and ')}`,
        'leave out the one that equals the base',
      );
    return { pair, distance: 1 - cosine };
  });
};

const howToScore =
  'give a CSV file with the columns name and score, or the directory of an evaluated experiment';

/** Columns of a table of scores that are no scores. */
const noScores = ['name', 'role'];

const poolsIn = async (file: string, analysed: ReadonlySet<string>): Promise<Pool[]> => {
  const text = (await textOf(file, howToScore)).replace(/^\ufeff/, '');
  const { data, meta, errors } = Papa.parse<Record<string, string>>(text, {
    header: true,
    skipEmptyLines: true,
    transformHeader: (header) => header.trim(),
  });
  const fault = errors.find(({ code }) => code !== 'UndetectableDelimiter');
  if (fault !== undefined) throw invalid(file, `line ${(fault.row ?? 0) + 2}: ${fault.message}`, howToScore);
  const fields = meta.fields ?? [];
  const tasks = fields.filter((field) => !noScores.includes(field));
  if (!fields.includes('name') || tasks.length === 0)
    throw invalid(file, 'lacks a column name or a column of scores', howToScore);
  const rows = data.map((row) => ({
    name: String(row['name']).trim(),
    role: row['role']?.trim() || null,
    scores: Object.fromEntries(tasks.map((task) => [task, numberOf(row[task], file, row['name'])] as const)),
  }));
  const base = rows.find(({ name }) => name === 'base' && !analysed.has(name));
  const byRole = groupBy(
    rows.filter((row) => row !== base),
    ({ role }) => role,
  );
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
    throw invalid(file, `has ${JSON.stringify(text ?? '')} as a score of ${name}`, 'give a number');
  return value;
};

/**
 * Returns the scored references of an experiment that were analysed by role, the experts of each language by themselves, in
 * the tasks that all of a role have.
 */
const poolsOf = async (directory: string, analysed: ReadonlySet<string>): Promise<Pool[]> => {
  const { references } = await readRecord(directory);
  const results = await new ResultFiles(directory).list();
  const scored = references.filter(({ scores }) => scores !== undefined);
  const base = scored.find(({ role }) => role === 'base');
  const candidates = scored.filter(({ name }) => analysed.has(name));
  if (candidates.length === 0) throw invalid(directory, 'has no scores of analysed references', howToScore);
  const isTurned = (task: string): boolean => {
    const found = results.find(({ result }) => result.task === task);
    const metric = found && headlineMetric(task, Object.keys(found.result.metrics));
    return (
      metric !== undefined && !isHigherBetter({ ...(found as FoundResult).result, problems: [] }, metric)
    );
  };
  const scoreOf = ({ name, scores = {} }: Reference, task: string): number => {
    const { metrics } = propertyAt(scores, task);
    const metric = headlineMetric(task, Object.keys(metrics));
    const value = metric === undefined ? undefined : metrics[metric];
    if (typeof value !== 'number')
      throw invalid(
        directory,
        `has no figure of ${name} in ${task}`,
        `run ${layerloomCommand('evaluate', directory)} again`,
      );
    return isTurned(task) ? -value : value;
  };
  return [...groupBy(candidates, poolOf)].map(([role, of]) => {
    const tasks = Object.keys(itemAt(of, 0).scores ?? {}).filter((task) =>
      of.every(({ scores = {} }) => Object.hasOwn(scores, task)),
    );
    if (tasks.length === 0)
      throw invalid(
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
      candidates: of.map((reference) => ({ name: reference.name, scores: scoresOf(reference) })),
    };
  });
};

type Reference = ExperimentRecord['references'][number];

/** Returns the role that a reference is chosen by: of language experts their language, of others their role. */
const poolOf = ({ role, expertIn }: Reference): string =>
  role === 'language' ? (expertIn ?? [role]).join('+') : [role, ...(expertIn ?? [])].join(' ');
