import { argument, layerloomCommand } from '../../../core/base/errors/command-line.js';
import { version } from '../../../core/base/files/version.js';
import type { EvaluationResult } from '../../evaluation/result.js';
import type { Fact, ReportData } from '../components/data/data.js';
import type { ReportSections } from './report-sections.js';
import type { TaskData } from './result-data.js';

const distinct = (values: readonly string[]): string => [...new Set(values)].join('; ');

const drawnText = ({ sampling, samples = [] }: EvaluationResult): string =>
  sampling === null ? 'greedy' : `${Math.max(1, samples.length)} to each problem, sampled with ${sampling}`;

const resultFacts = (results: readonly EvaluationResult[]): Fact[] => {
  if (results.length === 0) return [];
  const started = results.map((result) => result.started).sort();
  const rows = results.map(({ rows }) => (rows === null ? 'all' : `${rows[0]} to ${rows[1] - 1}`));
  return [
    { label: 'Harness', value: distinct(results.map(({ harness }) => `${harness.name} ${harness.version}`)) },
    { label: 'Back end', value: distinct(results.map(({ backend }) => backend)) },
    { label: 'Shots', value: distinct(results.map(({ fewshot }) => String(fewshot))) },
    ...(results.every(({ maxTokens }) => maxTokens === null)
      ? []
      : [
          {
            label: 'Longest answer',
            value: distinct(
              results.map(({ maxTokens }) => (maxTokens === null ? "the task's own" : `${maxTokens} tokens`)),
            ),
          },
        ]),
    ...(results.every(({ sampling }) => sampling === null)
      ? []
      : [{ label: 'Answers', value: distinct(results.map(drawnText)) }]),
    {
      label: 'Seeds',
      value: distinct(results.flatMap(({ seed, samples }) => samples?.map((one) => one.seed) ?? seed)),
    },
    { label: 'Rows', value: distinct(rows) },
    {
      label: 'Evaluated',
      value: distinct([started[0]?.slice(0, 16) ?? '', started.at(-1)?.slice(0, 16) ?? '']).replace(
        '; ',
        ' to ',
      ),
    },
    {
      label: 'Results',
      value: `${results.length} (${results.filter(({ source }) => source === 'imported').length} imported)`,
    },
  ];
};

export const provenanceOf = (
  { board: { experiment }, record, samples }: ReportSections,
  tasks: readonly TaskData[],
  modelsWithTexts: number,
): Pick<ReportData, 'provenance' | 'inputs' | 'commands' | 'omitted' | 'warnings'> => {
  const results = experiment.models.flatMap((model) => [...model.results.values()]);
  const directory = experiment.directory ?? 'DIR';
  const identities = experiment.models.flatMap((model): Fact[] => {
    const [result] = model.results.values();
    return model.role === 'merge' || result === undefined
      ? []
      : [{ label: `${model.name} (${model.role})`, value: `${model.path ?? ''} ${result.weights}`.trim() }];
  });
  const unscored = record?.references.map(({ name, model }) => ({ label: name, value: model })) ?? [];
  const left = tasks.filter(({ page }) => page.kept.length > 0 && page.kept.length < page.n);
  return {
    provenance: [
      { label: 'layerloom', value: version },
      ...(record === null
        ? []
        : [
            { label: 'Merged by', value: `layerloom ${record.layerloom}` },
            { label: 'State', value: record.state },
            { label: 'Base', value: record.base ?? 'none' },
          ]),
      { label: 'Directory', value: directory },
      ...resultFacts(results),
      ...tasks.map(({ page }) => ({
        label: `Task ${page.name}`,
        value: `version ${page.version}, ${page.metric ?? 'no metric'}, n = ${page.n}`,
      })),
    ],
    inputs: identities.length > 0 ? identities : unscored,
    omitted: [
      ...left.map(
        ({ page }) =>
          `Texts of ${page.n - page.kept.length} of the ${page.n} problems of ${page.name}: for these, the page shows only which answers are right.`,
      ),
      ...(results.some(({ problems }) => problems.length > 0) && modelsWithTexts < experiment.models.length
        ? [
            `Answers of ${experiment.models.length - modelsWithTexts} models: the page has answers of the references, the merges with default settings, and the best and the worst merge of each language.`,
          ]
        : []),
      ...(results.length > 0
        ? [
            `All answers are in ${directory}/evaluations/; --samples N (here ${samples}) includes more of them.`,
          ]
        : []),
    ],
    commands: [
      ...(record === null ? [] : ['# EXPERIMENT.yaml is the text below']),
      layerloomCommand('batch', 'EXPERIMENT.yaml', '-o', argument(directory)),
      ...(results.length > 0 ? [layerloomCommand('evaluate', argument(directory))] : []),
      layerloomCommand('report', argument(directory), '-o', 'report.html'),
      ...(record === null ? [] : ['', record.experiment.trimEnd()]),
    ],
    warnings: experiment.warnings,
  };
};
