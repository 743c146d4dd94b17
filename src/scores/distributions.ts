import { createRequire } from 'node:module';

/** Functions of @stdlib, bundled by scripts/bundle-distributions.mjs: by themselves they are two hundred packages. */
interface Distributions {
  /** P(X ≤ x) of the number of successes in `n` trials. */
  binomialCdf(x: number, n: number, probability: number): number;
  /** P(X ≤ x) of Student's t. */
  tCdf(x: number, degreesOfFreedom: number): number;
  /** Returns p-values adjusted for their number. */
  padjust(p: readonly number[], method: 'holm'): ArrayLike<number> & Iterable<number>;
}

// By name, since the bundle is made from no file of src/; CommonJS, which every Node can `require`.
const bundle = '../../dist/scores/stdlib.cjs';

export const { binomialCdf, tCdf, padjust } = createRequire(import.meta.url)(bundle) as Distributions;
