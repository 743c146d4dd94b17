import { valueAt } from '../../../base/errors/lookup.js';
import type { Dtype } from '../../../tensor/dtype.js';
import { beyondRounding, combined, dot, fits, minus } from '../agreement.js';
import type { Evidence, Sampled } from '../evidence.js';
import { isOfDtype, rounded, unitAt } from '../precision.js';
import type { ProvenTensor } from '../proof.js';
import { counted, type FaultKind, fault, figure, finding, isConstant, listed, median } from './kind.js';

// Faults that a tensor's own numbers show.

const bySample = (
  kind: string,
  isThis: (sample: Sampled) => boolean,
  sentence: (names: string, count: number) => string,
): FaultKind =>
  fault(kind, async (evidence, names) => {
    const found = (await evidence.sampled(names)).filter(isThis).map(({ name }) => name);
    return finding(found, sentence(listed(found), found.length));
  });

const isFiniteOf = (values: Float32Array) => values.every((value) => Number.isFinite(value));

const isOrAre = (count: number): string => (count === 1 ? 'is' : 'are');

export const notFinite = fault('not_finite', async (evidence, names) => {
  const left = new Set(names);
  const found: ProvenTensor[] = [];
  for (const tensor of evidence.tensors)
    if (
      left.has(tensor.name) &&
      /NaN or infinite/.test(tensor.reason ?? '') &&
      (await isDamaged(evidence, tensor))
    )
      found.push(tensor);
  return finding(
    found.map(({ name }) => name),
    `${listed(found.map(({ name }) => name))} ${found.length === 1 ? 'has' : 'have'} NaN or infinity, and the expected numbers are finite`,
  );
});

/** True if an element is NaN or infinite where the expected one is finite. Inputs may have NaN too. */
const isDamaged = async (evidence: Evidence, { name }: ProvenTensor): Promise<boolean> => {
  const { shape } = valueAt(evidence.expected, name);
  for (const slice of evidence.partsOf(name, shape, blockElements)) {
    const wanted = await evidence.readWanted(name, [slice]);
    const own = await evidence.readFound(name, [slice]);
    if (own.some((value, at) => !Number.isFinite(value) && Number.isFinite(wanted[at]))) return true;
  }
  return false;
};

const blockElements = 1024 * 1024;

export const zeros = bySample(
  'zeros',
  ({ found, wanted }) => found.every((value) => value === 0) && wanted.some((value) => value !== 0),
  (names, count) => `${names} ${isOrAre(count)} 0 throughout: the tensor was allocated and not filled`,
);

export const constantNumber = bySample(
  'constant',
  ({ found, wanted }) =>
    found.length > 1 &&
    found.every((value) => value === found[0]) &&
    wanted.some((value) => value !== wanted[0]),
  (names, count) => `${names} ${isOrAre(count)} one number throughout, as initialised`,
);

export const negated = bySample(
  'negated',
  ({ found, wanted, grain }) =>
    fits(
      found,
      wanted.map((value) => -value),
      grain,
    ),
  (names, count) => `${names} ${count === 1 ? 'has' : 'have'} the opposite sign`,
);

export const normOffset = bySample(
  'norm_offset',
  ({ found, wanted, grain, shape }) =>
    shape.length === 1 &&
    [1, -1].some((offset) =>
      fits(
        found,
        wanted.map((value) => value + offset),
        grain,
        [found, wanted.map(() => 1)],
      ),
    ),
  (names, count) =>
    `${names} ${isOrAre(count)} off by 1: a norm is stored as w in one convention and as 1 + w in another`,
);

/** Returns k of found ≈ k·wanted if it explains all elements. */
const factorOf = ({ found, wanted, grain }: Sampled): number | undefined => {
  const length = dot(wanted, wanted);
  if (!(length > 0) || found.length < 2) return undefined;
  const factor = dot(found, wanted) / length;
  if (!(Math.abs(factor - 1) > 0.01)) return undefined;
  return fits(found, combined([wanted], [factor]), grain) ? factor : undefined;
};

export const scaled = fault('scaled', async (evidence, names) => {
  const found = (await evidence.sampled(names)).flatMap((sample) => {
    const factor = factorOf(sample);
    return factor === undefined ? [] : [{ name: sample.name, factor }];
  });
  if (found.length === 0) return undefined;
  const factors = found.map(({ factor }) => factor);
  const middle = figure(median(factors));
  return {
    tensors: found.map(({ name }) => name),
    figures: { factor: middle, constant: String(isConstant(factors)) },
    sentence: `${counted(found.length, 'tensor')} ${isOrAre(found.length)} ${middle} times what the recipe gives: ${listed(found.map(({ name }) => name))}`,
  };
});

/** Maximum share of differing elements in a tensor that counts as edited. */
const mostEdited = 0.02;

/** Minimum size of an edited tensor; in smaller ones, few elements are many. */
const leastElements = 64;

