import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nearest } from '../../src/core/base/nearest.js';

const keys = ['density', 'weight', 'bottom_transition', 'top', 'task', 't', 'lambda'];

describe('the nearest word', () => {
  it.each([
    ['densty', 'density'],
    ['desnity', 'density'],
    ['wieght', 'weight'],
    ['WEIGHT', 'weight'],
    ['weights', 'weight'],
    ['bottomTransition', 'bottom_transition'],
    ['bottom-transition', 'bottom_transition'],
    ['botom_transitions', 'bottom_transition'],
    ['tpo', 'top'],
    ['lamda', 'lambda'],
  ])('to %s is %s', (word, expected) => expect(nearest(word, keys)).toBe(expected));

  it.each(['w', 'epsilon', 'gamma', '', 'x'.repeat(1_000_000)])('to %.10s is none', (word) => {
    expect(nearest(word, keys)).toBeUndefined();
  });

  it('is the word itself where it is a candidate', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 30 }), (word) => {
        expect(nearest(word, [word])).toBe(word);
      }),
    );
  });

  it('of a word of three letters or more is found through one slip', () => {
    const letters = fc.string({ unit: fc.constantFrom(...'abcdefgh'), minLength: 3, maxLength: 20 });
    fc.assert(
      fc.property(
        letters,
        fc.nat(),
        fc.constantFrom('drop', 'double', 'change', 'swap'),
        (word, seed, slip) => {
          const at = seed % (word.length - 1);
          const [before, here, next, after] = [word.slice(0, at), word[at], word[at + 1], word.slice(at + 2)];
          const slips = {
            drop: `${before}${next}${after}`,
            double: `${before}${here}${here}${next}${after}`,
            change: `${before}z${next}${after}`,
            swap: `${before}${next}${here}${after}`,
          };
          expect(nearest(slips[slip], [word])).toBe(word);
        },
      ),
    );
  });
});
