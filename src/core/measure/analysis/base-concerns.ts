import { LayerloomError } from '../../base/errors/errors.js';
import { groupBy, itemAt } from '../../base/errors/lookup.js';
import { counted, formatPercent } from '../../base/format.js';
import {
  type ReducedTensor,
  type ReduceOptions,
  runReductions,
} from '../../engine/compute/measures/reduce.js';
import { methods } from '../../methods/index.js';
import type { Recipe } from '../../methods/recipe/recipe.js';
import { inSpelling } from '../../plan/compile/in-spelling.js';
import { type OpenedCheckpoint, plannedInput } from '../../plan/compile/inputs/models.js';
import type { OpenedInputs } from '../../plan/compile/inputs/opened-inputs.js';
import { computedTensor } from '../../plan/operands/computed.js';
import type { Operand } from '../../plan/plan.js';
import { missingWeights } from '../../plan/reports/missing-weights.js';
import {
  type PlannedDifference,
  type PlannedReduction,
  sourcesOfReduction,
} from '../../plan/reports/reduction.js';
import { arithmeticDtypes, bitsOf, type Dtype } from '../../tensor/dtype.js';
import { pairIndex } from '../../tensor/pair-index.js';
import type { TensorReference } from '../../tensor/reference.js';
import { storedTensor } from '../../tensor/stored-tensor.js';

// Compares a sample of a base's weights with its experts', to warn if they were not fine-tuned from it. The
// thresholds lie far from all of 80 pairs (docs/analysis.md).

const sampledLayers = 4;

/** Elements per matrix in the sample, in whole rows: 64 KB in bfloat16. */
const sampledElements = 32 * 1024;

/**
 * A matrix whose cosine with the base's is smaller counts as unrelated. Independent matrices have a cosine
 * near 0; the strongest continued pre-training among the 80 pairs has 0.8.
 */
const leastRelated = 0.5;

/** Cosine from which two task vectors share nine tenths of their change. */
const mostAlike = 0.95;

/** An analysis measures mostly rounding if rounding to the expert's dtype explains more of Σ Δ² than this. */
const mostRounding = 0.5;

/** Cosine of change and base from which the expert counts as a multiple of the base. */
const mostScaled = 0.98;

interface SampledMatrix {
  readonly name: string;
  readonly elements: number;
  /** Returns Σ xy of two vectors. Indexes: the experts' changes, the base, its rounding to each dtype. */
  productOf(a: number, b: number): number;
  /** Counts elements that an expert changed and that are not 0 in the base. */
  changedBy(expert: number): number;
}

/** @param reference the base's stored tensor, without an adapter's change */
const middleRows = (
  input: number,
  { file, begin, dtype, shape: [height = 0, width = 0] }: TensorReference,
): Operand => {
  const rows = Math.max(1, Math.min(height, Math.floor(sampledElements / width)));
  const bytesOfRow = (width * bitsOf(dtype)) / 8;
  const first = begin + Math.floor((height - rows) / 2) * bytesOfRow;
  return storedTensor(input, { file, begin: first, end: first + rows * bytesOfRow, dtype });
};

/** Matches all experts of a mixture except the first in each layer, which is sampled. */
const laterExpert = /\.experts\.[1-9]\d*\./;

const isPlain = ({ dtype, quantised, blocks, pieces, shape }: TensorReference): boolean =>
  quantised === undefined &&
  blocks === undefined &&
  pieces === undefined &&
  shape.length === 2 &&
  (shape[0] ?? 0) > 1 &&
  (shape[1] ?? 0) > 1 &&
  (arithmeticDtypes as readonly Dtype[]).includes(dtype);

const roundedTo = (dtype: Dtype, source: Operand): Operand =>
  computedTensor(dtype, { kind: 'linear', terms: [{ source, weight: 1 }] });

const sampleOf = (base: OpenedCheckpoint, experts: readonly OpenedCheckpoint[]): PlannedReduction[] => {
  const { layers, places } = base.architecture;
  const count = Math.min(layers, sampledLayers);
  const wanted = Array.from({ length: count }, (_, index) => Math.floor(((index + 0.5) * layers) / count));
  return [...base.checkpoint.tensors].flatMap(([name, reference]): PlannedReduction[] => {
    const layer = places.get(name)?.layer ?? null;
    if (layer === null || !wanted.includes(layer) || !isPlain(reference) || laterExpert.test(name)) return [];
    const pathOf = ({ checkpoint }: OpenedCheckpoint, file: number) => itemAt(checkpoint.files, file).path;
    const ofBase = middleRows(0, reference);
    const others = experts.map((expert): TensorReference | undefined => {
      const other = expert.checkpoint.tensors.get(name);
      if (other === undefined || !isPlain(other) || other.shape.join() !== reference.shape.join())
        return undefined;
      const isBase =
        pathOf(expert, other.file) === pathOf(base, reference.file) && other.begin === reference.begin;
      return isBase ? undefined : other;
    });
    if (others.every((other) => other === undefined)) return [];
    const [height = 0, width = 0] = reference.shape;
    const differences = others.map(
      (other, index): PlannedDifference =>
        other === undefined ? { kind: 'none' } : { kind: 'tensor', tensor: middleRows(index + 1, other) },
    );
    const roundings = others.map(
      (other): PlannedDifference =>
        other === undefined || other.dtype === reference.dtype
          ? { kind: 'none' }
          : { kind: 'tensor', tensor: roundedTo(other.dtype, ofBase) },
    );
    return [
      {
        name,
        shape: [Math.max(1, Math.min(height, Math.floor(sampledElements / width))), width],
        rows: 'output',
        base: ofBase,
        experts: [...differences, { kind: 'change', change: ofBase, scale: 1 }, ...roundings],
      },
    ];
  });
};

