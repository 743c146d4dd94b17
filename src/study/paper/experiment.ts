import { layerloomCommand } from '../../core/base/errors/command-line.js';
import { LayerloomError } from '../../core/base/errors/errors.js';
import { nearest } from '../../core/base/nearest.js';
import { checkProblems, type EvaluationChoices, presetEvaluation } from './experiment-evaluation.js';
import { isPresetName, type Preset, type PresetName, presetNames, presets } from './experiment-merges.js';

export { type EvaluationChoices, languagesWithoutTasks } from './experiment-evaluation.js';
export { type PresetName, presetNames } from './experiment-merges.js';

/** Models for a preset. If omitted, the paper's models with placeholder paths. */
export interface PresetModels {
  readonly base?: string | undefined;
  readonly tasks?: Readonly<Record<string, string>> | undefined;
  readonly languages?: Readonly<Record<string, Readonly<Record<string, string>>>> | undefined;
  /** Models to compare with: path, role and languages, by name. */
  readonly references?: Readonly<Record<string, PresetReference>> | undefined;
  /** Tasks by whose scores the experts were selected, with the rows used: `0-49`, or `all`. */
  readonly selectedBy?: Readonly<Record<string, string>> | undefined;
}

/** Model that is scored but not merged. */
export interface PresetReference {
  readonly model: string;
  readonly role: string;
  readonly languages?: readonly string[] | undefined;
}

/**
 * Returns an experiment's file with a preset's merges: the paper's comparison (`paper`), its range of
 * configurations (`grid`), the ablation plan (`ablation`), …; see docs/experiments.md.
 *
 * @param choices of the preset's `evaluate:`
 * @returns YAML with comments
 * @throws INVALID_PARAMETER for an unknown preset
 */
export const experimentPreset = (
  preset: PresetName,
  models: PresetModels = {},
  choices: EvaluationChoices = {},
): string => {
  if (!isPresetName(preset)) {
    const near = nearest(String(preset), presetNames);
    throw new LayerloomError('INVALID_PARAMETER', {
      parameter: 'preset',
      value: preset,
      expected: presetNames.join(', '),
      nearest: near,
    });
  }
  checkProblems(choices);
  const isPlaceholder = [models.base, models.tasks, models.languages].includes(undefined);
  const placeholders = placeholdersOf(preset);
  const { base = './llama-3.1-8b', tasks = placeholders.tasks, languages = placeholders.languages } = models;
  const { title, merges: entries, references, evaluation, scoring }: Preset = presets[preset];
  const merges =
    typeof entries === 'string'
      ? entries
      : entries({ tasks: Object.keys(tasks), languages: Object.values(languages).flatMap(Object.keys) });
  const scores = presetEvaluation(
    Object.keys(languages),
    { ...evaluation, ...given(choices) },
    models.selectedBy ?? {},
    scalar,
  );
  return [
    `# ${title}`,
    `# Run it: ${layerloomCommand('batch', 'FILE', '-o', 'DIR', '--dry-run')} (what it costs), then without that option.`,
    ...(isPlaceholder ? ['# Put your own paths in; relative ones begin in the folder of this file.'] : []),
    '',
    '# What all experts were fine-tuned from.',
    `base: ${scalar(base)}`,
    '',
    ...(merges === '' ? [] : ['# Every task expert is merged with every expert of each language.']),
    ...(Object.keys(tasks).length === 0 ? [] : ['tasks:', ...mapped(tasks, 2)]),
    ...(Object.keys(languages).length === 0 ? [] : ['languages:']),
    ...Object.entries(languages).flatMap(([language, experts]) => [
      `  ${scalar(language)}:`,
      ...mapped(experts, 4),
    ]),
    ...(models.references === undefined && references !== undefined
      ? [references]
      : referenceLines(models.references)),
    '',
    ...(merges === '' ? ['merges: []'] : ['merges:', merges]),
    ...scores,
    ...(scores.length === 0 || scoring === undefined ? [] : [scoring]),
    '',
  ].join('\n');
};

const given = (choices: EvaluationChoices): EvaluationChoices =>
  Object.fromEntries(Object.entries(choices).filter(([, value]) => value !== undefined));

const expertsOf = (stem: string): Record<string, string> =>
  Object.fromEntries([1, 2, 3].map((index) => [`${stem}-${index}`, `./${stem}-${index}`]));

const paperLanguages: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  swahili: expertsOf('swh'),
  telugu: expertsOf('tel'),
  bengali: expertsOf('ben'),
  japanese: expertsOf('jpn'),
};

const placeholdersOf = (preset: PresetName) =>
  preset === 'modular'
    ? {
        tasks: { math: './math', 'math-frozen': './math-frozen' },
        languages: { swahili: { swh: './swh', 'swh-frozen': './swh-frozen' } },
      }
    : { tasks: expertsOf('math'), languages: paperLanguages };

const referenceLines = (references: PresetModels['references'] = {}): string[] =>
  Object.keys(references).length === 0
    ? []
    : [
        '# Models to compare with: scored, never merged.',
        'references:',
        ...Object.entries(references).map(
          ([name, { model, role, languages }]) =>
            `  ${scalar(name)}: {model: ${scalar(model)}, role: ${role}${languages === undefined ? '' : `, languages: [${languages.map(scalar).join(', ')}]`}}`,
        ),
      ];

const mapped = (of: Readonly<Record<string, string>>, indent: number): string[] =>
  Object.entries(of).map(([name, path]) => `${' '.repeat(indent)}${scalar(name)}: ${scalar(path)}`);

/** Formats a YAML scalar. Quotes a text unless YAML reads it as text anyway. */
const scalar = (text: string): string =>
  /^(\.{0,2}\/|[a-z]+[-_/])[\w./-]*$/i.test(text) || /^(?!(true|false|null|inf|nan)$)[a-z]+$/i.test(text)
    ? text
    : JSON.stringify(text);
