import type { MethodReport, ReportedPlan } from '../framework/declaration/method.js';
import type { Formula } from '../operations/formula.js';

type Rows = NonNullable<MethodReport['transplanted']>;

/** Counts a plan's transplanted rows by source; undefined without any. */
export const transplantedRows = ({ shards }: ReportedPlan): Rows | undefined => {
  for (const { shape, expression } of shards.flatMap(({ tensors }) => tensors)) {
    const [rows = 0, ...columns] = shape;
    if (columns.length !== 1) continue;
    const inside = expression.kind === 'padRows' ? expression.source : expression;
    const counts = countsIn(inside);
    if (counts === undefined) continue;
    const [copied = 0, made = 0] = counts;
    const padding = expression.kind === 'padRows' ? rows - expression.from : 0;
    return { rows, copied, made, zero: rows - padding - copied - made, padding };
  }
  return undefined;
};

export const transplantNotes = (plan: ReportedPlan): string[] => {
  const found = transplantedRows(plan);
  if (found === undefined) return [];
  const { copied, made, zero, padding } = found;
  return [
    [
      `rows of the embeddings: ${copied} copied`,
      ...(made === 0 && zero > 0 ? [] : [`${made} made (${plan.recipe['rows']})`]),
      ...(zero === 0 ? [] : [`${zero} zero`]),
      ...(padding === 0 ? [] : [`${padding} of padding`]),
    ].join(', '),
  ];
};

/** Returns the numbers of rows from the first and from other operands; undefined unless rows are assembled. */
const countsIn = (inside: unknown): readonly number[] | undefined => {
  const formula = formulaIn(inside);
  if (formula?.kind === 'assemble')
    return countsOf(formula.parts.map(({ source, rows }) => runsIn(source) ?? rows));
  const runs = runsIn(formula?.kind === 'copy' ? formula.source : inside);
  return runs && countsOf([runs]);
};

/** Counts the rows that runs copy, in whatever order; rows that no run covers are 0. */
const countsOf = (parts: readonly (readonly (readonly number[])[])[]): number[] => {
  const [first = 0, ...others] = parts.map((runs) =>
    runs.reduce((total, run) => total + (run.at(-1) as number), 0),
  );
  return [first, others.reduce((total, count) => total + count, 0)];
};

const runsIn = (operand: unknown): readonly (readonly [number, number, number])[] | undefined =>
  typeof operand === 'object' && operand !== null && 'runs' in operand
    ? (operand.runs as readonly (readonly [number, number, number])[])
    : undefined;

const formulaIn = (of: unknown): Formula<unknown> | undefined => {
  if (typeof of !== 'object' || of === null) return undefined;
  if ('kind' in of) return of as Formula<unknown>;
  return 'expression' in of ? (of.expression as Formula<unknown>) : undefined;
};
