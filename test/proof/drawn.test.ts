import { describe, expect, it } from 'vitest';
import { isAsDrawn } from '../../src/core/measure/proof/drawn.js';
import type { Evidence, Sampled } from '../../src/core/measure/proof/evidence.js';
import type { Source } from '../../src/core/measure/proof/sources.js';
import { generator } from '../fixtures/numbers.js';

const elements = 4096;
const random = generator(1);
const change = Float32Array.from({ length: elements }, () => random() - 0.5);

/** Keeps half the elements of the expert's change, scaled. The base is zeros. */
const drawn = (scale = 2): Float32Array => change.map((value) => (random() < 0.5 ? scale * value : 0));

const isDraw = (found: Float32Array, isRandom = true): boolean => {
  const base = { role: 'base' } as Source;
  const expert = { role: 'expert' } as Source;
  const sources = new Map([
    [base, new Float32Array(elements)],
    [expert, change],
  ]);
  const evidence = { expected: new Map([['w', { isRandom }]]) } as unknown as Evidence;
  return isAsDrawn(evidence, { name: 'w', found, wanted: drawn(), sources } as unknown as Sampled);
};

describe('another draw of a random method', () => {
  it.each<[string, Float32Array, boolean]>([
    ['of the same size', drawn(), true],
    ['half as large again', drawn(3), false],
    ['of the opposite sign', drawn(-2), false],
    ['that keeps nothing', new Float32Array(elements), false],
  ])('%s', (_, found, isOne) => {
    expect(isDraw(found)).toBe(isOne);
    expect(isDraw(found, false)).toBe(false);
  });
});
