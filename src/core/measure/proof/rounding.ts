import { allowedAt, dot, isAtCut } from './agreement.js';
import type { Evidence, Sampled } from './evidence.js';
import { rounded, unitAt } from './precision.js';
import type { Source } from './sources.js';
import { mostAtCut, sparsifying } from './sparsifying.js';

/** Elements that are read at once. */
const blockElements = 1024 * 1024;

/** Share of the way to another model by which roundings alone may move a tensor. */
const [mostTowards, mostByNorms] = [0.05, 0.25];

/** Units at the largest term that arithmetic in the stored dtype may be apart, and their root mean square. */
const [mostUnits, mostSpread] = [6, 1];

/** Share of elements at a cut below which the cut is not looked for. */
const leastAtCut = 0.003;

/** Share of elements that a method takes of the other model, as its quantiles are rounded. */
const mostChosen = 0.25;

/** Elements of a vector in which a sparsifying method may keep nothing. */
const smallest = 256;

/** Methods that divide by norms or angles, whose rounding scales whole tensors. */
const byNorms = /^(nuslerp|multislerp|karcher|slerp|model_stock|sce|nearswap)$/;

/**
 * - `strict`: no element is further away than one rounding.
 * - `arithmetic`: as by several roundings of the stored dtype, at the size of the terms.
 * - `cut`: so too, and equal magnitudes at the cut of a sparsifying method were kept or dropped otherwise.
 */
export type RoundingKind = 'strict' | 'arithmetic' | 'cut';

/**
 * Returns how a tensor differs from the expected one if only by roundings. The differences must not lead
 * towards an input: without this test, a change that is smaller than a unit in the last place would be lost
 * unseen.
 */
export const roundingOf = async (evidence: Evidence, sample: Sampled): Promise<RoundingKind | undefined> => {
  // A bitwise copy of an input that was to be changed is no rounding.
  const isSmall = sparsifying.test(evidence.method) && sample.found.length <= smallest;
  if (sample.copyOf.length > 0 && !isSmall) return undefined;
  const first = new Tally(sample, evidence.method);
  first.add(sample.found, sample.wanted, sample.sources);
  if (first.kind === undefined) return undefined;
  if (sample.isWhole) return first.kind;
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
  return all.kind;
};

/** Sums over a tensor's elements. */
class Tally {
  readonly #sample: Sampled;
  readonly #method: string;
  readonly #factor: number;
  readonly #least: number;
  readonly #mostTowards: number;
  readonly #towards = new Map<Source, { dot: number; length: number }>();
  /** Elements further apart than roundings, with each source's change there. */
  readonly #off: number[][] = [];
  #elements = 0;
  #beyond = 0;
  #squares = 0;
  #noise = 0;
  #isOff = 0;
  /** Elements that no choice of the changes gives; elements that are no source's. */
  #outside = 0;
  #ofNone = 0;

  constructor(sample: Sampled, method: string) {
    const { found, wanted, grain } = sample;
    this.#sample = sample;
    this.#method = method;
    const factor = dot(found, wanted) / Math.max(dot(wanted, wanted), Number.MIN_VALUE);
    const isShort = grain.some((dtype) => dtype !== 'F32' && dtype !== 'F64');
    const isScaled = byNorms.test(method) && isShort;
    this.#factor = isScaled && Math.abs(factor - 1) < 2 ** -6 ? factor : 1;
    this.#mostTowards = isScaled ? mostByNorms : mostTowards;
    // Sums in float32 that cancel are as exact as their terms, not as their result.
    this.#least = isShort ? 0 : wanted.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  }

  add(found: Float32Array, wanted: Float32Array, sources: ReadonlyMap<Source, Float32Array>): void {
    const { grain } = this.#sample;
    const [dtype = 'F32'] = grain;
    const terms = [...sources.values()];
    const base = [...sources].find(([{ role }]) => role === 'base')?.[1] ?? terms[0];
    const towards = [...sources].map(([source, values]) => {
      const sums = this.#towards.get(source) ?? { dot: 0, length: 0 };
      this.#towards.set(source, sums);
      return { values, sums };
    });
    this.#elements += found.length;
    for (let at = 0; at < found.length; at += 1) {
      const [a, b] = [found[at] ?? 0, rounded((wanted[at] ?? 0) * this.#factor, dtype)];
      const apart = a - b;
      if (Number.isNaN(a) !== Number.isNaN(b)) this.#isOff += found.length;
      if (apart !== 0 && !Number.isNaN(apart)) {
        let size = Math.max(Math.abs(a), Math.abs(b), this.#least);
        for (const term of terms) size = Math.max(size, Math.abs(term[at] ?? 0));
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
        this.#squares += units * units;
        this.#noise += apart * apart;
      }
      for (const { values, sums } of towards) {
        const direction = rounded(values[at] ?? 0, dtype) - b;
        sums.dot += apart * direction;
        sums.length += direction * direction;
      }
    }
  }

  get kind(): RoundingKind | undefined {
    const isStrict = this.#beyond === 0 && this.#isOff === 0;
    if (this.#leadsElsewhere && !(isStrict && this.#mostTowards > mostTowards)) return undefined;
    if (isStrict) return 'strict';
    // A copy is rounded once at most.
    if (this.#sample.isCopied) return undefined;
    const isShort = this.#sample.grain.some((dtype) => unitAt(1, dtype) > 2 ** -20);
    if (!isShort && this.#isOff === 0) return undefined;
    if (!(Math.sqrt(this.#squares / this.#elements) <= mostSpread)) return undefined;
    if (this.#isOff === 0) return 'arithmetic';
    if (!sparsifying.test(this.#method) || this.#outside > 0) return undefined;
    if (this.#isOff <= Math.max(4, this.#elements * leastAtCut)) return 'cut';
    if (this.#method === 'arcee_fusion' && this.#ofNone === 0 && this.#elements <= smallest) return 'cut';
    if (this.#method === 'arcee_fusion' && this.#ofNone === 0 && this.#isOff <= this.#elements * mostChosen)
      return 'cut';
    return this.#isOff <= this.#elements * mostAtCut && isAtCut(this.#off) ? 'cut' : undefined;
  }

  get #leadsElsewhere(): boolean {
    const noise = this.#noise / Math.max(1, this.#elements);
    return [...this.#towards.values()].some(
      ({ dot: along, length }) =>
        length > 0 && Math.abs(along / length) > this.#mostTowards + 4 * Math.sqrt(noise / length),
    );
  }
}
