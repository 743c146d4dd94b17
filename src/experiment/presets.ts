import { LayerloomError } from '../errors.js';
import { nearest } from '../recipe/nearest.js';

export const presetNames = ['paper', 'ablation', 'grid'] as const;

export type PresetName = (typeof presetNames)[number];

/** The models of a preset. Those not given are the paper's, with placeholder paths. */
export interface PresetModels {
  readonly base?: string | undefined;
  /** Paths by name. Relative ones begin in the folder of the experiment's file. */
  readonly tasks?: Readonly<Record<string, string>> | undefined;
  readonly languages?: Readonly<Record<string, Readonly<Record<string, string>>>> | undefined;
}

/**
 * Returns an experiment's file: `paper` has the merges that the paper compares (§4.2, §5, Table 6),
 * `ablation` changes one choice of layer swapping at a time, `grid` has the 81 configurations of §4.2's
 * ranges for each pair.
 *
 * @returns YAML with comments
 * @throws LayerloomError INVALID_PARAMETER for another preset
 */
export const experimentPreset = (preset: PresetName, models: PresetModels = {}): string => {
  if (!presetNames.includes(preset)) {
    const near = nearest(String(preset), presetNames);
    throw new LayerloomError('INVALID_PARAMETER', {
      parameter: 'preset',
      value: preset,
      expected: `${presetNames.join(', ')}${near === undefined ? '' : `; did you mean ${near}?`}`,
    });
  }
  const { base = './llama-3.1-8b', tasks = expertsOf('math'), languages = paperLanguages } = models;
  const isPlaceholder = [models.base, models.tasks, models.languages].includes(undefined);
  return [
    `# ${titles[preset]}`,
    '# Run it: layerloom batch FILE -o DIR --dry-run (what it costs), then without --dry-run.',
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
    merges[preset],
    ...evaluation(Object.keys(languages)),
    '',
  ].join('\n');
};

const titles: Readonly<Record<PresetName, string>> = {
  paper:
    'What the layer-swapping paper compares (arXiv 2410.01335): the default swap, soups, TIES, and swaps of soups.',
  ablation: 'One choice of layer swapping changed at a time, everything else at its default.',
  grid: "Layer swapping over the paper's whole range (§4.2): 81 configurations a pair.",
};

const merges: Readonly<Record<PresetName, string>> = {
  paper: `\
  # The paper's default (§4.2): 5 bottom and 2 top layers of the language expert, no transition.
  - {name: default, method: layer_swap}
  # How many layers: from none swapped to more than the default, [bottom, top].
  - {name: layers, method: layer_swap, layers: [[0, 0], [3, 1], [5, 2], [8, 4]]}
  # A transition zone of one averaged layer on either side; the default has none.
  - {name: transition, method: layer_swap, bottom_transition: 1, top_transition: 1}
  # Model soups (§5); the paper reports the better of the two for each language.
  - {name: soup, method: soup, weights: [uniform, magnitude]}
  # TIES (§5; the paper: Swahili alone). To merge some pairs only: language: [swh-1, swh-2].
  - {name: ties, method: ties, density: [0.2, 0.5]}
  # Table 6: the soup of a language's experts with the soup of the task experts, one merge a language ...
  - {name: soup-of-each, method: layer_swap, task: soup, language: soup}
  # ... and the soup of every language's experts, one merge for all of them.
  - {name: multilingual, method: layer_swap, task: soup, language: all-soup}`,
  ablation: `\
  # The paper's default (§4.2), which all others differ from in one choice.
  - {name: default, method: layer_swap}
  # How many layers come from the language expert, [bottom, top].
  - {name: layers, method: layer_swap, layers: [[0, 0], [3, 1], [5, 2], [8, 4]]}
  # A transition zone of one averaged layer on either side; the default has none.
  - {name: transition, method: layer_swap, bottom_transition: 1, top_transition: 1}
  # What is outside the layers: embeddings, final norm, head.
  - {name: others, method: layer_swap, others: [average, task, language]}
  # Norms inside a layer: swapped with it, or averaged, as Algorithm 1 reads literally.
  - {name: norms, method: layer_swap, norms: [layer, average]}
  # Weights of averages: equal, or 1 / mean MAV of each expert (magnitude needs the base).
  - {name: weights, method: layer_swap, weights: [uniform, magnitude]}`,
  grid: `\
  # 3 x 3 x 3 x 3 configurations. weights: [uniform, magnitude] makes it twice as many.
  - name: grid
    method: layer_swap
    bottom: [3, 4, 5]
    top: [0, 1, 2]
    bottom_transition: [0, 1, 2]
    top_transition: [0, 1, 2]`,
};

const expertsOf = (stem: string): Record<string, string> =>
  Object.fromEntries([1, 2, 3].map((index) => [`${stem}-${index}`, `./${stem}-${index}`]));

const paperLanguages: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  swahili: expertsOf('swh'),
  telugu: expertsOf('tel'),
  bengali: expertsOf('ben'),
  japanese: expertsOf('jpn'),
};

/** The languages of the MGSM benchmark, with its codes for them. */
const mgsm: Readonly<Record<string, string>> = {
  bengali: 'bn',
  chinese: 'zh',
  french: 'fr',
  german: 'de',
  japanese: 'ja',
  russian: 'ru',
  spanish: 'es',
  swahili: 'sw',
  telugu: 'te',
  thai: 'th',
};

const evaluation = (languages: readonly string[]): string[] => {
  const tasks = languages.filter((language) => Object.hasOwn(mgsm, language));
  if (tasks.length === 0) return [];
  return [
    '',
    '# How merges are scored: MGSM, 8-shot, as in the paper.',
    'evaluate:',
    '  harness: lm-eval',
    '  tasks:',
    ...tasks.map((language) => `    ${language}: mgsm_direct_${mgsm[language]}`),
    '  fewshot: 8',
  ];
};

const mapped = (of: Readonly<Record<string, string>>, indent: number): string[] =>
  Object.entries(of).map(([name, path]) => `${' '.repeat(indent)}${scalar(name)}: ${scalar(path)}`);

/** Quotes a text as a YAML scalar, unless it cannot be read as anything but text. */
const scalar = (text: string): string =>
  /^(\.{0,2}\/|[a-z]+[-_/])[\w./-]*$/i.test(text) || /^(?!(true|false|null|inf|nan)$)[a-z]+$/i.test(text)
    ? text
    : JSON.stringify(text);
