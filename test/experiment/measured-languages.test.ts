import { describe, expect, it } from 'vitest';
import { type MeasuredModel, measuredLanguages } from '../../src/study/experiment/file/measured-languages.js';

const experiment = {
  ownLanguages: ['swahili', 'telugu'],
  evaluatedLanguages: ['english', 'telugu', 'swahili', 'german'],
  everyLanguage: false,
};
const all = ['swahili', 'telugu', 'english', 'german'];

describe('the languages a model is measured in', () => {
  it.each<[MeasuredModel, string[]]>([
    [{ role: 'base' }, all],
    [{ role: 'task' }, all],
    [{ role: 'joint' }, all],
    [{ role: 'joint', languages: ['telugu'] }, ['telugu', 'english', 'german']],
    [{ role: 'language', languages: ['swahili'] }, ['swahili', 'english', 'german']],
    [{ role: 'merge', languages: ['telugu'] }, ['telugu', 'english', 'german']],
    [{ role: 'merge', languages: ['all'] }, all],
  ])('of %j', (model, languages) => {
    expect(measuredLanguages(experiment)(model)).toEqual(languages);
    expect(measuredLanguages({ ...experiment, everyLanguage: true })(model)).toEqual(all);
    expect(measuredLanguages(experiment)({ ...model, languages })).toEqual(languages);
  });

  it('are those that have tasks', () => {
    const one = { ...experiment, evaluatedLanguages: ['swahili'] };
    expect(measuredLanguages(one)({ role: 'base' })).toEqual(['swahili']);
    expect(measuredLanguages(one)({ role: 'merge', languages: ['telugu'] })).toEqual([]);
  });
});
