import { LayerloomError } from '../../core/base/errors/errors.js';
import { invalidParameter } from '../../core/base/errors/invalid-parameter.js';
import { itemAt, ownValue } from '../../core/base/errors/lookup.js';
import { optionName } from '../../core/base/errors/option-name.js';
import type { EvaluationResult } from '../evaluation/result.js';
import { Board, type Subject } from '../scores/boards/board.js';
import { numberCell, textCell } from '../scores/boards/cells.js';
import { type Judged, judgedIn } from '../scores/boards/judged.js';
import { scoreOf } from '../scores/reading/model-score.js';
import { type ScoreTable, type TableColumn, type TableRow, tableOf } from '../scores/reading/score-table.js';
import type { ScoredExperiment, ScoredModel } from '../scores/reading/scored-experiment.js';
import { Changes, correctionsOf, rules, Taking } from './changes.js';
import { readDropped } from './corrections.js';
import { sensitivityOf } from './sensitivity.js';

/** Options of `rescore`. */
export interface RescoreOptions {
  /** Score answers that another filter of the harness extracts, as `strict-match` or `flexible-extract`. */
  filter?: string | undefined;
  /** Extract answers by a regular expression: the first group that matched, else the whole match. */
  rule?: string | undefined;
  /** Which match of `rule` counts; default `last`. */
  match?: 'first' | 'last' | undefined;
  /** Files of corrected answers: FILE for all tasks, or TASK=FILE. */
  targets?: readonly string[] | undefined;
  /** File of problems to leave out, one per line: a row, a task and row, or a hash. */
  drop?: string | undefined;
  /** Also leave out each problem in turn, and list the problems that decide a verdict. */
  sensitivity?: boolean | undefined;
}

/** Tables of scores before and after. */
export interface Rescored {
  readonly tables: readonly ScoreTable[];
  readonly warnings: readonly string[];
}

/**
 * Scores stored answers again without a model. Compares scores and verdicts with those before.
 *
 * @throws USAGE without a change, INVALID_PARAMETER, RESCORE_REFUSED, READ_FAILED, DATA_INVALID
 */
export const rescoreStudy = async (
  experiment: ScoredExperiment,
  options: RescoreOptions,
): Promise<Rescored> => {
  const { filter, rule, match = 'last', targets = [], drop, sensitivity = false } = options;
  if (filter !== undefined && rule !== undefined)
    throw invalidParameter('rule', rule, `either it or ${optionName('filter')}`);
  if (
    filter === undefined &&
    rule === undefined &&
    targets.length === 0 &&
    drop === undefined &&
    !sensitivity
  )
    throw new LayerloomError('USAGE', {
      reason: `name what to change: ${optionName('filter')}, ${optionName('rule')}, ${optionName('targets')}, ${optionName('drop')} or ${optionName('sensitivity')}`,
    });
  const before = new Board(experiment);
  const changes = new Changes(
    experiment,
    await correctionsOf(targets),
    drop === undefined ? [] : await readDropped(drop),
  );
  const expression = rule ?? (filter === undefined ? undefined : ownValue(rules, filter));
  await using taking = new Taking(expression, match);
  const metrics = new Map(before.subjects.map((subject) => [subject.task, subject.metric]));
  const made = new Map<EvaluationResult, EvaluationResult>();
  const models: ScoredModel[] = [];
  for (const model of before.experiment.models) {
    const results = new Map<string, EvaluationResult>();
    for (const [task, result] of model.results) {
      const metric = metrics.get(task);
      const again =
        metric === undefined
          ? result
          : (made.get(result) ?? (await changes.apply(result, metric, { filter, rule, taking })));
      made.set(result, again);
      results.set(task, again);
    }
    models.push({ ...model, results });
  }
  changes.check();
  const after = new Board({ ...experiment, models }, { metric: before.metric });
  return {
    tables: [
      scoresTable(before, after),
      ...verdictsTable(before, after),
      ...(sensitivity ? [sensitivityTable(after)] : []),
    ],
    warnings: [...experiment.warnings, ...changes.warnings, ...after.takeRefusals()],
  };
};