/** Returns a sampled matrix's sums; undefined if its rows contain NaN or infinity. */
const measured = (
  { pairs, nonFinite, magnitudes }: ReducedTensor,
  { name, shape }: PlannedReduction,
): SampledMatrix | undefined => {
  const experts = (magnitudes.length - 1) / 2;
  if (nonFinite.some((count) => count > 0)) return undefined;
  const at = (a: number, b: number) => 3 * pairIndex(Math.min(a, b), Math.max(a, b), magnitudes.length);
  return {
    name,
    elements: shape[0] * shape[1],
    productOf: (a, b) => itemAt(pairs, at(a, b)),
    changedBy: (expert) => itemAt(pairs, at(expert, experts) + 1),
  };
};

export interface BaseFigures {
  /** ‖Δ‖/‖W_base‖. */
  readonly change: number;
  /** Share of elements that are unchanged or are 0 in the base. */
  readonly unchanged: number;
  /** Number of matrices unrelated to the base's. `cosine` is the smallest. */
  readonly unrelated: { readonly matrices: number; readonly cosine: number };
  readonly matrices: number;
  /** Cosine of the change with the base; ±1 for a multiple of the base. */
  readonly scaled: number;
  /** Share of Σ Δ² that rounding the base to the expert's dtype explains. */
  readonly rounding: number;
}

const cosineOf = (product: number, a: number, b: number): number =>
  a > 0 && b > 0 ? product / Math.sqrt(a * b) : 0;

const figuresOf = (all: readonly SampledMatrix[], expert: number, experts: number): BaseFigures => {
  const squareOf = ({ productOf }: SampledMatrix) =>
    productOf(experts, experts) + 2 * productOf(expert, experts) + productOf(expert, expert);
  // Leaves out matrices of zeros, which have no direction.
  const matrices = all.filter(
    (of) =>
      of.productOf(experts, experts) > 0 &&
      of.productOf(expert, expert) > 0 &&
      squareOf(of) > 1e-9 * of.productOf(experts, experts),
  );
  const total = (of: (matrix: SampledMatrix) => number) => all.reduce((sum, matrix) => sum + of(matrix), 0);
  const sum = (a: number, b: number) => total(({ productOf }) => productOf(a, b));
  const cosines = matrices.map((of) => {
    const [square, change] = [of.productOf(experts, experts), of.productOf(expert, experts)];
    return cosineOf(square + change, square, squareOf(of));
  });
  const [changes, weights] = [sum(expert, expert), sum(experts, experts)];
  const rounding = experts + 1 + expert;
  const left = changes - 2 * sum(expert, rounding) + sum(rounding, rounding);
  return {
    change: weights > 0 ? Math.sqrt(changes / weights) : 0,
    unchanged: 1 - total(({ changedBy }) => changedBy(expert)) / total(({ elements }) => elements),
    unrelated: {
      matrices: cosines.filter((cosine) => cosine < leastRelated).length,
      cosine: Math.min(1, ...cosines),
    },
    matrices: matrices.length,
    scaled: cosineOf(sum(expert, experts), changes, weights),
    rounding: changes > 0 ? 1 - left / changes : 0,
  };
};

const alikeness = (all: readonly SampledMatrix[], a: number, b: number): number => {
  const sum = (i: number, j: number) => all.reduce((total, { productOf }) => total + productOf(i, j), 0);
  return cosineOf(sum(a, b), sum(a, a), sum(b, b));
};

const isShared = ({ productOf }: SampledMatrix, a: number, b: number): boolean => {
  const [first, second, both] = [productOf(a, a), productOf(b, b), productOf(a, b)];
  return first > 0 && first + second - 2 * both <= 1e-9 * first;
};

