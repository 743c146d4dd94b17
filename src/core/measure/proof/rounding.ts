import type { Dtype } from '../../tensor/dtype.js';
import { allowedAt, dot, isAtCut } from './agreement.js';
import { type Drift, type Drifting, DriftTally } from './drift.js';
import type { Evidence, Sampled } from './evidence.js';
import { isOfDtype, isShortDtype, rounded, truncated, unitAt } from './precision.js';
import type { Source } from './sources.js';
import { mostAtCut, sparsifying } from './sparsifying.js';

const blockElements = 1024 * 1024;

/**
 * How far roundings alone can move a tensor towards another model, as a fraction of the distance; the second
 * for methods in `byNorms`.
 */
const [mostTowards, mostByNorms] = [0.05, 0.25];

/** Parts of `mostTowards`: for rounded weights, and for roundings as large as the changes. */
const [byWeights, byNoise] = [0.012, 2.5];

/** Largest difference that arithmetic explains, in units of the largest term: an element's, and the RMS. */
const [mostUnits, mostSpread] = [6, 1];

/** Like `mostSpread`, over only the elements that differ. */
const mostSpreadApart = 1.25;

/** If a larger share differs by more than roundings, these elements must be at a threshold (`isAtCut`). */
const leastAtCut = 0.003;

/** Maximum share of elements that differ because Arcee fusion's quantiles were rounded. */
const mostChosen = 0.25;

/** Size of a vector up to which a sparsifying method may keep nothing. */
const smallest = 256;

/** Methods that divide by norms or angles. Rounding these scales whole tensors. */
export const byNorms = /^(nuslerp|multislerp|karcher|slerp|model_stock|sce|nearswap)$/;

/**
 * - `strict`: all elements are within one rounding.
 * - `truncated`: all elements are rounded towards zero.
 * - `arithmetic`: within several roundings of the stored dtype, at the size of the terms.
 * - `cut`: like `arithmetic`, but a sparsifying method kept other changes of equal size at its threshold.
 */
export type RoundingKind = 'strict' | 'truncated' | 'arithmetic' | 'cut';

export interface Rounding extends Drifting {
  readonly kind: RoundingKind;
}

/**
 * Returns how a tensor differs from the expected one, if only by roundings. Refuses differences that point
 * towards an input: a lost change smaller than a unit in the last place would otherwise pass as rounding.
 */
export const roundingOf = async (evidence: Evidence, sample: Sampled): Promise<Rounding | undefined> => {
  // An exact copy of an input that should have changed is no rounding.
  const isSmall = sparsifying.test(evidence.method) && sample.found.length <= smallest;
  if (sample.copyOf.length > 0 && !isSmall) return undefined;
  const first = new Tally(sample, evidence.method);
  first.add(sample.found, sample.wanted, sample.sources);
  if (sample.isWhole || first.kind === undefined) return first.result;
  const { name, shape } = sample;
  const all = new Tally(sample, evidence.method);
  for (const slice of evidence.partsOf(name, shape, blockElements)) {
    const found = await evidence.readFound(name, [slice]);
    const sources = new Map<Source, Float32Array>();
    for (const source of sample.sources.keys()) {
      const tensor = source.tensor(name);
      if (tensor !== undefined) sources.set(source, await evidence.read(tensor.operand, shape, [slice]));
    }
    all.add(found, await evidence.readWanted(name, [slice]), sources);
  }
  return all.result;
};

class Tally {
  readonly #sample: Sampled;
  readonly #method: string;
  readonly #dtype: Dtype;
  readonly #factor: number;
  readonly #least: number;
  readonly #mostTowards: number;
  readonly #towards = new Map<Source, { dot: number; length: number }>();
  /** For each element whose difference roundings do not explain, the change of each source. */
  readonly #off: number[][] = [];
  #elements = 0;
  #differing = 0;
  #beyond = 0;
  #squares = 0;
  #noise = 0;
  #isOff = 0;
  /** Number of elements that no choice of changes explains, and number of elements that equal no source's element. */
  #outside = 0;
  #ofNone = 0;
  #truncated = 0;
  readonly #drift = new DriftTally();

