import { argument, layerloomCommand } from '../../../../core/base/errors/command-line.js';
import { evaluationsName, type FoundResult } from '../../../evaluation/result-files.js';
import type { ExperimentRecord, LeftResults, Scored } from '../../record/experiment-record.js';

type Scores = Pick<ExperimentRecord, 'merges' | 'references' | 'left'>;

const entriesOf = ({ merges, references }: Scores) =>
  new Map<string, Scored & { readonly weights?: string }>(
    [...references, ...merges].map((entry) => [entry.name, entry]),
  );

/**
 * Returns results that counted for a model in the earlier record, do not count now, and were not replaced.
 *
 * @param weightsOf present weights of each entry, if known
 * @param found results in the directory
 */
export const leftResults = (
  record: Scores,
  former: Scores | undefined,
  weightsOf: ReadonlyMap<string, string>,
  found: readonly FoundResult[],
): LeftResults[] => {
  if (former === undefined) return [];
  const entries = entriesOf(record);
  const used = new Set(
    [...entries.values()].flatMap(({ scores = {} }) => Object.values(scores).map(({ result }) => result)),
  );
  const there = new Map(found.map(({ file, result }) => [`${evaluationsName}/${file}`, result]));
  const counted = [
    ...(former.left ?? []).flatMap(({ model, results }) =>
      Object.entries(results).map(([task, file]) => ({ model, task, file })),
    ),
    ...[...entriesOf(former)].flatMap(([model, { scores = {} }]) =>
      Object.entries(scores).map(([task, { result: file }]) => ({ model, task, file })),
    ),
  ];
  const left = new Map<string, { reason: LeftResults['reason']; results: Record<string, string> }>();
  for (const { model, task, file } of counted) {
    const result = there.get(file);
    const entry = entries.get(model);
    if (result === undefined || used.has(file) || entry?.scores?.[task] !== undefined) continue;
    const reason = entry === undefined ? 'gone' : reasonOf(weightsOf.get(model), result.weights);
    const of = left.get(model) ?? { reason, results: {} };
    left.set(model, { reason, results: { ...of.results, [task]: file } });
  }
  return [...left].map(([model, of]) => ({ model, ...of }));
};

const reasonOf = (now: string | undefined, scored: string): LeftResults['reason'] => {
  if (now === undefined) return 'unmade';
  return now === scored ? 'settings' : 'weights';
};

const words: Readonly<Record<LeftResults['reason'], readonly [why: string, remedy: string]>> = {
  weights: [
    'its files, or those that it was merged from, have changed since it was scored',
    'restore the former files, or give their path in the experiment',
  ],
  settings: [
    'the experiment now has other few-shot examples, another seed, sampling or token limit',
    'restore these settings',
  ],
  unmade: ['it cannot be merged now', 'correct its entry'],
  gone: ['it is no longer in the experiment', 'add it to the experiment again'],
};

const mostNamed = 3;

/**
 * Describes results that no longer count, one line per reason. @param before record whose results were
 * already reported
 */
export const describeLeft = (
  { left = [], merges }: Pick<ExperimentRecord, 'left' | 'merges'>,
  directory: string,
  before: Pick<ExperimentRecord, 'left'> = {},
): string[] => {
  const told = new Set((before.left ?? []).flatMap(({ results }) => Object.values(results)));
  return (Object.keys(words) as LeftResults['reason'][]).flatMap((reason) => {
    const models = left
      .filter((each) => each.reason === reason)
      .map(({ model, results }) => ({
        model,
        count: Object.values(results).filter((file) => !told.has(file)).length,
      }))
      .filter(({ count }) => count > 0);
    if (models.length === 0) return [];
    const count = models.reduce((sum, each) => sum + each.count, 0);
    const names = models.slice(0, mostNamed).map(({ model }) => model);
    const others = models.length - names.length;
    const [why, remedy] = words[reason];
    // Models that were scored without an experiment have no experiment file.
    const again =
      merges.length === 0
        ? remedy
        : `${remedy} and run \`${layerloomCommand('batch', 'EXPERIMENT.yaml', '-o', argument(directory), '--resume')}\``;
    return [
      `${count} ${count === 1 ? 'result no longer counts' : 'results no longer count'}, of ${names.join(', ')}${others > 0 ? ` and ${others} others` : ''}: ${why}. ${count === 1 ? 'It stays' : 'They stay'} in ${directory}/${evaluationsName}; to count again, ${again}`,
    ];
  });
};
