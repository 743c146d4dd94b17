import { readFile, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import Papa from 'papaparse';
import { isObject } from '../checkpoint/json.js';
import { LayerloomError, reasonOf } from '../errors.js';
import { ResultFiles } from '../evaluation/result-files.js';
import { headlineMetric } from '../evaluation/task-facts.js';
import { readRecord } from '../experiment/experiment-record.js';
import { propertyAt } from '../lookup.js';
import { isHigherBetter } from '../scores/metrics.js';
import {
  type Selection,
  type SelectionCandidate,
  type SelectionDistance,
  selectCheckpoints,
} from '../search/select-checkpoints.js';

/** The files and the numbers that `selectFromFiles` chooses by. */
export interface SelectParameters {
  /**
   * A CSV file with the columns `name` and one or more of scores (more being better), or the directory of an
   * experiment whose references `layerloom evaluate` has scored.
   */
  readonly scores: string;
  /** The directory of `layerloom analyze`, whose `overlap.json` has the cosines of task vectors. */
  readonly analysis: string;
  /** Default 3. */
  readonly count?: number | undefined;
  /** Weight of diversity against score. Default 1. */
  readonly balance?: number | undefined;
}

/**
 * Chooses checkpoints that balance score and diversity, as `selectCheckpoints`, from files.
 *
 * @throws LayerloomError SELECTION_INVALID, with the file where one is wrong
 */
export const selectFromFiles = async ({
  scores,
  analysis,
  count,
  balance,
}: SelectParameters): Promise<Selection> => {
  const distances = await distancesIn(analysis);
  const isDirectory = (await stat(scores).catch(() => undefined))?.isDirectory() === true;
  const candidates = isDirectory
    ? await candidatesOf(resolve(scores), new Set(distances.flatMap(({ pair }) => pair)))
    : await candidatesIn(scores);
  return selectCheckpoints({ candidates, distances, count, balance });
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

const howToAnalyze = 'make it with layerloom analyze --base BASE CHECKPOINT... -o DIR';

const distancesIn = async (analysis: string): Promise<SelectionDistance[]> => {
  const file = join(analysis, 'overlap.json');
  const text = await textOf(file, howToAnalyze);
  let overlaps: unknown;
  try {
    overlaps = JSON.parse(text);
  } catch (error) {
    throw invalid(file, `is not JSON: ${reasonOf(error)}`, howToAnalyze);
  }
  if (!Array.isArray(overlaps)) throw invalid(file, 'is not a list of overlaps', howToAnalyze);
  return overlaps.map((overlap: unknown): SelectionDistance => {
    const { experts, whole } = isObject(overlap) ? overlap : { experts: undefined, whole: undefined };
    const [a, b] = Array.isArray(experts) ? experts : [];
    if (typeof a !== 'string' || typeof b !== 'string' || !isObject(whole))
      throw invalid(file, 'has an overlap without experts', howToAnalyze);
    const { cosine } = whole;
    if (typeof cosine !== 'number')
      throw invalid(file, `has no cosine of ${a} and ${b}`, 'leave out the one that equals the base');
    return { pair: [a, b], distance: 1 - cosine };
  });
};

const howToScore =
  'give a CSV file with the columns name and score, or the directory of an evaluated experiment';

const candidatesIn = async (file: string): Promise<SelectionCandidate[]> => {
  const text = (await textOf(file, howToScore)).replace(/^\ufeff/, '');
  const { data, meta, errors } = Papa.parse<Record<string, string>>(text, {
    header: true,
    skipEmptyLines: true,
    transformHeader: (header) => header.trim(),
  });
  const fault = errors.find(({ code }) => code !== 'UndetectableDelimiter');
  if (fault !== undefined) throw invalid(file, `line ${(fault.row ?? 0) + 2}: ${fault.message}`, howToScore);
  const fields = meta.fields ?? [];
  if (!fields.includes('name') || fields.length < 2)
    throw invalid(file, 'lacks a column name or a column of scores', howToScore);
  return data.map((row) => ({
    name: String(row['name']).trim(),
    scores: Object.fromEntries(
      fields
        .filter((field) => field !== 'name')
        .map((field) => [field, numberOf(row[field], file, row['name'])]),
    ),
  }));
};

const numberOf = (text: string | undefined, file: string, name: string | undefined): number => {
  const value = Number(text);
  if (text === undefined || text.trim() === '' || !Number.isFinite(value))
    throw invalid(file, `has ${JSON.stringify(text ?? '')} as a score of ${name}`, 'give a number');
  return value;
};

/** Returns the scored references of an experiment that were analysed, in the tasks that all of them have. */
const candidatesOf = async (
  directory: string,
  analysed: ReadonlySet<string>,
): Promise<SelectionCandidate[]> => {
  const { references } = await readRecord(directory);
  const scored = references.filter(({ name, scores }) => analysed.has(name) && scores !== undefined);
  const tasks = Object.keys(scored[0]?.scores ?? {}).filter((task) =>
    scored.every(({ scores = {} }) => Object.hasOwn(scores, task)),
  );
  if (tasks.length === 0)
    throw invalid(directory, 'has no task in which all analysed references have scores', howToScore);
  const results = await new ResultFiles(directory).list();
  return scored.map(({ name, scores = {} }) => ({
    name,
    scores: Object.fromEntries(
      tasks.map((task) => {
        const { metrics, result: file } = propertyAt(scores, task);
        const metric = headlineMetric(task, Object.keys(metrics));
        const value = metric === undefined ? undefined : metrics[metric];
        const found = results.find((result) => file.endsWith(result.file));
        if (metric === undefined || typeof value !== 'number' || found === undefined)
          throw invalid(directory, `has no figure of ${name} in ${task}`, 'run layerloom evaluate again');
        return [task, isHigherBetter({ ...found.result, problems: [] }, metric) ? value : -value];
      }),
    ),
  }));
};
