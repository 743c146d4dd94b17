import { layerloomCommand } from '../base/command-line.js';

/** The languages of the MGSM benchmark, with its codes for them. */
const mgsm: ReadonlyMap<string, string> = new Map([
  ['bengali', 'bn'],
  ['chinese', 'zh'],
  ['english', 'en'],
  ['french', 'fr'],
  ['german', 'de'],
  ['japanese', 'ja'],
  ['russian', 'ru'],
  ['spanish', 'es'],
  ['swahili', 'sw'],
  ['telugu', 'te'],
  ['thai', 'th'],
]);

/**
 * Returns the lines of `evaluate:` of a preset: MGSM in the experiment's languages and in English. Empty if MGSM has
 * none of the languages.
 */
export const presetEvaluation = (languages: readonly string[]): string[] => {
  const own = languages.flatMap((language) => [...mgsm].filter(([name]) => name === language));
  if (own.length === 0) return [];
  const others = [...mgsm].filter(([language]) => !languages.includes(language));
  const english = others.filter(([language]) => language === 'english');
  // The paper's means over ten languages leave out Thai (Tables 2 and 5).
  const rest = others.filter(([language]) => language !== 'english' && language !== 'thai');
  return [
    '',
    `# Scores, by ${layerloomCommand('evaluate', 'DIR')}: MGSM with 8 worked examples, exact match, as in the paper.`,
    'evaluate:',
    '  harness: lm-eval',
    '  tasks:',
    ...own.map((entry) => `    ${task(entry)}`),
    ...english.flatMap((entry) => [
      '    # Not a language of the experts: measured for every model.',
      `    ${task(entry)}`,
    ]),
    ...(rest.length === 0
      ? []
      : [
          "    # The rest of the paper's ten languages, for the mean over all; every model is measured in each.",
        ]),
    ...rest.map((entry) => `    # ${task(entry)}`),
    '  fewshot: 8',
    '  # Measures every model in every language above, not only in its own; the mean over all needs it.',
    '  # every_language: true',
    '  # A folder with mgsm_sw.tsv, ...; without it the data are loaded from the Hugging Face hub.',
    '  # data: ./mgsm',
    '  # Only the first problems of each task, to try it out.',
    '  # limit: 20',
  ];
};

const task = ([language, code]: readonly [string, string]): string => `${language}: layerloom_mgsm_${code}`;
