import { valueAt } from '../../base/errors/lookup.js';
import type { ElementSlice, ValueReader } from '../../engine/compute/measures/read-values.js';
import { operandOf } from '../../plan/adapted.js';
import type { OpenedCheckpoint } from '../../plan/compile/inputs/models.js';
import type { CompleteRecipe } from '../../plan/complete-recipe.js';
import type { Operand } from '../../plan/plan.js';
import { type Dtype, isFloating } from '../../tensor/dtype.js';
import { elementsOf, type Shape } from '../../tensor/reference.js';
import { operandKind } from '../../tensor/stored-tensor.js';
import { fits, type Grain, isCopy, relativeDistance } from './agreement.js';
import type { Drift } from './drift.js';
import type { ExpectedTensor } from './expected.js';
import type { Pair } from './pairs.js';
import { coarser, isOfDtype, precisionOf } from './precision.js';
import type { Fault, ProvenTensor } from './proof.js';
import type { SampledBytes } from './sample/sampled-bytes.js';
import { allSlices, headSlice, sampleSlices } from './slices.js';
import type { Source } from './sources.js';
import { mostAtCut, sparsifying } from './sparsifying.js';
import { withZero } from './with-inputs.js';

/** Maximum number of sampled elements: first over all tensors, then per tensor, with a minimum. */
const mostElements = 8 * 1024 * 1024;
const [leastOfTensor, mostOfTensor] = [1024, 64 * 1024];

/** Minimum size and maximum number of correct tensors by which another recipe is judged. */
const leastRight = 256;

const mostRight = 24;

/** Minimum distance of different recipes' tensors; float32 sums may differ by less. */
const leastOther = 1e-6;

/** A sample of two tensors of one shape whose numbers differ. */
export interface Sampled {
  readonly name: string;
  readonly layer: number | null;
  /** The name after `layers.N.`. */
  readonly module: string;
  readonly role: string;
  readonly shape: Shape;
  readonly dtype: Dtype;
  /**
   * Dtypes to which numbers were rounded: first the coarser of the stored and expected dtypes, then, if any, a still
   * coarser dtype that holds all found numbers.
   */
  readonly grain: Grain;
  /** A dtype coarser than the stored dtype that holds all numbers of the tensor, if any. */
  readonly held: Dtype | undefined;
  readonly slices: readonly ElementSlice[];
  readonly found: Float32Array;
  /** The expected elements in float32, before rounding to the dtype. */
  readonly wanted: Float32Array;
  /** The same elements of each source that has the tensor in this shape. */
  readonly sources: ReadonlyMap<Source, Float32Array>;
  /** True if the sample is the whole tensor. */
  readonly isWhole: boolean;
  /** True if an unchanged copy of an input's tensor is expected. */
  readonly isCopied: boolean;
  /** Sources that the sample equals, although the recipe merges them. */
  readonly copyOf: readonly Source[];
}

export type Finding = Omit<Fault, 'kind'>;

export interface EvidenceParts {
  readonly out: OpenedCheckpoint;
  /** Index of the output in `reader`'s inputs. */
  readonly outInput: number;
  readonly pairs: readonly Pair[];
  readonly tensors: readonly ProvenTensor[];
  readonly sources: readonly Source[];
  readonly method: string;
  readonly recipe: CompleteRecipe;
  readonly reader: ValueReader;
  /** Bytes that a sampled proof may read; absent if it may read all. */
  readonly bytes?: SampledBytes | undefined;
  /** Plans another recipe over the same inputs and returns its tensors; undefined if it is refused. */
  readonly replan: (recipe: CompleteRecipe) => Promise<ReadonlyMap<string, ExpectedTensor> | undefined>;
}

/** Returns the first tiles that have at most this many elements together, but at least one tile. */
const firstOf = (tiles: readonly ElementSlice[], most: number): ElementSlice[] => {
  let elements = 0;
  return tiles.filter(({ count }, index) => {
    elements += count;
    return index === 0 || elements <= most;
  });
};

