import * as z from 'zod';
import { itemAt } from '../../../base/errors/lookup.js';
import type { Election } from '../../../native/job.js';
import type { BoundToFind } from '../program/bound-to-find.js';
import { difference, type Lowering, takeRows } from '../program/lowering.js';
import { boundsOf } from '../program/magnitude-bounds.js';
import type { Operation } from '../program/operation.js';
import type { Value } from '../program/program.js';
import { decimals, describeSum } from '../program/words.js';
import { kindOf, type Sparsifier, sparsifierSchema } from './sparsifiers.js';

/** How a task vector is pruned before it is weighted. */
export interface Pruning {
  readonly sparsifier: Sparsifier;
  /** `norm` restores the task vector's L1 norm; `density` divides by the density; null does neither. */
  readonly rescale: 'norm' | 'density' | null;
}

/**
 * base + scale·(Σ weightᵢδᵢ) / divisor, where δᵢ is the pruned task vector sourceᵢ − base. With an
 * election, only changes with the elected sign are summed: the sign of Σ δᵢ (weighted or not), or `tie` if
 * the sum is 0.
 */
export interface Consensus<T> {
  readonly kind: 'consensus';
  readonly base: T;
  readonly terms: readonly {
    readonly source: T;
    readonly weight: number;
    readonly pruning: Pruning | null;
  }[];
  readonly election: Election | null;
  /** The divisor: 1, or the weights or the number of the summed changes. A divisor of 0 becomes 1. */
  readonly divisor: 'none' | 'weights' | 'count';
  readonly scale: number;
}

/** Maximum number of task vectors, as in native code. */
export const mostTaskVectors = 64;

export const tooManyTaskVectors = `it combines more than ${mostTaskVectors} task vectors`;

/** Words for `tie`. If changes sum to 0, most programs elect +; TIES' authors elect the majority's sign. */
const elected = { positive: ' of one sign', negative: ' of one sign, − where they cancel' };

export const consensus = {
  schema: z.strictObject({
    kind: z.literal('consensus'),
    base: z.unknown(),
    terms: z
      .array(
        z.strictObject({
          source: z.unknown(),
          weight: z.number(),
          pruning: z
            .strictObject({
              sparsifier: sparsifierSchema,
              rescale: z.enum(['norm', 'density']).nullable(),
            })
            .nullable(),
        }),
      )
      .min(1),
    election: z.strictObject({ weighted: z.boolean(), tie: z.enum(['positive', 'negative']) }).nullable(),
    divisor: z.enum(['none', 'weights', 'count']),
    scale: z.number(),
  }),
  map: <T, U>(formula: Consensus<T>, to: (operand: T) => U): Consensus<U> => ({
    ...formula,
    base: to(formula.base),
    terms: formula.terms.map((term) => ({ ...term, source: to(term.source) })),
  }),
  draws: ({ terms }) =>
    terms.some(({ pruning }) => pruning !== null && kindOf(pruning.sparsifier).draws?.(pruning.sparsifier)),
  statistics: <T>({ base, terms }: Consensus<T>) => {
    const of = (what: string, isMeasured: (pruning: Pruning) => boolean) => {
      const sources = terms.flatMap(({ source, pruning }) =>
        pruning !== null && isMeasured(pruning) ? [source] : [],
      );
      return sources.length === 0 ? [] : [{ what, operands: [base, ...sources] }];
    };
    return [
      ...of('thresholds', ({ sparsifier }) => kindOf(sparsifier).cuts !== undefined),
      ...of('norms', ({ rescale }) => rescale === 'norm'),
    ];
  },
  rowsTogether: ({ terms }) =>
    terms.some(({ pruning }) => pruning !== null && kindOf(pruning.sparsifier).needsRows === true) ? 1 : 0,
  refusal: ({ terms }) => (terms.length > mostTaskVectors ? tooManyTaskVectors : undefined),
  describe: ({ base, terms, election, scale }) => {
    const changes = terms.map(({ source, weight, pruning }): readonly [number, string] => {
      const kept = pruning === null ? '' : ` (${kindOf(pruning.sparsifier).describe(pruning.sparsifier)})`;
      return [weight, `Δ${source}${kept}`];
    });
    const factor = scale === 1 ? '' : `${decimals(scale)} · `;
    const signs = election === null ? '' : elected[election.tie];
    return `${base} + ${factor}[${describeSum(changes)}]${signs}`;
  },
  figures: ({ terms, scale }) => [
    ...terms.flatMap(({ source, weight, pruning }) => [
      { name: 'weight', of: source, value: weight },
      {
        name: 'density',
        of: source,
        value: pruning !== null && 'density' in pruning.sparsifier ? pruning.sparsifier.density : 1,
      },
    ]),
    { name: 'lambda', of: null, value: scale },
  ],
  lower: async ({ base, terms, election, divisor, scale }, dtype, to) => {
    if (terms.some(({ pruning }) => pruning !== null && kindOf(pruning.sparsifier).needsRows === true))
      takeRows(to, 'last', 'della');
    const changes = await prune(
      terms.map(({ source, pruning }) => ({ change: difference(to, source, base), pruning })),
      to,
    );
    const weights = terms.map(({ weight }) => weight);
    return to.program.vote({ base, changes, weights, election, divisor, least: 0, scale, dtype });
  },
} satisfies Operation<Consensus<unknown>, Consensus<string>, Consensus<Value>>;

