import { itemAt } from '../../base/errors/lookup.js';
import type { ReducedTensor } from '../../engine/compute/measures/reduce.js';
import type { BaseConcern } from '../../methods/framework/declaration/method.js';
import type { Architecture } from '../../models/architecture/architecture.js';
import type { PlannedReduction } from '../../plan/reports/reduction.js';
import { pairIndex } from '../../tensor/pair-index.js';

/** Layers to sample, one matrix each. */
const sampledLayers = 4;

/**
 * Σ|Δ| / Σ|W_base| from which an expert was not fine-tuned from the base. Unrelated weights give at least 1,
 * and √2 if of equal size; fine-tuning gives thousandths to hundredths.
 */
const largestChange = 0.9;

/** Cosine of two task vectors from which at least nine tenths of the change is shared. */
const mostAlike = 0.95;

/** Marks the matrices that `sampleOf` needs, so that the pass over all weights measures them. */
export const withSample = (
  tensors: readonly PlannedReduction[],
  { layers, places }: Architecture,
): PlannedReduction[] => {
  const wanted = new Set(
    Array.from({ length: Math.min(layers, sampledLayers) }, (_, index) =>
      Math.floor(((index + 0.5) * layers) / Math.min(layers, sampledLayers)),
    ),
  );
  return tensors.map((tensor) => {
    const layer = places.get(tensor.name)?.layer ?? null;
    const isMatrix = tensor.shape[0] > 1 && tensor.shape[1] > 1;
    if (tensor.base === null || layer === null || !isMatrix || !wanted.delete(layer)) return tensor;
    return { ...tensor, isSampled: true };
  });
};

/** Sums over the finite sampled matrices. */
interface Sample {
  /** Σ|W_base|. */
  readonly base: number;
  /** Σ|Δ| of each expert. */
  readonly changes: readonly number[];
  /** Σ ΔᵢΔⱼ of each pair i ≤ j. */
  readonly products: readonly number[];
  readonly matrices: number;
}

/** Undefined if the tensor is not sampled or contains NaN or infinity. */
export const sampleOf = (
  { base, magnitudes, pairs }: ReducedTensor,
  { isSampled = false }: PlannedReduction,
): Sample | undefined => {
  if (!isSampled) return undefined;
  const changes = magnitudes.map((rows) => rows.reduce((total, row) => total + row, 0));
  const sample = {
    ...{ base, changes, matrices: 1 },
    products: Array.from({ length: pairs.length / 3 }, (_, pair) => itemAt(pairs, 3 * pair)),
  };
  return [base, ...changes, ...sample.products].every(Number.isFinite) ? sample : undefined;
};

const sumOf = (samples: readonly (Sample | undefined)[]): Sample | undefined =>
  samples.reduce((a, b) =>
    a === undefined || b === undefined
      ? (a ?? b)
      : {
          base: a.base + b.base,
          changes: a.changes.map((change, index) => change + itemAt(b.changes, index)),
          products: a.products.map((product, index) => product + itemAt(b.products, index)),
          matrices: a.matrices + b.matrices,
        },
  );

/**
 * Returns signs that an expert was not fine-tuned from the base. Another fine-tuning of the same base, or an
 * exchanged expert and base, look right too.
 */
export const baseConcerns = (
  samples: readonly (Sample | undefined)[],
  base: string,
  experts: readonly string[],
): readonly (readonly BaseConcern[])[] => {
  const sample = samples.length === 0 ? undefined : sumOf(samples);
  if (sample === undefined || sample.base === 0) return experts.map(() => []);
  const productOf = (a: number, b: number) =>
    itemAt(sample.products, pairIndex(Math.min(a, b), Math.max(a, b), experts.length));
  return experts.map((expert, index) => {
    const change = itemAt(sample.changes, index) / sample.base;
    if (change >= largestChange)
      return [
        {
          words:
            `${expert} differs from ${base} as models do that have nothing in common: the mean |change| is ${change.toFixed(2)} of the mean |weight| ` +
            `(${sample.matrices} matrices; fine-tuning changes far less); give the model that it was fine-tuned from`,
        },
      ];
    return experts.flatMap((other, at): BaseConcern[] => {
      const squares = productOf(index, index) * productOf(at, at);
      const cosine = squares > 0 ? productOf(index, at) / Math.sqrt(squares) : 0;
      if (at <= index || cosine < mostAlike) return [];
      return [
        {
          among: other,
          words:
            `${expert} and ${other} changed ${base} in nearly the same way (cosine ${cosine.toFixed(3)}): ` +
            `if they share a training that ${base} has not had, give the model after it as the base`,
        },
      ];
    });
  });
};
