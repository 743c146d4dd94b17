import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Box, boxesOfRange, coverProblem, runsOf, unitOf } from '../../src/core/tensor/boxes.js';

/** Cuts a box by planes, in random dimensions and places. */
const cut = (box: Box, choices: readonly number[]): readonly Box[] => {
  const [choice, ...rest] = choices;
  if (choice === undefined) return [box];
  const dimension = choice % box.sizes.length;
  const size = box.sizes[dimension] ?? 0;
  if (size < 2) return cut(box, rest);
  const first = 1 + (choice % (size - 1));
  const part = (from: number, extent: number): Box => ({
    at: box.at.map((at, index) => (index === dimension ? at + from : at)),
    sizes: box.sizes.map((other, index) => (index === dimension ? extent : other)),
  });
  const half = Math.ceil(rest.length / 2);
  return [...cut(part(0, first), rest.slice(0, half)), ...cut(part(first, size - first), rest.slice(half))];
};

const shapes = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 4 });
const choices = fc.array(fc.nat(1000), { maxLength: 9 });

const elements = (shape: readonly number[]): number => shape.reduce((product, extent) => product * extent, 1);

it('accepts boxes that planes cut, whose runs hold each element once, in whole units', () => {
  fc.assert(
    fc.property(shapes, choices, (shape, cuts) => {
      const boxes = cut({ at: shape.map(() => 0), sizes: shape }, cuts);
      expect(coverProblem(shape, boxes)).toBeUndefined();
      const unit = unitOf(shape, boxes);
      const held = new Map<number, number>();
      for (const box of boxes) {
        const runs = runsOf(shape, box);
        let next = 0;
        for (const [to, from, count] of runs) {
          expect([to % unit, from, count % unit]).toEqual([0, next, 0]);
          next += count;
          for (let at = to; at < to + count; at += 1) held.set(at, (held.get(at) ?? 0) + 1);
        }
        expect(next).toBe(elements(box.sizes));
        expect(runs.map(([to]) => to)).toEqual(runs.map(([to]) => to).sort((a, b) => a - b));
      }
      expect([...held.values()]).toEqual(Array.from({ length: elements(shape) }, () => 1));
    }),
  );
});

it('refuses boxes of which one is left out, doubled or moved', () => {
  fc.assert(
    fc.property(shapes, choices, fc.nat(), (shape, cuts, pick) => {
      const boxes = cut({ at: shape.map(() => 0), sizes: shape }, cuts);
      const index = pick % boxes.length;
      const box = boxes[index] as Box;
      const others = boxes.filter((_, at) => at !== index);
      expect(coverProblem(shape, others)).toMatch(/its pieces lack/);
      expect(coverProblem(shape, [...boxes, box])).toBe('its pieces overlap or interlock');
      const moved = { ...box, at: box.at.map((at, dimension) => (dimension === 0 ? at + 1 : at)) };
      expect(coverProblem(shape, [...others, moved])).toBeDefined();
    }),
  );
});

it.each<[string, number[], Box[], RegExp]>([
  ['of other dimensions', [4], [{ at: [0, 0], sizes: [4, 1] }], /lies outside/],
  ['beyond the shape', [4], [{ at: [2 ** 53 - 1], sizes: [4] }], /lies outside/],
  [
    'of too many runs',
    [2 ** 23, 2],
    [0, 1].map((column) => ({ at: [0, column], sizes: [2 ** 23, 1] })),
    /more than 4194304 runs/,
  ],
  [
    'of too many pieces',
    [2000],
    Array.from({ length: 2000 }, (_, at) => ({ at: [at], sizes: [1] })),
    /has 2000 pieces/,
  ],
])('refuses boxes %s', (_, shape, boxes, message) => {
  expect(coverProblem(shape, boxes)).toMatch(message);
});

it('cuts a range of elements into boxes whose runs are that range', () => {
  const extents = fc.array(fc.integer({ min: 1, max: 5 }), { maxLength: 4 });
  fc.assert(
    fc.property(extents, fc.nat(), fc.nat(), (shape, a, b) => {
      const all = shape.reduce((product, extent) => product * extent, 1);
      const [from = 0, to = 0] = [a % (all + 1), b % (all + 1)].sort((one, other) => one - other);
      const boxes = boxesOfRange(shape, from, to);
      expect(boxes.length).toBeLessThanOrEqual(Math.max(1, 2 * shape.length));
      const elements = boxes.flatMap((box) =>
        runsOf(shape, box).flatMap(([first, , count]) =>
          Array.from({ length: count }, (_, index) => first + index),
        ),
      );
      expect(elements).toEqual(Array.from({ length: to - from }, (_, index) => from + index));
      const [before, after] = [boxesOfRange(shape, 0, from), boxesOfRange(shape, to, all)];
      expect(coverProblem(shape, [...before, ...boxes, ...after])).toBeUndefined();
    }),
  );
});
