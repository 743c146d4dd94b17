import { LayerloomError } from '../base/errors.js';
import { propertyAt } from '../base/lookup.js';
import { optionName } from '../base/option-name.js';
import { nearest } from '../recipe/nearest.js';
import { choices } from '../training/choices.js';
import type { Category, Preset, PresetWithData, TrainingRow } from '../training/preset.js';
import { trainingData } from './training-data.js';
import { expertRuns } from './training-runs.js';

const languages = { jpn: 'japanese', swh: 'swahili', tel: 'telugu', ben: 'bengali' } as const;

const languageCodes = Object.keys(languages) as readonly (keyof typeof languages)[];

export const trainingPresets: readonly string[] = [...Object.keys(expertRuns), 'joint', 'math-only'];

const unknown = (parameter: string, value: string, names: readonly string[]): LayerloomError =>
  new LayerloomError('INVALID_PARAMETER', {
    parameter,
    value,
    expected: names.join(', '),
    nearest: nearest(value, names),
  });

/**
 * Returns a preset of training by its name: an expert of the paper, or a baseline.
 *
 * @param language of the joint baseline. Default `swh`, the paper's only one.
 * @throws LayerloomError INVALID_PARAMETER for unknown names, USAGE for a language beside another preset
 */
export const trainingPreset = (name: string, language: string | undefined): PresetWithData => ({
  preset: presetOf(name, language),
  sets: trainingData,
});

const presetOf = (name: string, language: string | undefined): Preset => {
  if (!trainingPresets.includes(name)) throw unknown('preset', name, trainingPresets);
  if (name === 'joint') {
    const code = languageCodes.find((each) => each === (language ?? 'swh'));
    if (code === undefined) throw unknown('language', String(language), languageCodes);
    return {
      title: `Joint SFT: math and ${capital(languages[code])} in one run (§5.2).`,
      row: expertRuns[choices.rowOfBaselines],
      number: 1,
      categories: ['math', languages[code]],
    };
  }
  if (language !== undefined)
    throw new LayerloomError('USAGE', {
      reason: `${optionName('language')} is for ${optionName('preset', 'joint')}; ${name} has its own data`,
    });
  if (name === 'math-only')
    return {
      title: 'Math-only SFT, a baseline of the follow-up (arXiv 2505.18356).',
      row: expertRuns[choices.rowOfBaselines],
      number: 1,
      categories: ['math'],
    };
  const [stem = '', number] = name.split('-');
  const category = stem === 'math' ? stem : propertyAt(languages, stem);
  return {
    title: `Expert ${name} of "Layer Swapping" (arXiv 2410.01335): SFT on the ${capital(category)} data.`,
    row: propertyAt<TrainingRow>(expertRuns, name),
    expert: name,
    number: Number(number),
    categories: [category as Category],
  };
};

const capital = (category: string): string =>
  category === 'math' ? category : `${category.charAt(0).toUpperCase()}${category.slice(1)}`;
