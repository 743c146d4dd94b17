import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CountSums } from '../../src/core/methods/operations/program/count-sums.js';
import { boundOfShare, boundsOf } from '../../src/core/methods/operations/program/magnitude-bounds.js';
import type { Counted, Measurer, TiedElement } from '../../src/core/methods/operations/program/measurer.js';
import { Program } from '../../src/core/methods/operations/program/program.js';
import { selectMagnitudes } from '../../src/core/methods/operations/program/select-magnitudes.js';
import type { MagnitudeBound } from '../../src/core/native/job.js';
import type { Window } from '../../src/core/native/measure.js';
import { merge, type RecipeInput } from '../../src/index.js';
import { type Tensors, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { readTensors } from '../fixtures/merged.js';
import { decode, encode } from '../fixtures/numbers.js';

const magnitudes = (x: Float32Array): Uint32Array =>
  new Uint32Array(x.buffer, x.byteOffset, x.length).map((bits) => bits & 0x7fff_ffff);

/**
 * Numbers like those of tensors, most of them tied: with zeros of both signs, subnormals, infinities and NaN.
 */
const tensors = fc
  .array(
    fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom(0, -0, 1, -1, 2 ** -10, -(2 ** -10), 1e-42, -1e-42, 3e-45) },
      { weight: 4, arbitrary: fc.integer({ min: -20, max: 20 }).map((n) => n / 64) },
      { weight: 2, arbitrary: fc.float() },
      { weight: 1, arbitrary: fc.constantFrom(Number.POSITIVE_INFINITY, Number.NaN, -3.4e38, 2 ** -126) },
    ),
    { minLength: 1, maxLength: 300 },
  )
  .map((numbers) => Float32Array.from(numbers));

const countOf = (x: Uint32Array, { low, last, shift, candidates }: Window, bins: number) => {
  const counts = new Uint32Array(bins);
  const end = last + 1;
  const count = (bin: number) => {
    counts[bin] = (counts[bin] ?? 0) + 1;
  };
  const blocks = [x.subarray(0, x.length >> 1), x.subarray(x.length >> 1)];
  for (const bits of x) if (bits >= low && bits < end) count(Math.floor((bits - low) / 2 ** shift));
  return {
    above: x.filter((bits) => bits >= end).length,
    counts,
    exact: candidates.map((candidate) =>
      blocks.map((block) =>
        candidate >= low && candidate < end ? block.filter((b) => b === candidate).length : 0,
      ),
    ),
  };
};

const countAll = (values: readonly Uint32Array[], windows: readonly Window[], bins: number): Counted => {
  const found = windows.map((window, index) => countOf(values[index] as Uint32Array, window, bins));
  return {
    above: found.map(({ above }) => above),
    counts: found.map(({ counts }) => counts),
    exact: found.map(({ exact }) => exact),
    elements: values[0]?.length ?? 0,
  };
};

describe('selectMagnitudes', () => {
  const shares = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 1, maxLength: 3 });

  it.each<[string, (size: number) => number]>([
    ['without a sample', () => 0],
    ['with a sample of some', (size) => Math.ceil(size / 3)],
    ['with a sample of one element, which misleads', () => 1],
  ])('finds what a sort finds, %s', async (_, sampleOf) => {
    const check = fc.asyncProperty(tensors, shares, async (numbers, wantedShares) => {
      const all = magnitudes(numbers);
      const sampled = all.subarray(0, sampleOf(all.length));
      const wanted = wantedShares.map((share) => ({ rank: 1 + Math.floor(share * (all.length - 1)) }));
      const found = await selectMagnitudes(
        wanted,
        all.length,
        async (indexes, windows, bins, sample) =>
          countAll(
            indexes.map(() => (sample ? sampled : all)),
            windows,
            bins,
          ),
        sampled.length,
      );
      const sorted = all.toSorted().reverse();
      for (const [index, { rank }] of wanted.entries()) {
        const bits = sorted[rank - 1] ?? 0;
        const { ofBlocks, ...rest } = found[index] as (typeof found)[number];
        const equal = all.filter((other) => other === bits).length;
        expect(rest).toEqual({ bits, above: all.filter((other) => other > bits).length, equal });
        if (ofBlocks !== undefined) expect(ofBlocks.reduce((sum, n) => sum + n, 0)).toBe(equal);
      }
    });
    await fc.assert(check, { numRuns: 150 });
  });

  it('takes few passes over a large tensor whose sample is like it', async () => {
    let seed = 1;
    const all = magnitudes(
      Float32Array.from({ length: 200_000 }, () => {
        seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
        return (seed >>> 8) / 2 ** 24 - 0.5;
      }),
    );
    const sampled = all.filter((_, index) => index % 16 === 0);
    let passes = 0;
    await selectMagnitudes(
      [{ rank: 100_000 }],
      all.length,
      async (indexes, windows, bins, sample) => {
        if (!sample) passes += 1;
        return countAll(
          indexes.map(() => (sample ? sampled : all)),
          windows,
          bins,
        );
      },
      sampled.length,
    );
    expect(passes).toBeLessThanOrEqual(2);
  });

  it('finds a rank in a model that has more equal elements than 32 bits count', async () => {
    // Two tensors, each with 3e9 elements of the smaller magnitude and 1e9 of the larger, counted bin by bin.
    const [smaller = 0, larger = 0] = magnitudes(Float32Array.of(0.5, 1));
    const equal = new Map([
      [smaller, 3e9],
      [larger, 1e9],
    ]);
    const ofTensor = ({ low, last, shift }: Window, bins: number) => {
      const counts = new Uint32Array(bins);
      let above = 0;
      for (const [bits, count] of equal)
        if (bits > last) above += count;
        else if (bits >= low) counts[Math.floor((bits - low) / 2 ** shift)] = count;
      return { above: [above], counts: [counts], elements: 4e9 };
    };
    const count = async (_: unknown, [window]: readonly Window[], bins: number): Promise<Counted> => {
      const sums = new CountSums(1, bins);
      for (const _ of [1, 2]) sums.add(ofTensor(window as Window, bins));
      return { ...sums, exact: [] };
    };
    expect(await selectMagnitudes([{ rank: 7e9 }], 8e9, count, 0)).toEqual([
      { bits: smaller, above: 2e9, equal: 6e9 },
    ]);
  });
});

