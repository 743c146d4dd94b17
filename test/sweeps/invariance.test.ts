import { describe, expect, it } from 'vitest';
import { randomStudy, saidOf, tellings } from '../scores/invariance.js';

// Each study is changed in one way, in turn. LAYERLOOM_STUDIES sets their number.
const studies = Number(process.env['LAYERLOOM_STUDIES'] ?? 100);
const names = Object.keys(tellings);

describe(`figures, intervals and verdicts of ${studies} random studies`, () => {
  it.each(names)('are the same with %s', (name) => {
    const turn = names.indexOf(name);
    for (let seed = 1; seed <= studies; seed += 1) {
      if (seed % names.length !== turn) continue;
      const { experiment } = randomStudy(seed);
      const told = tellings[name]?.(randomStudy(seed));
      if (told === undefined) throw new Error(name);
      const { isMore = () => false, isOneLanguage = false } = told;
      expect(saidOf(told), `study ${seed}`).toMatchObject(saidOf({ experiment, isMore, isOneLanguage }));
    }
  });
});
