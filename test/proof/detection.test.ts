import { describe, expect, it } from 'vitest';
import { detectionOf } from '../../src/core/measure/proof/sample/detection.js';
import { drawTiles } from '../../src/core/measure/proof/sample/draw.js';

// Tensors of a small model, in elements, and tiles of 64; most tensors end with a shorter tile.
const sizes = [1000, 1000, 700, 500, 40, 40];
const tilesOf = (elements: number) =>
  Array.from({ length: Math.ceil(elements / 64) }, (_, index) => ({
    first: index * 64,
    count: Math.min(64, elements - index * 64),
  }));
const tensors = sizes.map((elements, index) => ({ name: `t${index}`, elements, tiles: tilesOf(elements) }));
const all = sizes.reduce((a, b) => a + b, 0);

const sampleOf = (seed: number, share: number) =>
  tensors.map(({ name, elements, tiles }) => {
    const drawn = drawTiles(name, tiles, { share, seed });
    return { name, elements, tiles, drawn, drawnElements: drawn.reduce((sum, { count }) => sum + count, 0) };
  });

type Sample = ReturnType<typeof sampleOf>;

const stated = (sample: Sample) =>
  detectionOf(
    sample.map((tensor) => ({ ...tensor, tiles: tensor.tiles.length, drawn: tensor.drawn.length })),
  );

const trials = 2000;

const samples = new Map<number, readonly Sample[]>();
/** Samples by the first 2,000 seeds. */
const samplesOf = (share: number): readonly Sample[] => {
  const made = samples.get(share) ?? Array.from({ length: trials }, (_, seed) => sampleOf(seed, share));
  samples.set(share, made);
  return made;
};

/** Numbers from 0 to 1, by mulberry32. */
const random = (seed: number) => {
  let state = seed;
  return (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
};

const holds = (drawn: ReturnType<typeof tilesOf>, at: number): boolean =>
  drawn.some(({ first, count }) => first <= at && at < first + count);

/** The tensor and the element of a place in the whole model. */
const placeOf = (place: number): readonly [number, number] => {
  let left = place;
  const tensor = sizes.findIndex((elements) => {
    if (left < elements) return true;
    left -= elements;
    return false;
  });
  return [tensor, left];
};

describe('the stated chance to find a change, in 2,000 simulated changes', () => {
  it.each([
    [0.05, 1],
    [0.05, 10],
    [0.05, 100],
    [0.2, 1],
    [0.2, 10],
  ])('of random elements: share %d, %d elements', (share, changed) => {
    const next = random(changed);
    let [found, expected] = [0, 0];
    for (const sample of samplesOf(share)) {
      const places = new Set<number>();
      while (places.size < changed) places.add(Math.floor(next() * all));
      const isFound = [...places].some((place) => {
        const [tensor, at] = placeOf(place);
        return holds(sample[tensor]?.drawn ?? [], at);
      });
      if (isFound) found += 1;
      expected +=
        stated(sample).random.find(({ elements }) => elements === changed)?.probability ?? Number.NaN;
    }
    const chance = expected / trials;
    expect(Math.abs(found / trials - chance)).toBeLessThan(
      4 * Math.sqrt((chance * (1 - chance)) / trials) + 1e-3,
    );
  });

  it.each([0.05, 0.2])('within one tile, in the tensor with the least chance: share %d', (share) => {
    const chance = stated(sampleOf(0, share)).oneTile;
    const next = random(7);
    let found = 0;
    const least = sampleOf(0, share).toSorted(
      (a, b) => a.drawn.length / a.tiles.length - b.drawn.length / b.tiles.length,
    )[0];
    if (least === undefined) throw new Error('there is no tensor');
    for (const sample of samplesOf(share)) {
      const at = Math.floor(next() * least.tiles.length) * 64;
      if (holds(sample.find(({ name }) => name === least.name)?.drawn ?? [], at)) found += 1;
    }
    expect(chance).toBeGreaterThanOrEqual(share);
    expect(Math.abs(found / trials - chance)).toBeLessThan(4 * Math.sqrt((chance * (1 - chance)) / trials));
  });
});

describe('a draw', () => {
  it('has at least one tile of each tensor, and all for the share 1', () => {
    for (const { drawn } of sampleOf(3, 1e-9)) expect(drawn).toHaveLength(1);
    for (const { drawn, tiles } of sampleOf(3, 1)) expect(drawn).toEqual(tiles);
    expect(stated(sampleOf(3, 1))).toEqual({ random: expect.anything(), oneTile: 1 });
    for (const { probability } of stated(sampleOf(3, 1)).random) expect(probability).toBe(1);
  });

  it('is the same for the same seed only', () => {
    expect(sampleOf(5, 0.1)).toEqual(sampleOf(5, 0.1));
    expect(sampleOf(5, 0.1)).not.toEqual(sampleOf(6, 0.1));
  });

  it('takes each tile equally often, also the last', () => {
    const tiles = tilesOf(1000);
    const times = new Map(tiles.map(({ first }) => [first, 0]));
    for (let seed = 0; seed < trials; seed += 1)
      for (const { first } of drawTiles('t', tiles, { share: 0.25, seed }))
        times.set(first, (times.get(first) ?? 0) + 1);
    const deviation = Math.sqrt(trials * 0.25 * 0.75);
    for (const count of times.values()) expect(Math.abs(count - trials * 0.25)).toBeLessThan(5 * deviation);
  });
});