const text = (id: string, label = id): TableColumn => ({ id, label, kind: 'text' });
const number = (id: string, label = id): TableColumn => ({ id, label, kind: 'number' });

const scoresTable = (before: Board, after: Board): ScoreTable =>
  tableOf({
    id: 'rescored',
    title: 'Scores before and after',
    caption: 'Each model in each task, and the number of problems whose score changed.',
    columns: [
      text('task'),
      number('before'),
      number('after'),
      number('change'),
      number('problems'),
      number('changed'),
    ],
    rows: before.subjects.flatMap((subject) =>
      before.experiment.models.flatMap((model, at): TableRow[] => {
        const again = itemAt(after.experiment.models, at);
        const [old, now] = [model, again].map((one) => scoreOf(one, subject.task, subject.metric));
        if (old === undefined || now === undefined) return [];
        const { factor, digits } = subject.scale;
        return [
          {
            id: `${subject.language}/${subject.task}/${model.name}`,
            label: model.name,
            cells: [
              textCell(subject.task),
              numberCell(old.value * factor, digits),
              numberCell(now.value * factor, digits),
              numberCell((now.value - old.value) * factor, digits),
              numberCell(now.n, 0),
              numberCell(changedIn(old.result, now.result, subject), 0),
            ],
          },
        ];
      }),
    ),
  });

const changedIn = (before: EvaluationResult, after: EvaluationResult, { metric }: Subject): number => {
  const scores = new Map(
    before.problems.map(({ id, document, scores: own }) => [`${document} ${id}`, own[metric]]),
  );
  return after.problems.filter(
    ({ id, document, scores: own }) => scores.get(`${document} ${id}`) !== own[metric],
  ).length;
};

const verdictsIn = (board: Board): ReadonlyMap<string, Judged> =>
  new Map(
    board.subjects.flatMap((subject) => judgedIn(board, subject).map((one) => [nameOf(one), one] as const)),
  );

const nameOf = ({ subject, a, b }: Judged): string => `${subject.language}/${subject.task}/${a.id}/${b.id}`;

const verdictsTable = (before: Board, after: Board): ScoreTable[] => {
  const [old, now] = [verdictsIn(before), verdictsIn(after)];
  if (old.size === 0) return [];
  const changed = [...old].flatMap(([id, one]): TableRow[] => {
    const again = now.get(id);
    if (again === undefined || again.conclusion.words === one.conclusion.words) return [];
    const { factor, digits } = one.subject.scale;
    return [
      {
        id,
        label: `${one.subject.language}: ${one.a.label} minus ${one.b.label}`,
        cells: [
          textCell(one.subject.task),
          numberCell(one.result.difference * factor, digits),
          textCell(one.conclusion.words),
          numberCell(again.result.difference * factor, digits),
          textCell(again.conclusion.words),
        ],
      },
    ];
  });
  return [
    tableOf({
      id: 'verdicts',
      title: `Verdicts that changed: ${changed.length} of ${old.size}`,
      caption: 'Comparisons as in the table “comparisons”, with the adjusted p.',
      columns: [
        text('task'),
        number('before'),
        text('verdict-before', 'verdict'),
        number('after'),
        text('verdict-after', 'verdict'),
      ],
      rows: changed,
    }),
  ];
};

const mostShown = 12;

const sensitivityTable = (board: Board): ScoreTable => {
  const all = sensitivityOf(board);
  return tableOf({
    id: 'sensitivity',
    title: 'Verdicts that one problem decides',
    caption: 'Leaving out any single problem listed here, and keeping all others, would change the verdict.',
    columns: [text('task'), text('verdict'), number('deciding', 'deciding problems'), text('rows')],
    rows: all.map(({ comparison, deciding }) => ({
      id: nameOf(comparison),
      label: `${comparison.subject.language}: ${comparison.a.label} minus ${comparison.b.label}`,
      cells: [
        textCell(comparison.subject.task),
        textCell(comparison.conclusion.words),
        deciding === null ? null : numberCell(deciding.length, 0),
        textCell(
          deciding === null
            ? 'not tried: chosen among configurations'
            : deciding.slice(0, mostShown).join(' ') + (deciding.length > mostShown ? ' …' : ''),
        ),
      ],
    })),
  });
};
