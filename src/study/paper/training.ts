import { LayerloomError } from '../../core/base/errors/errors.js';
import { invalidParameter } from '../../core/base/errors/invalid-parameter.js';
import { propertyAt } from '../../core/base/errors/lookup.js';
import { optionName } from '../../core/base/errors/option-name.js';
import { capitalised } from '../../core/base/format.js';
import { nearest } from '../../core/base/nearest.js';
import { choices } from '../training/settings/choices.js';
import type { Category, Preset, PresetWithData, TrainingRow } from '../training/settings/preset.js';
import { trainingData } from './training-data.js';
import { expertRuns } from './training-runs.js';

const languages = { jpn: 'japanese', swh: 'swahili', tel: 'telugu', ben: 'bengali' } as const;

const languageCodes = Object.keys(languages) as readonly (keyof typeof languages)[];

const ownPresets = ['own-task', 'own-language'];

export const trainingPresets: readonly string[] = [
  ...Object.keys(expertRuns),
  'joint',
  'math-only',
  ...ownPresets,
];

/** Our values for a few thousand samples: a larger rate and fewer steps than the paper's. */
const ownRow: TrainingRow = {
  learningRate: 1e-5,
  batchSize: 8,
  sequenceLength: 1024,
  weightDecay: 0.01,
  maxGradNorm: 1,
  schedule: 'linear',
  // `trainingRunOf` derives the warm-up from the steps.
  warmup: 0,
  beta2: 0.999,
};

const unknown = (parameter: string, value: string, names: readonly string[]): LayerloomError =>
  new LayerloomError('INVALID_PARAMETER', {
    parameter,
    value,
    expected: names.join(', '),
    nearest: nearest(value, names),
  });

/**
 * Returns a training preset by name: an expert of the paper, or a baseline.
 *
 * @param language for `joint` (default `swh`, the paper's) and `own-language`
 * @throws INVALID_PARAMETER for unknown names, USAGE for a language with another preset
 */
export const trainingPreset = (name: string, language: string | undefined): PresetWithData => ({
  preset: presetOf(name, language),
  sets: trainingData,
});

const presetOf = (name: string, language: string | undefined): Preset => {
  if (!trainingPresets.includes(name)) throw unknown('preset', name, trainingPresets);
  if (name === 'own-language') return ownLanguage(language);
  if (name === 'joint') {
    const code = languageCodes.find((each) => each === (language ?? 'swh'));
    if (code === undefined) throw unknown('language', String(language), languageCodes);
    return {
      title: `Joint SFT: math and ${capital(languages[code])} in one run (§5.2).`,
      row: expertRuns[choices.rowOfBaselines],
      number: 1,
      categories: ['math', languages[code]],
      language: languages[code],
      ...(language === undefined ? {} : { stem: `joint-${code}` }),
    };
  }
  if (language !== undefined)
    throw new LayerloomError('USAGE', {
      reason: `${optionName('language')} is for ${optionName('preset', 'joint')} and own-language; ${name} has its own data`,
    });
  if (name === 'own-task')
    return {
      ...own,
      title: 'An expert of a task, by SFT on data of your own.',
      categories: ['own-task'],
      stem: 'task',
    };
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
    ...(stem === 'math' ? {} : { language: String(category) }),
  };
};

const own = { row: ownRow, isOwnRow: true, number: 1, samples: choices.own.samples } as const;

const ownLanguage = (language: string | undefined): Preset => {
  if (language === undefined)
    throw new LayerloomError('USAGE', {
      reason: `${optionName('preset', 'own-language')} needs ${optionName('language')}, its name in experiments, such as japanese`,
    });
  // In an experiment, `all` means the merges of all languages.
  if (!/^[\p{L}\p{N}][\p{L}\p{N}._-]{0,63}$/u.test(language) || language.toLowerCase() === 'all')
    throw invalidParameter('language', language, 'letters, digits, . _ and -, at most 64, and not all');
  return {
    ...own,
    stem: language,
    title: `An expert of ${language}, by SFT on data of your own.`,
    categories: ['own-language'],
    language,
  };
};

const capital = (category: string): string => (category === 'math' ? category : capitalised(category));