  constructor(sample: Sampled, method: string) {
    const { found, wanted, grain } = sample;
    this.#sample = sample;
    this.#method = method;
    const [coarsest = 'F32'] = grain;
    this.#dtype = isOfDtype(found, coarsest) ? coarsest : sample.dtype;
    const factor = dot(found, wanted) / Math.max(dot(wanted, wanted), Number.MIN_VALUE);
    const isShort = grain.some(isShortDtype);
    const isScaled = byNorms.test(method) && isShort;
    this.#factor = isScaled && Math.abs(factor - 1) < 2 ** -6 ? factor : 1;
    this.#mostTowards = isScaled ? mostByNorms : mostTowards;
    // Float32 sums have errors of the size of their terms, even if these cancel.
    this.#least = isShort ? 0 : wanted.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  }

  add(found: Float32Array, wanted: Float32Array, sources: ReadonlyMap<Source, Float32Array>): void {
    const { grain } = this.#sample;
    const [coarsest = 'F32'] = grain;
    const dtype = this.#dtype;
    const terms = [...sources.values()];
    const base = [...sources].find(([{ role }]) => role === 'base')?.[1] ?? terms[0];
    const towards = [...sources].map(([source, values]) => {
      const sums = this.#towards.get(source) ?? { dot: 0, length: 0 };
      this.#towards.set(source, sums);
      return { source, values, sums };
    });
    this.#elements += found.length;
    for (let at = 0; at < found.length; at += 1) {
      const [a, b] = [found[at] ?? 0, rounded((wanted[at] ?? 0) * this.#factor, dtype)];
      const apart = a - b;
      if (a === truncated(wanted[at] ?? 0, dtype)) this.#truncated += 1;
      if (Number.isNaN(a) !== Number.isNaN(b)) this.#isOff += found.length;
      let size = Math.max(Math.abs(a), Math.abs(b), this.#least);
      for (const term of terms) size = Math.max(size, Math.abs(term[at] ?? 0));
      if (apart !== 0 && !Number.isNaN(apart)) {
        const allowed = allowedAt(size, grain);
        const units = Math.abs(apart) / allowed;
        if (!(units <= 1)) this.#beyond += 1;
        if (!(units <= mostUnits)) {
          this.#isOff += 1;
          const changes = terms.map((term) => Math.abs((term[at] ?? 0) - (base?.[at] ?? 0)));
          const reach = changes.reduce((sum, change) => sum + change, 0);
          if (!(Math.abs(a - (base?.[at] ?? 0)) <= 2 * reach + allowed)) this.#outside += 1;
          if (!terms.some((term) => Math.abs((term[at] ?? 0) - a) <= 2 * allowed)) this.#ofNone += 1;
          if (this.#off.length < 4096) this.#off.push(changes);
          continue;
        }
        this.#differing += 1;
        this.#squares += units * units;
        this.#noise += apart * apart;
      }
      // Terms that cancel were rounded at their own size.
      const unit = unitAt(size, coarsest);
      this.#drift.add('itself', apart, b, b, unit);
      for (const { source, values, sums } of towards) {
        const direction = rounded(values[at] ?? 0, dtype) - b;
        this.#drift.add(source, apart, direction, b, unit);
        // Skips NaN and infinity, which would hide all other directions.
        if (!Number.isFinite(direction) || !Number.isFinite(apart)) continue;
        sums.dot += apart * direction;
        sums.length += direction * direction;
      }
    }
  }

  get result(): Rounding | undefined {
    const { kind } = this;
    const [dtype = 'F32'] = this.#sample.grain;
    if (kind === 'strict' && isShortDtype(this.#dtype) && this.#truncated === this.#elements)
      return { kind: 'truncated', dtype, drifts: new Map() };
    const isStrict = this.#beyond === 0 && this.#isOff === 0;
    if (kind === undefined && !(isStrict && this.#isShort)) return undefined;
    const leads = kind === undefined ? this.#leads : undefined;
    return { kind: kind ?? 'strict', dtype, drifts: this.#drift.sums, leads };
  }

  get kind(): RoundingKind | undefined {
    const isStrict = this.#beyond === 0 && this.#isOff === 0;
    // Rounded quantiles may change the input from which Arcee fusion takes an element; in a small vector, of
    // all elements.
    const isChosen = this.#method === 'arcee_fusion' && this.#ofNone === 0;
    const isSmall = isChosen && this.#elements <= smallest;
    if (this.#leads !== undefined && !isSmall && !(isStrict && this.#mostTowards > mostTowards))
      return undefined;
    if (isStrict) return 'strict';
    // A copied element is rounded at most once.
    if (this.#sample.isCopied) return undefined;
    if (!this.#isShort && this.#isOff === 0) return undefined;
    if (!(Math.sqrt(this.#squares / this.#elements) <= mostSpread)) return undefined;
    const isSparsified = sparsifying.test(this.#method);
    // Roundings of arithmetic spread over many elements. A few large differences are edits, or changes at a
    // threshold.
    const spread = Math.sqrt(this.#squares / Math.max(1, this.#differing));
    if (this.#isOff === 0 && (isSparsified || spread <= mostSpreadApart)) return 'arithmetic';
    if (!isSparsified || this.#outside > 0) return undefined;
    if (this.#isOff <= Math.max(4, this.#elements * leastAtCut)) return 'cut';
    if (isSmall || (isChosen && this.#isOff <= this.#elements * mostChosen)) return 'cut';
    return this.#isOff <= this.#elements * mostAtCut && isAtCut(this.#off) ? 'cut' : undefined;
  }

  get #isShort(): boolean {
    return this.#sample.grain.some(isShortDtype);
  }

  get #leads(): Drift | undefined {
    const noise = this.#noise / Math.max(1, this.#elements);
    for (const [direction, { dot: along, length }] of this.#towards) {
      const most =
        this.#mostTowards > mostTowards
          ? this.#mostTowards
          : Math.min(mostTowards, byWeights + (byNoise * this.#noise) / length);
      const share = along / length;
      if (length > 0 && Math.abs(share) > most + 4 * Math.sqrt(noise / length)) return { direction, share };
    }
    return undefined;
  }
}
