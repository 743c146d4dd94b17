import * as z from 'zod';
import { itemAt } from '../../../base/errors/lookup.js';
import type { Rows } from '../../../tensor/rows.js';
import { difference, takeRows, undefinedMerge } from '../program/lowering.js';
import type { Operation } from '../program/operation.js';
import type { Value } from '../program/program.js';
import { gramOf, type RuleParameters, ruleNamed } from '../program/rules.js';
import { decimals } from '../program/words.js';

/**
 * origin + Σ cᵢ(xᵢ − origin), or Σ cᵢxᵢ without an origin. A rule (rules.ts) computes the coefficients cᵢ
 * from the Gram matrix of the vectors xᵢ − origin: once for the tensor, for each output row (vectors along
 * the last dimension), or for each input row (along dimension 0).
 */
export interface GramFormula<T> {
  readonly kind: 'gram';
  readonly rule: string;
  readonly origin: T | null;
  readonly sources: readonly T[];
  readonly of: 'tensor' | Rows;
  readonly parameters: RuleParameters;
}

const weightsIn = ({ weights }: RuleParameters, count: number): readonly number[] | undefined =>
  Array.isArray(weights) && weights.length === count ? (weights as readonly number[]) : undefined;

export const gram = {
  schema: z.strictObject({
    kind: z.literal('gram'),
    rule: z.string(),
    origin: z.unknown(),
    sources: z.array(z.unknown()).min(1),
    of: z.enum(['tensor', 'input', 'output']),
    parameters: z.record(z.string(), z.union([z.number(), z.boolean(), z.string(), z.array(z.number())])),
  }),
  map: <T, U>(formula: GramFormula<T>, to: (operand: T) => U): GramFormula<U> => ({
    ...formula,
    origin: formula.origin === null ? null : to(formula.origin),
    sources: formula.sources.map(to),
  }),
  statistics: <T>({ origin, sources }: GramFormula<T>) => [
    { what: 'Gram matrices', operands: [...(origin === null ? [] : [origin]), ...sources] },
  ],
  refusal: ({ rule, sources, parameters }, { name }) =>
    ruleNamed(rule, name).accepts(parameters, sources.length)
      ? undefined
      : `its parameters or its number of operands do not suit the rule ${rule}`,
  describe: ({ rule, sources, origin, parameters }) => {
    const { t } = parameters;
    const weights = weightsIn(parameters, sources.length);
    const named = sources.map((source, index) =>
      weights === undefined ? source : `${decimals(itemAt(weights, index))} ${source}`,
    );
    const at = typeof t === 'number' ? ` at t ${decimals(t)}` : '';
    return `${rule} of ${named.join(', ')}${origin === null ? '' : ` from ${origin}`}${at}`;
  },
  figures: ({ sources, parameters }) => {
    const { t } = parameters;
    const weights = weightsIn(parameters, sources.length) ?? [];
    return [
      ...(typeof t === 'number' ? [{ name: 't', of: null, value: t }] : []),
      ...weights.map((value, index) => ({ name: 'weight', of: itemAt(sources, index), value })),
    ];
  },
  lower: async ({ rule, origin, sources, of: wanted, parameters }, dtype, to) => {
    const { program, measurer, tensor } = to;
    const vectors = origin === null ? sources : sources.map((value) => difference(to, value, origin));
    // A one-dimensional tensor is one row.
    const of = program.shape.length < 2 ? 'tensor' : wanted;
    if (of !== 'tensor') takeRows(to, of === 'input' ? 'first' : 'last', rule);
    const measures = { tensor: 'gram', output: 'rowGram', input: 'columnGram' } as const;
    const sums = await measurer[measures[of]](program, vectors);

    const count = sources.length;
    const pairs = (count * (count + 1)) / 2;
    const weights: number[] = [];
    for (let at = 0; at < sums.length; at += pairs) {
      const coefficients = ruleNamed(rule, tensor).coefficients(gramOf(sums, at, count), parameters);
      if (typeof coefficients === 'string') throw undefinedMerge(tensor, rule, coefficients);
      if (coefficients.length !== count)
        throw undefinedMerge(
          tensor,
          rule,
          `the rule returned ${coefficients.length} coefficients for ${count} operands`,
        );
      // Writes the formula as a weighted sum of origin and the xᵢ, which rounds only once.
      if (origin !== null) weights.push(1 - coefficients.reduce((sum, c) => sum + c, 0));
      weights.push(...coefficients);
    }
    const values = origin === null ? sources : [origin, ...sources];
    return of === 'tensor'
      ? program.linear(values, weights, dtype)
      : program.rowLinear({ values, rows: of, weights, dtype });
  },
} satisfies Operation<GramFormula<unknown>, GramFormula<string>, GramFormula<Value>>;