const doubtOf = (base: string, expert: string, figures: BaseFigures): string | undefined => {
  const { change, unchanged, unrelated, matrices, scaled, rounding } = figures;
  const facts = `the change is ${change.toPrecision(2)} of the norm of ${base}, and ${formatPercent(unchanged)} of the elements are unchanged`;
  if (unrelated.matrices > 0)
    return `${expert} has nothing in common with ${base} in ${unrelated.matrices} of ${matrices} sampled matrices (smallest cosine ${unrelated.cosine.toFixed(2)}; ${facts}): give the model that ${expert} was fine-tuned from, in the same format`;
  if (rounding >= mostRounding)
    return `${formatPercent(rounding)} of the change of ${expert} from ${base} (Σ Δ²) is rounding to its dtype (${facts}): give the base in the dtype in which the training began`;
  if (Math.abs(scaled) >= mostScaled)
    return `${expert} is nearly a multiple of ${base} (cosine of change and weights ${scaled.toFixed(2)}; ${facts}): fine-tuning does not do this, so check both files`;
  return undefined;
};

/**
 * Warns of a wrong base. Compares rows in the middle of a few layers' matrices, under 4 MB of each model. A
 * base that is itself fine-tuned from the experts' base shows only by a change that two experts share. Skips
 * quantised weights and weights that are not on this machine.
 *
 * @throws INTERRUPTED
 */
export const doubtsOfBase = async (
  base: OpenedCheckpoint,
  given: readonly OpenedCheckpoint[],
  { signal }: Pick<ReduceOptions, 'signal'>,
): Promise<string[]> => {
  const experts = given.map((expert) => inSpelling(base, expert));
  const reductions = sampleOf(base, experts);
  const inputs = [base, ...experts].map(plannedInput);
  if (reductions.length === 0) return [];
  const missing = await missingWeights(inputs, reductions.flatMap(sourcesOfReduction));
  if (missing.bytes > 0) return [];
  const names = { base: base.checkpoint.name, experts: experts.map(({ checkpoint }) => checkpoint.name) };
  try {
    const { tensors } = await runReductions(
      { inputs, tensors: reductions, pairs: true },
      { signal },
      measured,
      true,
    );
    return doubtsIn(
      tensors.filter((matrix) => matrix !== undefined),
      names,
    );
  } catch (error) {
    if (!(error instanceof LayerloomError) || error.code === 'INTERRUPTED') throw error;
    return [`${names.base} was not compared with ${names.experts.join(', ')}: ${error.message}`];
  }
};

const doubtsIn = (
  matrices: readonly SampledMatrix[],
  { base, experts }: { readonly base: string; readonly experts: readonly string[] },
): string[] => {
  const isForeign = new Set<number>();
  const doubts = experts.flatMap((expert, index) => {
    const doubt = doubtOf(base, expert, figuresOf(matrices, index, experts.length));
    if (doubt === undefined) return [];
    isForeign.add(index);
    return [doubt];
  });
  const pairs = experts.flatMap((expert, index) =>
    experts.slice(index + 1).flatMap((other, offset) => {
      const at = index + 1 + offset;
      if (isForeign.has(index) || isForeign.has(at)) return [];
      const cosine = alikeness(matrices, index, at);
      const shared = matrices.filter((matrix) => isShared(matrix, index, at)).length;
      if (cosine < mostAlike && shared === 0) return [];
      const facts = `cosine ${cosine.toFixed(3)}; ${shared} of ${matrices.length} sampled matrices are equal in both`;
      return [
        cosine < mostAlike
          ? `${expert} and ${other} share changed matrices that ${base} lacks (${facts})`
          : `${expert} and ${other} changed ${base} in nearly the same way (${facts})`,
      ];
    }),
  );
  const [first, ...rest] = pairs;
  if (first === undefined) return doubts;
  const more = rest.length === 0 ? '' : `, and so for ${counted(rest.length, 'more pair')}`;
  return [
    ...doubts,
    `${first}${more}: if they share a training that ${base} has not had, give the model after it as the base, unless one was merged from the other`,
  ];
};

/**
 * Returns `doubtsOfBase` for each base in the recipes.
 *
 * @throws INTERRUPTED
 */
export const doubtsOfBases = async (
  recipes: readonly Recipe[],
  opened: OpenedInputs,
  options: Pick<ReduceOptions, 'signal'>,
): Promise<string[]> => {
  const compared = recipes.flatMap(({ method, models, companions }) => {
    if (methods.get(method)?.takes.startsFromBase === true) return [];
    const references = [...models, ...companions].flatMap(({ role, model }) =>
      typeof model === 'string' ? [{ role, at: opened.indexOf(model) }] : [],
    );
    const base = references.find(({ role }) => role === 'base')?.at;
    if (base === undefined) return [];
    return references.flatMap(({ role, at }) =>
      expertRoles.includes(role) && at !== base ? [{ base, expert: at }] : [],
    );
  });
  const doubts: string[] = [];
  for (const [base, of] of groupBy(compared, (one) => one.base)) {
    const experts = [...new Set(of.map(({ expert }) => expert))].map((at) => itemAt(opened.checkpoints, at));
    const whole = experts.filter(({ adapter }) => adapter === undefined);
    const first = itemAt(opened.checkpoints, base);
    if (first.adapter === undefined) doubts.push(...(await doubtsOfBase(first, whole, options)));
  }
  return doubts;
};

const expertRoles = ['task', 'language', 'model', 'expert'];