const isAbove = ({ bits, cutoff, early }: MagnitudeBound, magnitude: number, index: number): boolean =>
  magnitude > bits || (magnitude === bits && (early ? index < cutoff : index >= cutoff));

describe('boundsOf', () => {
  it('has exactly k elements above it, ties broken by index; which zeros are does not matter', async () => {
    const check = fc.asyncProperty(
      tensors,
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.boolean(),
      async (numbers, share, early) => {
        const all = magnitudes(numbers);
        const measurer = {
          histogram: async (_program: Program, values: unknown[], windows: Window[], bins: number) =>
            countAll(
              values.map(() => all),
              windows,
              bins,
            ),
          sampleSize: () => 0,
          findTies: async (_program: Program, tied: readonly TiedElement[]) =>
            tied.map(
              ({ bits, ordinal }) =>
                [...all.keys()].filter((index) => all[index] === bits)[ordinal - 1] as number,
            ),
        } as unknown as Measurer;
        const program = new Program([all.length]);
        const kept = Math.round(share * all.length);
        const [bound] = await boundsOf({ tensor: 'x', program, measurer }, [
          { value: { source: 0 }, kept, early },
        ]);
        const order = [...all.keys()].sort(
          (i, j) => (all[j] ?? 0) - (all[i] ?? 0) || (early ? i - j : j - i),
        );
        const wanted = order.slice(0, kept).filter((index) => all[index] !== 0);
        const above = [...all.keys()].filter((index) =>
          isAbove(bound as MagnitudeBound, all[index] ?? 0, index),
        );
        expect(above.filter((index) => all[index] !== 0)).toEqual(wanted.sort((i, j) => i - j));
      },
    );
    await fc.assert(check, { numRuns: 200 });
  });

  it('of a share counts zeros while it searches, and is as if their number had been known', async () => {
    const check = fc.asyncProperty(
      tensors,
      fc.double({ min: 0.01, max: 0.99, noNaN: true }),
      fc.integer({ min: 0, max: 40 }),
      async (numbers, share, sampleSize) => {
        const all = magnitudes(numbers);
        let passes = 0;
        const measurer = {
          histogram: async (
            _program: Program,
            _values: unknown,
            windows: Window[],
            bins: number,
            sample: boolean,
            zeros: boolean,
          ) => {
            if (sample) return countAll([all.subarray(0, sampleSize)], windows, bins);
            passes += 1;
            expect(zeros).toBe(passes === 1);
            return { ...countAll([all], windows, bins), zeros: [all.filter((bits) => bits === 0).length] };
          },
          sampleSize: () => Math.min(sampleSize, all.length),
          findTies: async (_program: Program, tied: readonly TiedElement[]) =>
            tied.map(
              ({ bits, ordinal }) =>
                [...all.keys()].filter((index) => all[index] === bits)[ordinal - 1] as number,
            ),
        } as unknown as Measurer;
        const to = { tensor: 'x', program: new Program([all.length]), measurer };
        const bound = await boundOfShare(to, { source: 0 }, share);
        const varying = [...all.keys()].filter((index) => all[index] !== 0);
        const order = [...varying].sort((i, j) => (all[j] ?? 0) - (all[i] ?? 0) || i - j);
        const wanted = order.slice(0, Math.floor(varying.length * share)).sort((i, j) => i - j);
        expect(varying.filter((index) => isAbove(bound, all[index] ?? 0, index))).toEqual(wanted);
      },
    );
    await fc.assert(check, { numRuns: 300 });
  });

  it('as a threshold is the k-th magnitude itself, the smallest too', async () => {
    const all = magnitudes(Float32Array.of(3, -1, 2, 2));
    const measurer = {
      histogram: async (_program: Program, values: unknown[], windows: Window[], bins: number) =>
        countAll(
          values.map(() => all),
          windows,
          bins,
        ),
      sampleSize: () => 0,
    } as unknown as Measurer;
    const bounds = await boundsOf(
      { tensor: 'x', program: new Program([4]), measurer },
      [1, 2, 3, 4].map((kept) => ({ value: { source: 0 }, kept, early: true, threshold: true })),
    );
    expect(bounds.map(({ bits }) => new Float32Array(Uint32Array.of(bits).buffer)[0])).toEqual([3, 2, 2, 1]);
  });
});

