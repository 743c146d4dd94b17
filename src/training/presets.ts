import { LayerloomError } from '../base/errors.js';
import { propertyAt } from '../base/lookup.js';
import { nearest } from '../recipe/nearest.js';
import { choices } from './choices.js';
import type { Category } from './table-3.js';
import { type TrainingRow, table4 } from './table-4.js';

/** What a preset trains: the data, the row of Table 4, and the number of the run. */
export interface Preset {
  readonly title: string;
  readonly row: TrainingRow;
  /** Undefined where Table 4 has no such run, and the row is ours. */
  readonly expert?: string;
  /** Number of the run, its default seed. */
  readonly number: number;
  readonly categories: readonly Category[];
}

const languages = { jpn: 'japanese', swh: 'swahili', tel: 'telugu', ben: 'bengali' } as const;

/** A language's code in names of experts. */
export type LanguageCode = keyof typeof languages;

export const languageCodes = Object.keys(languages) as readonly LanguageCode[];

export const presetNames: readonly string[] = [...Object.keys(table4), 'joint', 'math-only'];

const unknown = (parameter: string, value: string, names: readonly string[]): LayerloomError =>
  new LayerloomError('INVALID_PARAMETER', {
    parameter,
    value,
    expected: names.join(', '),
    nearest: nearest(value, names),
  });

/**
 * Returns a preset by its name.
 *
 * @param language of the joint baseline. Default `swh`, the paper's only one.
 * @throws LayerloomError INVALID_PARAMETER for unknown names, USAGE for a language beside another preset
 */
export const presetOf = (name: string, language: string | undefined): Preset => {
  if (!presetNames.includes(name)) throw unknown('preset', name, presetNames);
  if (name === 'joint') {
    const code = languageCodes.find((each) => each === (language ?? 'swh'));
    if (code === undefined) throw unknown('language', String(language), languageCodes);
    return {
      title: `Joint SFT: math and ${capital(languages[code])} in one run (§5.2).`,
      row: table4[choices.rowOfBaselines],
      number: 1,
      categories: ['math', languages[code]],
    };
  }
  if (language !== undefined)
    throw new LayerloomError('USAGE', {
      reason: `--language is for --preset joint; ${name} has its own data`,
    });
  if (name === 'math-only')
    return {
      title: 'Math-only SFT, a baseline of the follow-up (arXiv 2505.18356).',
      row: table4[choices.rowOfBaselines],
      number: 1,
      categories: ['math'],
    };
  const [stem = '', number] = name.split('-');
  const category = stem === 'math' ? stem : propertyAt(languages, stem);
  return {
    title: `Expert ${name} of "Layer Swapping" (arXiv 2410.01335): SFT on the ${capital(category)} data.`,
    row: propertyAt<TrainingRow>(table4, name),
    expert: name,
    number: Number(number),
    categories: [category as Category],
  };
};

const capital = (category: string): string =>
  category === 'math' ? category : `${category.charAt(0).toUpperCase()}${category.slice(1)}`;