/** The material that kinds of fault examine. Reads each sample once, when first used. */
export class Evidence {
  readonly out: OpenedCheckpoint;
  readonly sources: readonly Source[];
  readonly method: string;
  readonly recipe: CompleteRecipe;
  readonly replan: EvidenceParts['replan'];
  readonly expected: ReadonlyMap<string, ExpectedTensor>;
  readonly #parts: EvidenceParts;
  readonly #pairs: ReadonlyMap<string, Pair>;
  readonly #made = new Map<string, Promise<unknown>>();
  readonly #most: number;

  constructor(parts: EvidenceParts) {
    const { out, sources, method, recipe, replan, pairs, tensors } = parts;
    this.#parts = parts;
    this.tensors = tensors;
    this.out = out;
    this.sources = sources;
    this.method = method;
    this.recipe = recipe;
    this.replan = replan;
    this.#pairs = new Map(pairs.map((pair) => [pair.name, pair]));
    this.expected = new Map(
      pairs.flatMap(({ name, expected }) => (expected === undefined ? [] : [[name, expected] as const])),
    );
    const wrong = tensors.filter(({ state }) => state === 'different').length;
    this.#most = Math.min(
      mostOfTensor,
      Math.max(leastOfTensor, Math.floor(mostElements / Math.max(1, wrong * (sources.length + 2)))),
    );
  }

  tensors: readonly ProvenTensor[];

  /** Tensors that differ only by roundings, but whose differences point towards a model. */
  drifts: ReadonlyMap<string, Drift> = new Map();

  /** Tensors that differ only because they were rounded to a dtype coarser than the stored one. */
  coarse: ReadonlySet<string> = new Set();

  get isSample(): boolean {
    return this.#parts.bytes !== undefined;
  }

  /** Returns the elements of a tensor to compare, in parts of about `most` elements. */
  partsOf(name: string, shape: Shape, most: number): readonly ElementSlice[] {
    return this.#parts.bytes?.tilesOf(name) ?? allSlices(shape, most);
  }

  pairOf(name: string): Pair {
    return valueAt(this.#pairs, name);
  }

  /** Returns samples of the tensors whose elements can be compared. */
  async sampled(names: readonly string[]): Promise<readonly Sampled[]> {
    const found: Sampled[] = [];
    for (const name of names) {
      const one = await this.sampleOf(name);
      if (one !== undefined) found.push(one);
    }
    return found;
  }

  sampleOf(name: string): Promise<Sampled | undefined> {
    return this.once(`sample ${name}`, () => this.#sample(name));
  }

  async read(operand: Operand, shape: Shape, slices: readonly ElementSlice[]): Promise<Float32Array> {
    await this.#parts.bytes?.check(operand, shape, slices);
    const parts: Float32Array[] = [];
    for (const slice of slices) parts.push(await this.#parts.reader.read(operand, shape, slice));
    const [only] = parts;
    if (only !== undefined && parts.length === 1) return only;
    const all = new Float32Array(parts.reduce((total, { length }) => total + length, 0));
    parts.reduce((at, part) => {
      all.set(part, at);
      return at + part.length;
    }, 0);
    return all;
  }

  readFound(name: string, slices: readonly ElementSlice[]): Promise<Float32Array> {
    const { found } = this.pairOf(name);
    if (found === undefined) throw new RangeError(`the output has no ${name}`);
    return this.read(operandOf(this.#parts.outInput, found), found.shape, slices);
  }

  once<T>(key: string, make: () => Promise<T>): Promise<T> {
    const known = this.#made.get(key) ?? make();
    this.#made.set(key, known);
    return known as Promise<T>;
  }

  readWanted(name: string, slices: readonly ElementSlice[]): Promise<Float32Array> {
    const { unrounded, shape } = valueAt(this.expected, name);
    return this.read(unrounded, shape, slices);
  }

  /** Reads the first row of an expected tensor, or its first elements. */
  headOf(name: string): Promise<Float32Array> {
    const { shape } = valueAt(this.expected, name);
    return this.once(`head ${name}`, () => this.readWanted(name, [headSlice(shape)]));
  }

  /** Reads the recipe's result with a source's tensors set to 0. */
  async readWithout(
    name: string,
    role: string,
    slices: readonly ElementSlice[],
  ): Promise<Float32Array | undefined> {
    const { unrounded, shape } = valueAt(this.expected, name);
    const zero = this.sources.find((source) => source.role === role)?.tensor(name)?.operand;
    if (zero === undefined || zero[operandKind] !== 'stored') return undefined;
    const without = withZero(unrounded, zero.input);
    return without && (await this.read(without, shape, slices));
  }

  /** True if another recipe also explains some of the output's correct tensors. */
  async fitsRight(other: ReadonlyMap<string, ExpectedTensor>): Promise<boolean> {
    const right = this.tensors.filter(({ state, elements }) => state === 'equal' && elements >= leastRight);
    const step = Math.max(1, Math.floor(right.length / mostRight));
    for (const { name } of right.filter((_, index) => index % step === 0))
      if (!(await this.fitsTensor(name, other.get(name)))) return false;
    return true;
  }

  async fitsTensor(name: string, other: ExpectedTensor | undefined): Promise<boolean> {
    const own = await this.sampleOf(name);
    if (own === undefined) return other !== undefined && this.#isSameInteger(name, other);
    if (other === undefined || other.shape.join() !== own.shape.join()) return false;
    const values = await this.read(other.unrounded, other.shape, own.slices);
    return this.fitsSample(own, values);
  }

  async isOther(name: string, { unrounded, shape }: ExpectedTensor): Promise<boolean> {
    const own = await this.sampleOf(name);
    if (own === undefined || shape.join() !== own.shape.join()) return true;
    return relativeDistance(await this.read(unrounded, shape, own.slices), own.wanted) > leastOther;
  }

  /** True if values explain a sample. At the threshold of a sparsifying method, elements may differ. */
  fitsSample({ found, grain, sources }: Sampled, values: Float32Array): boolean {
    const share = sparsifying.test(this.method) ? mostAtCut : undefined;
    return fits(found, values, grain, [...sources.values()], share);
  }

  /** Compares only shapes, because integer tensors are not sampled. */
  #isSameInteger(name: string, other: ExpectedTensor): boolean {
    return this.expected.get(name)?.shape.join() === other.shape.join();
  }

  async #sample(name: string): Promise<Sampled | undefined> {
    const { expected, found } = this.pairOf(name);
    if (expected === undefined || found === undefined) return undefined;
    const { shape } = expected;
    if (found.shape.join() !== shape.join() || !isFloating(found.dtype) || !isFloating(expected.dtype))
      return undefined;
    const tiles = this.#parts.bytes?.tilesOf(name);
    const slices = tiles === undefined ? sampleSlices(shape, this.#most) : firstOf(tiles, this.#most);
    if (slices.length === 0) return undefined;
    const own = await this.readFound(name, slices);
    const dtype = coarser(found.dtype, expected.dtype);
    const held = (['BF16', 'F16'] as const).find(
      (other) => precisionOf(other).bits < precisionOf(dtype).bits && isOfDtype(own, other),
    );
    const sources = new Map<Source, Float32Array>();
    for (const source of this.sources) {
      // Takes the embeddings of inputs whose head is tied.
      const tensor = source.tensor(name) ?? source.tensor(expected.name);
      if (tensor === undefined || tensor.shape.join() !== shape.join()) continue;
      sources.set(source, await this.read(tensor.operand, shape, slices));
    }
    const wanted = await this.readWanted(name, slices);
    const place = this.out.architecture.places.get(name);
    return {
      ...{ name, shape, dtype: found.dtype, slices, sources },
      // Coarsest dtype first.
      grain: [...new Set([dtype, found.dtype, expected.dtype, ...(held === undefined ? [] : [held])])],
      held,
      layer: expected.layer,
      module: place?.module ?? name,
      role: place?.role ?? 'other',
      found: own,
      wanted,
      isWhole: slices.length === 1 && slices[0]?.count === elementsOf(shape),
      isCopied: expected.operand === expected.unrounded && expected.operand[operandKind] === 'stored',
      copyOf: [...sources].flatMap(([source, values]) =>
        isCopy(own, values, found.dtype) && !isCopy(values, wanted, expected.dtype) ? [source] : [],
      ),
    };
  }
}