const mergeOver = async (
  base: Tensors,
  model: Tensors,
  method: string,
  parameters: Record<string, unknown>,
): Promise<Tensors> => {
  const root = temporaryDirectory();
  const [baseModel = '', expert = ''] = Object.entries({ base, expert: model }).map(([name, all]) =>
    writeCheckpoint(`${root}/${name}`, { tensors: all }),
  );
  const models = [{ model: expert, weight: 1 }];
  await merge({ method, base: baseModel, models, ...parameters } as RecipeInput, {
    out: `${root}/out`,
    allowNonFinite: true,
  });
  return await readTensors(`${root}/out`);
};

describe('what a merge keeps', () => {
  const f32 = (values: ArrayLike<number>) => ({
    dtype: 'F32',
    shape: [values.length],
    data: encode('F32', Array.from(values)),
  });

  it('is what a sort keeps: of equal magnitudes the first in ties, the last in breadcrumbs', async () => {
    const many = fc.sample(tensors, { numRuns: 25, seed: 7 });
    const named = (of: (numbers: Float32Array) => ArrayLike<number>): Tensors =>
      Object.fromEntries(many.map((numbers, index) => [`tensor.${index}`, f32(of(numbers))]));
    const zeros = named((numbers) => new Float32Array(numbers.length));
    const models = named((numbers) => numbers);
    const density = 0.4;
    const kept = await mergeOver(zeros, models, 'ties', { density });
    const middle = await mergeOver(zeros, models, 'breadcrumbs', { density, gamma: 0.2 });
    for (const [index, numbers] of many.entries()) {
      const all = magnitudes(numbers);
      const n = all.length;
      const first = [...all.keys()].sort((i, j) => (all[j] ?? 0) - (all[i] ?? 0) || i - j);
      const last = [...all.keys()].sort((i, j) => (all[j] ?? 0) - (all[i] ?? 0) || j - i);
      const top = Math.min(Math.floor(0.2 * n), n - Math.floor(density * n));
      const expected = (indexes: readonly number[], nanStays: boolean) =>
        Array.from(numbers, (x, i) =>
          indexes.includes(i) && (nanStays || !Number.isNaN(x)) ? Math.fround(x) + 0 : 0,
        );
      const got = (merged: Tensors) => decode('F32', merged[`tensor.${index}`]?.data ?? new Uint8Array());
      // NaN has no sign to elect.
      expect(got(kept)).toEqual(expected(first.slice(0, Math.max(1, Math.floor(density * n))), false));
      expect(got(middle)).toEqual(expected(last.slice(top, top + Math.floor(density * n)), true));
    }
  });

  it('is the same where a sample of a large tensor has guessed the threshold', async () => {
    const shape = [4100, 4100];
    const count = 4100 * 4100;
    let seed = 5;
    const bits = Uint16Array.from({ length: count }, () => {
      seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
      // Exponents of 2^-16 … 2^-1 with seven mantissa bits: 4,096 magnitudes, each of 4,000 elements.
      return ((seed >>> 31) << 15) | (((111 + ((seed >>> 24) & 15)) << 7) + ((seed >>> 16) & 127));
    });
    const tensor = (data: Uint8Array): Tensors => ({ large: { dtype: 'BF16', shape, data } });
    const merged = await mergeOver(
      tensor(new Uint8Array(2 * count)),
      tensor(new Uint8Array(bits.buffer)),
      'ties',
      { density: 0.3 },
    );
    const data = merged['large']?.data ?? new Uint8Array();
    const out = new Uint16Array(data.buffer, data.byteOffset, count);
    const sorted = bits.map((one) => one & 0x7fff).sort();
    const kept = Math.floor(0.3 * count);
    const threshold = sorted[count - kept] ?? 0;
    let left = kept - sorted.reduce((total, one) => total + (one > threshold ? 1 : 0), 0);
    let wrong = 0;
    for (let i = 0; i < count; i += 1) {
      const one = bits[i] ?? 0;
      const magnitude = one & 0x7fff;
      const stays = magnitude > threshold || (magnitude === threshold && left-- > 0);
      if (out[i] !== (stays ? one : 0)) wrong += 1;
    }
    expect(wrong).toBe(0);
  }, 120_000);
});
