import { describe, expect, it } from 'vitest';
import { describeSuggestion } from '../../src/cli/text/models/suggestion-text.js';
import { suggestLayers } from '../../src/core/measure/analysis/advice/suggestion.js';
import { publishedProfile } from '../fixtures/published-profile.js';

/** An expert with this profile, and a tenth of its change outside the layers. */
const expertOf = (name: string, profile: readonly number[]) => ({
  name,
  profile,
  shares: { layers: profile.map((share) => 0.9 * share), outside: 0.1 },
});

const suggested = (task: readonly number[], language: readonly number[], budget = 9) =>
  suggestLayers(expertOf('math', task), expertOf('swh', language), { budget });

const even = (layers: number) => Array.from({ length: layers }, () => 1 / layers);

/** A profile in which some layers have `times` as much as the others. */
const raised = (layers: number, raises: (layer: number) => boolean, times: number): number[] => {
  const all = Array.from({ length: layers }, (_, layer) => (raises(layer) ? times : 1));
  const total = all.reduce((sum, of) => sum + of, 0);
  return all.map((of) => of / total);
};

describe('suggested layers on the published figures', () => {
  // §4.2 found 3 to 5 and 0 to 2 effective, and the best task expert, the second, to want fewer.
  it.each([
    ['4-math-1', '6-swahili-1', 5, 2],
    ['4-math-1', '7-japanese-1', 5, 2],
    ['4-math-1', '8-telugu-1', 5, 1],
    ['4-math-1', '9-bengali-1', 5, 1],
    ['5-math-2', '6-swahili-1', 5, 1],
    ['5-math-2', '7-japanese-1', 5, 0],
    ['5-math-2', '8-telugu-1', 5, 0],
    ['5-math-2', '9-bengali-1', 5, 0],
  ] as const)('are in the ranges of the paper for %s and %s', (task, language, bottom, top) => {
    const found = suggested(publishedProfile(task), publishedProfile(language));
    expect(found).toMatchObject({ bottom, top, undecided: [] });
    // The figures do not choose among the numbers of bottom layers, and the reason says so.
    expect(found.reasons.bottom).toMatch(
      /^the paper's default; the changes allow \d to \d+ and do not choose/,
    );
  });

  it('say which choice is near-tied', () => {
    const { reasons } = suggested(publishedProfile('4-math-1'), publishedProfile('9-bengali-1'));
    expect(reasons.top).toBe("near-tied: 0 or 1; 1 is the nearest to the paper's default, 2");
  });

  it('name the layer that speaks against more layers', () => {
    const { reasons } = suggested(publishedProfile('5-math-2'), publishedProfile('6-swahili-1'));
    expect(reasons.top).toBe(
      "not the paper's default, 2: math has more of its largest changes in layer 30 than swh",
    );
  });
});

