import { dirname } from 'node:path';
import { argument, layerloomCommand } from '../../../core/base/errors/command-line.js';
import { groupBy, itemAt } from '../../../core/base/errors/lookup.js';
import { counted, formatBytes, formatSeconds } from '../../../core/base/format.js';
import { plainTable } from '../../../core/base/table.js';
import type { PlannedDownload } from '../../../core/plan/plan.js';
import type { MergeOutcome } from '../../../study/batch/merge-tracker.js';
import type { DiskNeed } from '../../../study/batch/planning/check-batch.js';
import type { BatchCost } from '../../../study/batch/planning/cost.js';
import type { Stage } from '../../../study/batch/planning/stages.js';
import type { ExperimentMerge } from '../../../study/experiment/file/expand.js';
import type { CostInPlace } from '../../../study/experiment/in-place/cost-in-place.js';
import type { MeasuredMerging } from '../../../study/experiment/measured-merging.js';
import type { ScoringTime } from '../../../study/experiment/scoring/plan-evaluation.js';
import { downloadRows } from '../download-text.js';
import { scoringTimeLine } from './evaluation-text.js';
import { inPlaceRows } from './in-place-text.js';

const times = (a: number, b: number): string => (b > 0 ? ` (${(a / b).toPrecision(3)} times less)` : '');

export const describeCost = (
  cost: BatchCost,
  disk: DiskNeed,
  download?: PlannedDownload,
  inPlace?: CostInPlace,
): string =>
  plainTable([
    ['merges', String(cost.merges)],
    ...inPlaceRows(inPlace),
    ['without sharing', formatBytes(cost.bytesPlain)],
    [
      'distinct',
      `${formatBytes(cost.bytesDistinct)} in ${counted(cost.shards, 'shard')}${times(cost.bytesPlain, cost.bytesDistinct)}`,
    ],
    ...(cost.bytesVerbatim > 0 ? [['linked from inputs', formatBytes(cost.bytesVerbatim)]] : []),
    ['to write', `${formatBytes(cost.bytesToWrite)} in ${counted(cost.shardsToWrite, 'shard')}`],
    [
      'to read',
      `${formatBytes(cost.bytesToRead)}${cost.bytesReadAgain > 0 ? `, ${formatBytes(cost.bytesReadAgain)} of it twice, to finish the first merges early` : ''}`,
    ],
    ...(cost.bytesToMeasure > 0
      ? [
          [
            'to measure',
            `${formatBytes(cost.bytesToMeasure)} more to read, for statistics of whole models and tensors`,
          ],
        ]
      : []),
    ...downloadRows(download),
    [
      'on the disk',
      `${formatBytes(disk.needed)} needed${disk.free === null ? '' : `, ${formatBytes(disk.free)} free`}`,
    ],
  ]);

export const describeTimes = (
  merging: { readonly seconds: number; readonly by: MeasuredMerging } | null,
  scoring: ScoringTime | null,
  out: string,
): string =>
  [
    merging === null
      ? 'time to merge: unknown until a first run of merges in this directory or store'
      : `time to merge: ${formatSeconds(merging.seconds)}, by ${formatBytes(merging.by.bytesWritten)} written and ${formatBytes(merging.by.bytesRead)} read in ${formatSeconds(merging.by.seconds)} (${merging.by.directory})`,
    ...(scoring === null || scoring.tasks.length === 0
      ? []
      : [
          scoringTimeLine(
            scoring,
            `\`${layerloomCommand('evaluate', argument(out), '--limit', '20', '--only', 'NAME')}\` of an existing model`,
          ),
        ]),
  ].join('\n');

const mostStages = 12;

export const describeStages = (stages: readonly Stage<ExperimentMerge>[]): string => {
  let written = 0;
  const rows = stages.map(({ merges, bytesToWrite }) => {
    written += bytesToWrite;
    return [
      `after ${formatBytes(written)}`,
      counted(merges.length, 'merge'),
      namesOf(merges.map(({ merge }) => merge)),
    ];
  });
  const shown = rows.slice(0, mostStages);
  const hidden = stages.slice(mostStages).reduce((total, { merges }) => total + merges.length, 0);
  const all =
    hidden === 0
      ? shown
      : [...shown, [`after ${formatBytes(written)}`, counted(hidden, 'merge'), 'the others']];
  return `finished in this order, by bytes written:\n${plainTable(all, 3)}`;
};

