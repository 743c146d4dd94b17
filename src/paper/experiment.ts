import { layerloomCommand } from '../base/command-line.js';
import { LayerloomError } from '../base/errors.js';
import { nearest } from '../recipe/nearest.js';
import { presetEvaluation } from './experiment-evaluation.js';
import { isPresetName, type PresetName, presetNames, presets } from './experiment-merges.js';

export { type PresetName, presetNames } from './experiment-merges.js';

/** The models of a preset. Those not given are the paper's, with placeholder paths. */
export interface PresetModels {
  readonly base?: string | undefined;
  /** Paths by name. Relative ones begin in the folder of the experiment's file. */
  readonly tasks?: Readonly<Record<string, string>> | undefined;
  readonly languages?: Readonly<Record<string, Readonly<Record<string, string>>>> | undefined;
}

/**
 * Returns an experiment's file with the merges of a preset: what the paper compares (`paper`), its range of
 * configurations (`grid`), the ablation plan (`ablation`), …; docs/experiments.md lists them.
 *
 * @returns YAML with comments
 * @throws LayerloomError INVALID_PARAMETER for another preset
 */
export const experimentPreset = (preset: PresetName, models: PresetModels = {}): string => {
  if (!isPresetName(preset)) {
    const near = nearest(String(preset), presetNames);
    throw new LayerloomError('INVALID_PARAMETER', {
      parameter: 'preset',
      value: preset,
      expected: presetNames.join(', '),
      nearest: near,
    });
  }
  const { base = './llama-3.1-8b', tasks = expertsOf('math'), languages = paperLanguages } = models;
  const { title, merges } = presets[preset];
  const isPlaceholder = [models.base, models.tasks, models.languages].includes(undefined);
  return [
    `# ${title}`,
    `# Run it: ${layerloomCommand('batch', 'FILE', '-o', 'DIR', '--dry-run')} (what it costs), then without that option.`,
    ...(isPlaceholder ? ['# Put your own paths in; relative ones begin in the folder of this file.'] : []),
    '',
    '# What all experts were fine-tuned from.',
    `base: ${scalar(base)}`,
    '',
    '# Every task expert is merged with every expert of each language.',
    'tasks:',
    ...mapped(tasks, 2),
    'languages:',
    ...Object.entries(languages).flatMap(([language, experts]) => [
      `  ${scalar(language)}:`,
      ...mapped(experts, 4),
    ]),
    '',
    'merges:',
    merges,
    ...presetEvaluation(Object.keys(languages)),
    '',
  ].join('\n');
};

const expertsOf = (stem: string): Record<string, string> =>
  Object.fromEntries([1, 2, 3].map((index) => [`${stem}-${index}`, `./${stem}-${index}`]));

const paperLanguages: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  swahili: expertsOf('swh'),
  telugu: expertsOf('tel'),
  bengali: expertsOf('ben'),
  japanese: expertsOf('jpn'),
};

const mapped = (of: Readonly<Record<string, string>>, indent: number): string[] =>
  Object.entries(of).map(([name, path]) => `${' '.repeat(indent)}${scalar(name)}: ${scalar(path)}`);

/** Quotes a text as a YAML scalar, unless it cannot be read as anything but text. */
const scalar = (text: string): string =>
  /^(\.{0,2}\/|[a-z]+[-_/])[\w./-]*$/i.test(text) || /^(?!(true|false|null|inf|nan)$)[a-z]+$/i.test(text)
    ? text
    : JSON.stringify(text);
