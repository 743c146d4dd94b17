import { describe, expect, it } from 'vitest';
import { randomStudy, saidOf, tellings } from './invariance.js';

// A sample; `npm run test:invariance` has 2,000 studies.
const studies = [1, 2, 3, 4];

describe('figures, intervals and verdicts', () => {
  it.each(Object.keys(tellings))('are the same with %s', (name) => {
    for (const seed of studies) {
      const { experiment } = randomStudy(seed);
      const told = tellings[name]?.(randomStudy(seed));
      if (told === undefined) throw new Error(name);
      const { isMore = () => false, isOneLanguage = false } = told;
      // Another language may add rows, such as that of a configuration that is best there.
      expect(saidOf(told), `study ${seed}`).toMatchObject(saidOf({ experiment, isMore, isOneLanguage }));
    }
  });
});