/** True if bounds may be guessed; restored norms depend on the exact choice of elements. */
export const mayGuessBounds = ({ terms }: Pick<Consensus<unknown>, 'terms'>): boolean => {
  const hasBounds = ({ sparsifier }: Pruning) => kindOf(sparsifier).cuts !== undefined;
  return (
    terms.some(({ pruning }) => pruning !== null) &&
    terms.every(({ pruning }) => pruning === null || (hasBounds(pruning) && pruning.rescale !== 'norm'))
  );
};

/** Task vectors with a smaller norm are not rescaled, as in mergekit. */
const leastNorm = 1e-7;

/** Finds the bounds of all task vectors together, and sums all norms in one pass. */
const prune = async (
  all: readonly { readonly change: Value; readonly pruning: Pruning | null }[],
  to: Lowering,
): Promise<Value[]> => {
  const { program, measurer } = to;
  const cuts = all.map(({ change: value, pruning }, index) =>
    pruning === null
      ? []
      : (kindOf(pruning.sparsifier).cuts?.(pruning.sparsifier, program.elements) ?? []).map(
          (cut, place): BoundToFind => ({ ...cut, value, tallied: 2 * index + place }),
        ),
  );
  const found = [...(await boundsOf(to, cuts.flat(), to.guessed))];
  const pruned = all.map(({ change, pruning }, index) => {
    const bounds = found.splice(0, itemAt(cuts, index).length);
    const at = (scale: number): Value =>
      pruning === null
        ? change
        : kindOf(pruning.sparsifier).append(program, change, pruning.sparsifier, bounds, scale);
    return { change, pruning, at, value: at(1) };
  });

  const restored = pruned.filter(({ pruning }) => pruning?.rescale === 'norm');
  const norms =
    restored.length === 0
      ? new Float64Array()
      : await measurer.magnitudes(program, [
          ...restored.map(({ change }) => change),
          ...restored.map(({ value }) => value),
        ]);
  return pruned.map((one) => {
    const { pruning, at, value } = one;
    if (pruning?.rescale === 'density' && 'density' in pruning.sparsifier)
      return at(1 / pruning.sparsifier.density);
    if (pruning?.rescale !== 'norm') return value;
    const index = restored.indexOf(one);
    const [before, after] = [itemAt(norms, index), itemAt(norms, restored.length + index)];
    return before >= leastNorm && after >= leastNorm ? at(before / after) : value;
  });
};