export const fewElements = fault('few_elements', async (evidence, names) => {
  const facts = new Map(evidence.tensors.map((tensor) => [tensor.name, tensor]));
  const found = (await evidence.sampled(names.filter((name) => !evidence.drifts.has(name)))).flatMap(
    ({ name, found: own, wanted, grain, sources, isWhole }) => {
      const { elements = 0, differing = null } = facts.get(name) ?? {};
      const beyond = beyondRounding(own, wanted, grain, [...sources.values()]);
      const isFew = (number: number, all: number) => number <= 2 || number < all * mostEdited;
      const known = isWhole ? beyond : differing;
      const isExact = known !== null && isFew(known, elements);
      const count = isExact ? known : beyond;
      return elements >= leastElements && count > 0 && isFew(beyond, own.length) && isFew(count, elements)
        ? [{ name, count, elements, isExact }]
        : [];
    },
  );
  if (found.length === 0) return undefined;
  const differing = found.reduce((total, { count }) => total + count, 0);
  const elements = found.reduce((total, one) => total + one.elements, 0);
  // A large tensor with many other roundings is read in part.
  const [bound, others] = found.every(({ isExact }) => isExact)
    ? ['about', ', and all others are right']
    : ['at least', ''];
  return {
    tensors: found.map(({ name }) => name),
    figures: { differing, elements },
    sentence: `${bound} ${differing} of ${elements} elements of ${listed(found.map(({ name }) => name))} differ${others}: they were damaged or edited afterwards`,
  };
});

export const coarseRounding = fault('coarse_rounding', async (evidence, names) => {
  const samples = await evidence.sampled(names.filter((name) => evidence.coarse.has(name)));
  const [first] = samples;
  if (first === undefined) return undefined;
  return finding(
    samples.map(({ name }) => name),
    `${counted(samples.length, 'tensor')} of ${first.dtype} ${samples.length === 1 ? 'has' : 'have'} the precision of ${first.held} only: rounded to it in between`,
    { dtype: first.held ?? '', stored: first.dtype },
  );
});

/**
 * Largest codes of integer quantisation. `range` counts the steps between the least and the largest number.
 */
const levels: readonly (readonly [name: string, levels: number, of: 'magnitude' | 'range'])[] = [
  ['int4', 7, 'magnitude'],
  ['int4', 8, 'magnitude'],
  ['int4', 15, 'range'],
  ['int8', 127, 'magnitude'],
  ['int8', 128, 'magnitude'],
  ['int8', 255, 'range'],
];

const blocks = [32, 64, 128, 256] as const;

/** Number of steps to try, because the largest number was rounded. */
const triedSteps = 8;

/** Allowed distance of numbers from a grid, beyond their rounding, as a share of a step. */
const mostOff = 0.02;

/**
 * Share of elements on a grid: at least the first if a tensor was quantised, otherwise at most the second.
 */
const [leastOnGrid, mostOnGrid] = [0.99, 0.9];

const [examined, leastBlocks] = [4096, 8];

const blocksIn = ({ found, slices }: Sampled, size: number): readonly (readonly [number, number])[] => {
  let at = 0;
  const all =
    size === found.length
      ? [[0, size] as const]
      : slices.flatMap(({ first, count }) => {
          const before = at;
          at += count;
          const lead = (size - (first % size)) % size;
          const whole = Math.max(0, Math.floor((count - lead) / size));
          return Array.from({ length: whole }, (_, block) => {
            const begin = before + lead + block * size;
            return [begin, begin + size] as const;
          });
        });
  return all.slice(0, Math.max(leastBlocks, Math.ceil(examined / size)));
};

/** Returns the share of nonzero elements that are multiples of their block's step, up to rounding. */
const onGrid = (
  blocks: readonly Float32Array[],
  [, codes, of]: (typeof levels)[number],
  dtype: Dtype,
  enough: number,
): number => {
  const all = blocks.reduce((count, block) => count + block.length, 0);
  let off = 0;
  for (const block of blocks) {
    const least = block.reduce((a, b) => Math.min(a, b), 0);
    const most = block.reduce((a, b) => Math.max(a, b), 0);
    const length = of === 'range' ? most - least : Math.max(most, -least);
    if (!(length > 0)) return 0;
    const error = unitAt(length, dtype) / length;
    let fewest = block.length;
    for (let tried = -triedSteps; tried <= triedSteps && fewest > 0; tried += 1) {
      const step = (length / codes) * (1 + (error * tried) / triedSteps);
      let beside = 0;
      for (let at = 0; at < block.length && beside < fewest; at += 1) {
        const value = block[at] ?? 0;
        const apart = Math.abs(value - Math.round(value / step) * step);
        if (apart > unitAt(value, dtype) / 2 + mostOff * step) beside += 1;
      }
      fewest = Math.min(fewest, beside);
    }
    off += fewest;
    if (off > (1 - enough) * all) break;
  }
  return all === 0 ? 0 : 1 - off / all;
};