const mostNamed = 4;

const listed = (names: readonly string[], kind: string): string =>
  names.length <= mostNamed ? names.join(', ') : `${names.length} ${kind}`;

const namesOf = (merges: readonly ExperimentMerge[]): string => {
  const entriesIn = (some: readonly ExperimentMerge[]) =>
    listed([...new Set(some.map(({ entryName }) => entryName))], 'entries');
  const languages = [...groupBy(merges, ({ language }) => language)];
  const alike = groupBy(languages, ([, some]) => entriesIn(some));
  return [...alike]
    .map(
      ([entries, of]) =>
        `${listed(
          of.map(([language]) => language),
          'languages',
        )}: ${entries}`,
    )
    .join('; ');
};

const mostListed = 20;

/** A long list has a line per method and folder, with the number of merges. */
export const describeMerges = (merges: readonly ExperimentMerge[], all: boolean): string => {
  const pair = ({ task, languageExpert }: ExperimentMerge) =>
    [task, languageExpert].filter((name) => name !== null).join(' + ');
  if (all || merges.length <= mostListed)
    return plainTable(merges.map((merge) => [merge.name, merge.method, pair(merge)]));
  const folder = ({ path, method }: ExperimentMerge) =>
    `${method}\n${path.split('/').slice(0, -1).join('/')}`;
  const entries = [...groupBy(merges, folder).values()];
  const rows =
    entries.length <= 2 * mostListed
      ? entries.map((some) => {
          const first = itemAt(some, 0);
          const name = some.length === 1 ? first.name : `${dirname(first.path)}/…`;
          return [name, first.method, pair(first), `${some.length}`];
        })
      : [
          ...groupBy(merges, ({ language, method, entry }) => `${language}\n${method}\n${entry}`).values(),
        ].map((some) => {
          const first = itemAt(some, 0);
          const pairs = new Set(some.map(pair)).size;
          return [
            first.language,
            first.method,
            pairs === 1 ? pair(first) : counted(pairs, 'pair'),
            `${some.length}`,
          ];
        });
  return `${plainTable(rows, 3)}\n  (one line per folder, with the number of merges; -v lists each merge)`;
};

export const failuresOf = (merges: readonly MergeOutcome[]): { merge: string; message: string }[] =>
  merges.flatMap(({ name, error }) => (error === undefined ? [] : [{ merge: name, message: error.message }]));

export const describeRefused = (refused: readonly { merge: string; message: string }[]): string =>
  [...groupBy(refused, ({ message }) => message)]
    .map(
      ([message, of]) =>
        `refused: ${of.length > mostNamed ? `${of.length} merges, such as ${itemAt(of, 0).merge}` : of.map(({ merge }) => merge).join(', ')}: ${message}`,
    )
    .join('\n');

export const describeOutcomes = (
  merges: readonly MergeOutcome[],
  {
    bytesRead,
    bytesWritten,
    seconds,
    out,
    pending = 0,
  }: { bytesRead: number; bytesWritten: number; seconds: number; out: string; pending?: number },
): string => {
  const done = merges.filter(({ state }) => state === 'done').length;
  const isNothingLeft = done === merges.length && merges.every(({ isKept }) => isKept === true);
  return [
    out,
    isNothingLeft
      ? merges.length === 0
        ? pending > 0
          ? `${counted(pending, 'merge')} recorded, none written`
          : 'no merges: the experiment only scores models'
        : `nothing left to do: all ${merges.length} merges exist`
      : `${done} of ${counted(merges.length, 'merge')}, ${formatBytes(bytesWritten)} written and ${formatBytes(bytesRead)} read in ${formatSeconds(seconds)}`,
    ...(pending === 0 || merges.length === 0 ? [] : [`  ${counted(pending, 'merge')} recorded, not written`]),
  ].join('\n');
};