describe('suggested layers', () => {
  it.each([2, 3, 4])('of %i layers are a swap, and no swap of all or none', (layers) => {
    const { bottom, top, swaps } = suggested(even(layers), even(layers));
    expect(bottom + top).toBeGreaterThan(0);
    for (const swap of swaps) {
      expect(swap.bottom + swap.top).toBeGreaterThan(0);
      expect(swap.bottom + swap.top).toBeLessThan(layers);
    }
  });

  it.each([
    ['both changed all layers alike', even(32), even(32)],
    ['both changed the same layers', raised(32, (at) => at > 20, 9), raised(32, (at) => at > 20, 8)],
    ['speaks against any swap', raised(32, (at) => at < 3 || at > 28, 9), even(32)],
  ])('are the paper’s default as such where %s', (reason, task, language) => {
    const found = suggested(task, language);
    expect(found).toMatchObject({ bottom: 5, top: 2 });
    expect(found.undecided).toEqual([expect.stringContaining(reason)]);
    expect(found.reasons.bottom).toContain('the measurements say nothing');
  });

  it('are the default as such for an expert that changed no layer, and for a doubted base', () => {
    const still = { ...expertOf('swh', even(32)), profile: undefined };
    const moved = expertOf(
      'math',
      raised(32, (at) => at > 20, 9),
    );
    expect(suggestLayers(moved, still, { budget: 1 })).toMatchObject({
      ...{ bottom: 5, top: 2, undecided: ['swh changed no matrix of a layer'] },
    });
    const other = expertOf(
      'swh',
      raised(32, (at) => at < 9, 6),
    );
    expect(suggestLayers(moved, other, { budget: 1, doubts: ['a doubt'] })).toMatchObject({
      ...{ bottom: 5, undecided: ['a doubt'] },
    });
    expect(suggestLayers(moved, other, { budget: 1 })).toMatchObject({ bottom: 9, undecided: [] });
  });

  it('are the default as such where all changes contradict the largest ones', () => {
    const [task, language] = ['5-math-2', '6-swahili-1'].map((name) => publishedProfile(name));
    const swh = expertOf('swh', language ?? []);
    const concentrated = { ...swh, shares: { layers: raised(32, (at) => at === 30, 1e6), outside: 0 } };
    const math = {
      ...expertOf('math', task ?? []),
      shares: { layers: raised(32, (at) => at === 12, 1e6), outside: 0 },
    };
    expect(suggestLayers(math, concentrated, { budget: 1 })).toMatchObject({
      ...{ bottom: 5, top: 2 },
      undecided: [
        'the largest changes ask for 5 and 1, which lose 100.0 % more of all changes of swh than 5 and 2',
      ],
    });
    // The task expert would lose as much as the other gains.
    const alike = { ...math, shares: concentrated.shares };
    expect(suggestLayers(alike, concentrated, { budget: 1 })).toMatchObject({ top: 1, undecided: [] });
  });

  it.each([
    ['say so where the middle holds most of the language expert’s change', 12, true],
    ['do not where the ends hold it', 1, false],
  ])('%s', (_, at, isSaid) => {
    const math = expertOf('math', publishedProfile('4-math-1'));
    const swh = {
      ...expertOf('swh', publishedProfile('6-swahili-1')),
      shares: { layers: raised(32, (layer) => layer === at, 1e3), outside: 0 },
    };
    const text = describeSuggestion({
      ...suggestLayers(math, swh, { budget: 9 }),
      ...{ task: { name: 'math', meanMav: 1 }, language: { name: 'swh', meanMav: 1 }, layers: 32 },
      ...{ command: '', experiment: { merges: [] }, bytesRead: 0, seconds: 0, warnings: [] },
    });
    expect(/an even\s+spread\s+would/.test(text)).toBe(isSaid);
  });

  it('follow a language expert that changed more layers, or fewer', () => {
    const more = suggested(
      raised(32, (at) => at > 8 && at < 28, 6),
      raised(32, (at) => at < 9 || at > 27, 6),
    );
    expect(more).toMatchObject({ bottom: 9, top: 4, undecided: [] });
    expect(more.reasons.bottom).toContain('in each of the first 9 layers');
    const fewer = suggested(
      raised(32, (at) => at > 2, 3),
      raised(32, (at) => at < 2, 30),
    );
    expect(fewer).toMatchObject({ bottom: 3 });
  });

  it('keep, drop and halve all of each change', () => {
    const { swaps } = suggested(
      raised(32, (at) => at > 20, 9),
      raised(32, (at) => at < 9, 6),
      50,
    );
    for (const { task, language } of swaps)
      for (const { kept, dropped, halved } of [task, language]) {
        expect(kept + dropped + halved).toBeCloseTo(1);
        expect(halved).toBeCloseTo(0.1);
        expect(Math.min(kept, dropped)).toBeGreaterThanOrEqual(0);
      }
  });

  it.each([1, 2, 9, 40])(
    'give at most %i swaps, each once, the suggested one and the default first',
    (budget) => {
      const { bottom, top, swaps } = suggested(
        even(32),
        raised(32, (at) => at < 9, 6),
        budget,
      );
      expect(swaps.length).toBeLessThanOrEqual(budget);
      expect(new Set(swaps.map((of) => `${of.bottom} ${of.top}`)).size).toBe(swaps.length);
      expect(swaps[0]).toMatchObject({ bottom, top });
      if (budget > 1) expect(swaps[1]).toMatchObject({ bottom: 5, top: 2 });
    },
  );

  it.each([1, 2, 3, 8, 16, 80])('fit models of %i layers', (layers) => {
    const { bottom, top, swaps } = suggested(
      raised(layers, (at) => at >= layers / 2, 9),
      raised(layers, (at) => at < layers / 2, 9),
      99,
    );
    for (const of of [{ bottom, top }, ...swaps]) {
      expect(Math.min(of.bottom, of.top)).toBeGreaterThanOrEqual(0);
      expect(of.bottom + of.top).toBeLessThanOrEqual(layers);
    }
  });
});
