import { CholeskyDecomposition, Matrix } from 'ml-matrix';
import { itemAt } from '../../../core/base/errors/lookup.js';
import type { Outcomes } from './outcomes.js';
import { distanceOf, type SearchSpace } from './space.js';

/**
 * Candidate standard deviations of scores over configurations, relative to that of one problem's outcomes. If
 * a third of answers are right, these are 0.6, 1.4, 2.8 and 5.7 points.
 */
const spreads = [0.0125, 0.03, 0.06, 0.12] as const;

const correlations = [0.2, 0.5, 0.8] as const;

export type Estimator = (outcomes: Outcomes) => number[];

/**
 * Returns an estimator by kriging (Gaussian process regression). Scores are a common level plus normal
 * deviations, whose correlation falls with the number of steps between configurations. Each block of rows has
 * its own level, so problems that are hard for all do not count. The result averages over candidate spreads
 * and correlations, weighted by likelihood.
 *
 * Estimates are relative to the common level, and zero without outcomes.
 */
export const estimatorOf = (space: SearchSpace): Estimator => {
  const factors = correlations.map((correlation) =>
    lowerOf(
      new Matrix(
        space.points.map((a) =>
          // An infinite distance gives a correlation of 0, so groups are independent.
          space.points.map((b) => correlation ** distanceOf(space, a, b)),
        ),
      ),
    ),
  );
  return (outcomes) => {
    const { precision, weighted, deviation } = informationOf(outcomes, space.points.length);
    const answers = factors.flatMap((factor) => {
      const transposed = factor.transpose();
      const seen = symmetric(transposed.mmul(precision).mmul(factor));
      const target = transposed.mmul(weighted);
      return spreads.map((spread) => {
        const variance = (spread * deviation) ** 2;
        const system = new CholeskyDecomposition(
          Matrix.add(Matrix.eye(space.points.length), Matrix.mul(seen, variance)),
        );
        const solved = system.solve(target);
        const explained = (variance * target.dot(solved)) / 2;
        const logarithms = system.lowerTriangularMatrix.diagonal().map(Math.log);
        return {
          likelihood: explained - logarithms.reduce((sum, value) => sum + value, 0),
          scores: factor.mmul(solved).mul(variance).to1DArray(),
        };
      });
    });
    const best = Math.max(...answers.map(({ likelihood }) => likelihood));
    const weights = answers.map(({ likelihood }) => Math.exp(likelihood - best));
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    return space.points.map((_, point) =>
      answers.reduce((sum, { scores }, at) => sum + (itemAt(weights, at) / total) * itemAt(scores, point), 0),
    );
  };
};

const lowerOf = (matrix: Matrix): Matrix => new CholeskyDecomposition(matrix).lowerTriangularMatrix;

/** Removes rounding errors from symmetric products. */
const symmetric = (matrix: Matrix): Matrix => Matrix.add(matrix, matrix.transpose()).div(2);

interface CovarianceBlock {
  readonly points: readonly number[];
  readonly from: number;
  readonly to: number;
}

const blocksOf = (outcomes: Outcomes, count: number): CovarianceBlock[] =>
  outcomes.borders.flatMap((to, index) => {
    if (index === 0) return [];
    const points = Array.from({ length: count }, (_, point) => point).filter(
      (point) => outcomes.of(point).length >= to,
    );
    return points.length > 1 ? [{ points, from: itemAt(outcomes.borders, index - 1), to }] : [];
  });

/** Outcomes as a normal likelihood of the scores, with precision·mean = weighted. */
interface Information {
  readonly precision: Matrix;
  readonly weighted: Matrix;
  readonly deviation: number;
}

const informationOf = (outcomes: Outcomes, count: number): Information => {
  const precision = Matrix.zeros(count, count);
  const weighted = Matrix.zeros(count, 1);
  const blocks = blocksOf(outcomes, count).map((block) => ({ ...block, ...twoWay(outcomes, block) }));
  const sum = (of: (block: (typeof blocks)[number]) => number) =>
    blocks.reduce((total, block) => total + of(block), 0);
  // If outcomes are constant, they carry no information, and any deviation will do.
  const within =
    sum((block) => block.within) /
      Math.max(
        1,
        sum((block) => block.outcomes),
      ) || 1;
  const freedom = sum(({ points, from, to }) => (points.length - 1) * (to - from - 1));
  // The lower bound keeps configurations that agreed on every problem so far from counting as certain.
  const residual = Math.max(freedom > 0 ? sum((block) => block.residual) / freedom : within, within / 200);
  for (const { points, from, to, means } of blocks) {
    const weight = (to - from) / residual;
    const level = means.reduce((total, mean) => total + mean, 0) / means.length;
    for (const [index, a] of points.entries()) {
      weighted.set(a, 0, weighted.get(a, 0) + weight * (itemAt(means, index) - level));
      for (const b of points)
        precision.set(a, b, precision.get(a, b) + weight * ((a === b ? 1 : 0) - 1 / points.length));
    }
  }
  return { precision, weighted, deviation: Math.sqrt(within) };
};

/** Sums of squares in a two-way analysis of variance, configurations × problems. */
const twoWay = (outcomes: Outcomes, { points, from, to }: CovarianceBlock) => {
  const rows = points.map((point) => outcomes.of(point).slice(from, to));
  const means = rows.map((row) => row.reduce((sum, value) => sum + value, 0) / row.length);
  const level = means.reduce((sum, mean) => sum + mean, 0) / means.length;
  let [within, residual] = [0, 0];
  for (let problem = 0; problem < to - from; problem += 1) {
    const ofProblem = rows.reduce((sum, row) => sum + itemAt(row, problem), 0) / rows.length;
    for (const [index, row] of rows.entries()) {
      const fromMean = itemAt(row, problem) - itemAt(means, index);
      within += fromMean ** 2;
      residual += (fromMean - ofProblem + level) ** 2;
    }
  }
  return { means, within, residual, outcomes: points.length * (to - from) };
};
