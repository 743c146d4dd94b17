import { groupBy } from '../../../core/base/errors/lookup.js';
import type { Board, Subject } from '../boards/board.js';
import { idOf, meanCell, modelCell } from '../boards/cells.js';
import { type Curve, curvesOf, kindLabels } from '../boards/curves.js';
import { mixedModel } from '../boards/mixed-results.js';
import { summarise } from '../boards/summaries.js';
import { type Cell, type ScoreTable, type TableRow, tableOf } from '../reading/score-table.js';
import type { ScoredModel } from '../reading/scored-experiment.js';
import { type Contrast, differences, type Sides } from './differences.js';
import { benchmarkNotes } from './notes.js';

/**
 * Linearity of task vectors: scores of base + α·τ by α, for experts and pairs, and deviations from linearity.
 */
export const alpha = (board: Board): ScoreTable[] =>
  board.benchmarks.flatMap((benchmark) => {
    const subjects = [...board.experiment.tasks.keys()].flatMap(
      (language) => board.subject(benchmark, language) ?? [],
    );
    return [scores(board, benchmark, subjects), departures(board, benchmark, subjects)];
  });

const scores = (board: Board, benchmark: string, subjects: readonly Subject[]): ScoreTable => {
  const own = subjects.map((subject) => ({ subject, curves: curvesOf(board, subject) }));
  const alphas = alphasOf(own.flatMap(({ curves }) => curves));
  const rows = own.flatMap(({ subject, curves }) =>
    [...groupBy(curves, ({ kind }) => kind)].flatMap(([kind, of]): TableRow[] => {
      const label = `${subject.language}: ${kindLabels[kind]}`;
      const each = of.map((curve): TableRow => {
        const cells = alphas.map((value) => curveCell(board, subject, curve, value));
        return { id: `${subject.language}/${kind}/${curve.member}`, label: curve.member, cells };
      });
      if (each.length === 1) return each.map((row) => ({ ...row, label: `${label}, ${row.label}` }));
      const cells = alphas.map((value) => meanAt(board, subject, of, value));
      return [
        { id: `${subject.language}/${kind}`, label: `${label}, mean`, cells },
        ...each.map((row) => ({ ...row, label: `${label}, ${row.label}` })),
      ];
    }),
  );
  return tableOf({
    id: idOf('alpha', benchmark),
    title: `${benchmark}: scores along task vectors`,
    caption:
      'Scores of base + α·τ, for each expert alone, and for each pair with τ the sum of both task vectors. α = 0 is the base; α = 1 of an expert alone is the expert.',
    notes: [
      ...benchmarkNotes(board, benchmark, { languages: [] }),
      'Merges by task_arithmetic with equal weights and without normalisation. A mean is shown where all of its experts have scores.',
    ],
    columns: alphas.map((value) => ({ id: String(value), label: `α = ${value}`, kind: 'number' as const })),
    rows,
  });
};

const alphasOf = (curves: readonly Curve[]): number[] =>
  [...new Set(curves.flatMap(({ at }) => [...at.keys()]))].sort((a, b) => a - b);

const curveCell = (board: Board, subject: Subject, { at }: Curve, value: number): Cell | null => {
  const model = at.get(value);
  const [score] = model === undefined ? [] : board.scores([model], subject);
  return score === undefined ? null : modelCell(score, subject.scale);
};

const meanAt = (board: Board, subject: Subject, curves: readonly Curve[], value: number): Cell | null => {
  const models = modelsAt(curves, value);
  if (models === undefined) return null;
  const found = board.scores(models, subject);
  if (new Set(models).size === 1) return found[0] === undefined ? null : modelCell(found[0], subject.scale);
  const summary = summarise(found);
  return summary === undefined ? null : meanCell(summary, summary.estimate, subject.scale);
};

const modelsAt = (curves: readonly Curve[], value: number): readonly ScoredModel[] | undefined => {
  const models = curves.flatMap(({ at }) => at.get(value) ?? []);
  return models.length < curves.length ? undefined : models;
};

type Expected = (curve: Curve) => readonly (readonly [ScoredModel, number])[] | undefined;

const departures = (board: Board, benchmark: string, subjects: readonly Subject[]): ScoreTable => {
  const alphas = alphasOf(subjects.flatMap((subject) => curvesOf(board, subject)));
  const contrastOf = (
    kind: Curve['kind'],
    value: number,
    label: string,
    expected: (curves: readonly Curve[]) => Expected,
  ): Contrast => ({
    id: label === sumLabel ? `sum/${value}` : `${kind}/${value}`,
    label: `${kindLabels[kind]}, α = ${value}, minus ${label}`,
    sides: (subject) => {
      const curves = curvesOf(board, subject);
      const own = curves.filter((curve) => curve.kind === kind);
      return board.attempt(() => sidesOf(own, value, subject, expected(curves)));
    },
  });
  return differences(board, {
    of: idOf('alpha', benchmark),
    title: `${benchmark}: linearity of task vectors`,
    caption:
      'The score minus the score expected if gains over the base were linear: α times the gain at α = 1; for a pair, the sum of the gains of both experts alone. On the same problems, with 95 % interval and two-sided p.',
    subjects,
    contrasts: [
      ...(['task', 'language', 'both'] as const).flatMap((kind) =>
        alphas
          .filter((value) => value !== 0 && value !== 1)
          .map((value) => contrastOf(kind, value, `${value} of the gain at 1`, () => alongOne(value))),
      ),
      ...alphas
        .filter((value) => value !== 0)
        .map((value) => contrastOf('both', value, sumLabel, (curves) => sumOfBoth(curves, value))),
    ],
  });
};

const sumLabel = 'the sum of the gains of each alone';

const alongOne =
  (value: number): Expected =>
  ({ at }) =>
    weighted([at.get(0), 1 - value], [at.get(1), value]);

/** Terms of the score if gains add up: the sum of both experts' scores at this α, minus the base's. */
const sumOfBoth =
  (curves: readonly Curve[], value: number): Expected =>
  ({ task, language, at }) => {
    const alone = (kind: Curve['kind'], name: string | null) =>
      curves.find((curve) => curve.kind === kind && curve.member === name)?.at.get(value);
    return weighted([alone('task', task), 1], [alone('language', language), 1], [at.get(0), -1]);
  };

const weighted = (
  ...terms: readonly (readonly [ScoredModel | undefined, number])[]
): readonly (readonly [ScoredModel, number])[] | undefined => {
  const known = terms.flatMap(([model, weight]) => (model === undefined ? [] : [[model, weight] as const]));
  return known.length < terms.length ? undefined : known;
};

const sidesOf = (
  curves: readonly Curve[],
  value: number,
  subject: Subject,
  expected: Expected,
): Sides | undefined => {
  const pairs = curves.flatMap((curve) => {
    const model = curve.at.get(value);
    const terms = expected(curve);
    return model === undefined || terms === undefined
      ? []
      : [[model, mixedModel(model, terms, subject)] as const];
  });
  return pairs.length === 0 ? undefined : [pairs.map(([model]) => model), pairs.map(([, of]) => of)];
};
