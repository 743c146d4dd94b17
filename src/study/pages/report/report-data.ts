import { join, relative, resolve } from 'node:path';
import { LayerloomError } from '../../../core/base/errors/errors.js';
import { version } from '../../../core/base/files/version.js';
import { recordName } from '../../batch/planning/record-names.js';
import type { MergeRecord } from '../../experiment/record/experiment-record.js';
import { scoreOf } from '../../scores/reading/model-score.js';
import type { ScoredExperiment, ScoredModel } from '../../scores/reading/scored-experiment.js';
import type { PageModel, ReportData } from '../components/data/data.js';
import { gridsOf } from './grid-data.js';
import { headlineOf } from './headline.js';
import { bandsOf, type Drawn } from './layer-bands.js';
import { provenanceOf } from './provenance.js';
import { regressionsOf } from './regressions.js';
import type { ReportSections } from './report-sections.js';
import { resultsOf, type TaskData, tasksOf } from './result-data.js';
import { StringPool } from './string-pool.js';

const costLabels = [
  { key: 'bytesWritten', label: 'Bytes written', unit: 'bytes' },
  { key: 'bytesRead', label: 'Bytes read', unit: 'bytes' },
  { key: 'seconds', label: 'Seconds', unit: 'seconds' },
  { key: 'swapped', label: 'Layers not of the task expert', unit: 'count' },
] as const;

const costOf = (record: MergeRecord | undefined, model: PageModel['bands']): PageModel['cost'] => {
  const swapped = model
    .filter(({ from }) => from !== 'task')
    .reduce((total, { first, last }) => total + last - first + 1, 0);
  return {
    ...(record === undefined
      ? {}
      : { bytesWritten: record.bytesWritten, bytesRead: record.bytesRead, seconds: record.seconds }),
    ...(model.length === 0 ? {} : { swapped }),
  };
};

/**
 * Returns the models whose answers the page contains: references, merges with default settings, and each
 * language's best and worst merge.
 */
export const modelsWithTexts = (
  { models, languages }: Pick<ScoredExperiment, 'models' | 'languages'>,
  tasks: readonly TaskData[],
): ReadonlySet<ScoredModel> => {
  const kept = new Set(models.filter(({ role, variant }) => role !== 'merge' || variant === 'default'));
  for (const language of languages) {
    const task = tasks.find(({ page }) => page.languages.includes(language));
    if (task === undefined) continue;
    const { name, metric, higherIsBetter } = task.page;
    const ranked = models
      .flatMap((model) => {
        const value = metric === null ? undefined : scoreOf(model, name, metric)?.value;
        return model.role !== 'merge' || model.language !== language || value === undefined
          ? []
          : [{ model, value: higherIsBetter ? value : -value }];
      })
      .sort((a, b) => b.value - a.value);
    for (const end of [ranked.at(0), ranked.at(-1)]) if (end !== undefined) kept.add(end.model);
  }
  return kept;
};

const pathIn = (directory: string | null, path: string | null): string | null =>
  directory === null || path === null ? path : relative(directory, resolve(directory, path));

/** @throws EXPERIMENT_INVALID for an invalid recorded configuration */
const bandsIn = (directory: string | null, model: ScoredModel, layers: number | undefined): Drawn => {
  try {
    return bandsOf(model, layers);
  } catch (cause) {
    if (!(cause instanceof LayerloomError)) throw cause;
    const file = join(directory ?? '', recordName);
    throw new LayerloomError(
      'EXPERIMENT_INVALID',
      { file, reason: `${model.name}: ${cause.message}` },
      { cause },
    );
  }
};

export const reportData = (parts: ReportSections): ReportData => {
  const { board, record, tables, analysis, layers, samples, title, written } = parts;
  const { experiment } = board;
  const pool = new StringPool();
  const tasks = tasksOf(board, samples, pool);
  const withTexts = modelsWithTexts(experiment, tasks);
  const records = new Map(record?.merges.map((merge) => [merge.name, merge]));
  const models = experiment.models.map((model): PageModel => {
    const { results, ...facts } = model;
    const found = records.get(model.name);
    const { bands, outside } = bandsIn(experiment.directory, model, layers);
    return {
      ...facts,
      path: model.role === 'merge' ? pathIn(experiment.directory, model.path) : model.path,
      bands,
      outside,
      state: found?.state ?? null,
      error: found?.error?.message ?? null,
      cost: model.role === 'merge' ? costOf(found, bands) : {},
      results: resultsOf(model, tasks, withTexts.has(model), pool),
    };
  });
  const page = {
    layerloom: version,
    title,
    written,
    languages: experiment.languages,
    ...headlineOf(board, tasks),
    headline: tables.length === 0 ? null : 0,
    tables,
    tasks: tasks.map(({ page }) => page),
    models,
    grids: gridsOf(board, tasks),
    costs: costLabels.filter(({ key }) => new Set(models.flatMap(({ cost }) => cost[key] ?? [])).size > 1),
    regressions: regressionsOf(board, tasks),
    analysis,
    ...provenanceOf(parts, tasks, withTexts.size),
    strings: pool.strings,
  };
  return { ...page, warnings: [...page.warnings, ...board.takeRefusals()] };
};