const distinctShare = (values: Float32Array, block: number): number => {
  let [distinct, count] = [0, 0];
  for (let first = 0; first + block <= values.length; first += block) {
    distinct += new Set(values.subarray(first, first + block)).size;
    count += block;
  }
  return count === 0 ? 1 : distinct / count;
};

const gridOf = (sample: Sampled): string | undefined => {
  const { found, wanted, shape, grain } = sample;
  const columns = shape.at(-1) ?? 1;
  if (shape.length < 2 || found.length < 256 || !isFiniteOf(found)) return undefined;
  for (const dtype of ['F8_E4M3', 'F8_E5M2'] as const)
    if (isOfDtype(found, dtype) && !isOfDtype(wanted, dtype)) return dtype;
  const sizes = [...new Set([columns, ...blocks, found.length])].filter((size) => size <= found.length);
  const [coarsest = 'F32'] = grain;
  for (const size of sizes.filter((size) => size > 16)) {
    const places = blocksIn(sample, size);
    const parts = (values: Float32Array) =>
      places.map(([begin, end]) => values.subarray(begin, end).filter((value) => value !== 0));
    const [own, expected] = [parts(found), parts(wanted.map((value) => rounded(value, coarsest)))];
    for (const level of levels)
      if (
        onGrid(own, level, coarsest, leastOnGrid) >= leastOnGrid &&
        onGrid(expected, level, coarsest, mostOnGrid) <= mostOnGrid
      )
        return `${level[0]}, a scale for ${size === columns ? 'each row' : size === found.length ? 'the tensor' : `blocks of ${size}`}`;
  }
  // Codes with unequal steps, such as NF4 and FP4, leave few distinct numbers in a block.
  for (const size of [64, 32] as const)
    if (
      found.length >= 4 * size &&
      distinctShare(found, size) * size <= 16.5 &&
      distinctShare(wanted, size) > 1.5 * distinctShare(found, size)
    )
      return `at most 16 levels in blocks of ${size}`;
  return undefined;
};

export const quantisedBetween = fault('quantised_between', async (evidence, names) => {
  const found = (await evidence.sampled(names)).flatMap((sample) => {
    const grid = gridOf(sample);
    return grid === undefined ? [] : [{ name: sample.name, grid }];
  });
  const [first] = found;
  if (first === undefined) return undefined;
  return {
    tensors: found.map(({ name }) => name),
    figures: {
      grid: first.grid,
      relative: relativeOf(
        evidence,
        found.map(({ name }) => name),
      ),
    },
    sentence: `${counted(found.length, 'tensor')} ${found.length === 1 ? 'lies' : 'lie'} on few levels (${first.grid}): quantised in between`,
  };
});

const nf4 = [
  -1, -0.6961928, -0.5250731, -0.3949175, -0.2844414, -0.1847734, -0.09105, 0, 0.0795803, 0.1609302,
  0.2461123, 0.33791524, 0.44070983, 0.562617, 0.72295684, 1,
];

/** Returns the mean distance of values from NF4's levels, relative to their block's largest magnitude. */
const offNf4 = (values: Float32Array): number => {
  let [total, count] = [0, 0];
  for (let first = 0; first + 64 <= values.length; first += 64) {
    const part = values.subarray(first, first + 64);
    const largest = part.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    for (const value of largest > 0 ? part : []) {
      total += Math.min(...nf4.map((level) => Math.abs(value / largest - level)));
      count += 1;
    }
  }
  return count === 0 ? 1 : total / count;
};

/** The adapter was merged into a base that had been quantised to four bits for training. */
export const baseQuantised = fault('quantised_between', async (evidence, names) => {
  const found: string[] = [];
  for (const { name, found: own, wanted, sources, shape, slices } of await evidence.sampled(names)) {
    const base = [...sources].find(([{ role }]) => role === 'base')?.[1];
    if (base === undefined || shape.length < 2 || slices.some(({ first }) => first % 64 !== 0)) continue;
    const rest = minus(own, minus(wanted, base));
    const off = offNf4(rest);
    if (off < 0.4 * offNf4(base)) found.push(name);
  }
  if (found.length === 0) return undefined;
  return {
    tensors: found,
    figures: { grid: 'NF4 in blocks of 64', relative: relativeOf(evidence, found) },
    sentence: `${counted(found.length, 'tensor')} without the adapter’s change ${found.length === 1 ? 'lies' : 'lie'} on the 16 levels of NF4: the base was quantised to four bits, and the adapter merged into that`,
  };
});

const relativeOf = (evidence: Evidence, names: readonly string[]): number => {
  const wanted = new Set(names);
  return figure(
    median(evidence.tensors.flatMap(({ name, relative }) => (wanted.has(name) ? (relative ?? []) : []))),
  );
};
