import type { Formula } from '../operations/formula.js';
import type { MethodReport, ReportedPlan } from './framework/method.js';

type Rows = NonNullable<MethodReport['transplanted']>;

/** The rows of a plan's embeddings by where they come from; undefined for a plan of no transplant. */
export const transplantedRows = ({ shards }: ReportedPlan): Rows | undefined => {
  for (const { shape, expression } of shards.flatMap(({ tensors }) => tensors)) {
    const [rows = 0, ...columns] = shape;
    if (columns.length !== 1) continue;
    const inside = expression.kind === 'padRows' ? formulaIn(expression.source) : expression;
    if (inside?.kind !== 'assemble') continue;
    const [copied = 0, made = 0] = countsOf(inside);
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
      `${made} made (${plan.recipe['rows']})`,
      ...(zero === 0 ? [] : [`${zero} zero`]),
      ...(padding === 0 ? [] : [`${padding} of padding`]),
    ].join(', '),
  ];
};

/** Rows that come from the first operand, and from the others. */
const countsOf = ({ parts }: Extract<Formula<unknown>, { readonly kind: 'assemble' }>): number[] => {
  const counts = parts.map(({ source, rows }) => {
    // Rows in another order are gathered: those that no run has are 0.
    const runs = runsIn(source);
    return (runs ?? rows.map(([, count]) => [0, 0, count] as const)).reduce(
      (total, [, , count]) => total + count,
      0,
    );
  });
  const [first = 0, ...others] = counts;
  return [first, others.reduce((total, count) => total + count, 0)];
};

const runsIn = (operand: unknown): readonly (readonly [number, number, number])[] | undefined =>
  typeof operand === 'object' && operand !== null && 'runs' in operand
    ? (operand.runs as readonly (readonly [number, number, number])[])
    : undefined;

const formulaIn = (operand: unknown): Formula<unknown> | undefined =>
  typeof operand === 'object' && operand !== null && 'expression' in operand
    ? (operand.expression as Formula<unknown>)
    : undefined;
