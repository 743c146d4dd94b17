import type { Category, DataSet } from '../training/settings/preset.js';

const questionAndAnswer = { prompt: ['question'], completion: 'answer' };
const alpaca = { prompt: ['instruction', 'input'], completion: 'output' };
const inputsAndTargets = { prompt: ['inputs'], completion: 'targets' };

const aya = (language: string): DataSet => ({
  name: 'aya',
  title: 'Aya',
  hub: 'CohereForAI/aya_dataset',
  licence: 'Apache-2.0',
  where: { language },
  form: inputsAndTargets,
});

/** Returns a language pair of NLLB; on the hub, its name has both codes in alphabetical order. */
const nllb = (language: string, other: string): DataSet => ({
  name: 'nllb',
  title: `NLLB English-${language} translation`,
  hub: 'allenai/nllb',
  licence: 'ODC-By',
  config: ['eng_Latn', other].sort().join('-'),
  form: { translation: { english: 'eng_Latn', other, name: language } },
});

/**
 * Table 3 of arXiv 2410.01335. Hub ids are from the table; configurations, splits, columns and known licences
 * from the data sets' cards.
 */
export const trainingData: Readonly<Partial<Record<Category, readonly DataSet[]>>> = {
  math: [
    {
      name: 'orca-math',
      title: 'Orca Math word problems',
      hub: 'microsoft/orca-math-word-problems-200k',
      licence: 'MIT',
      form: questionAndAnswer,
    },
  ],
  telugu: [
    aya('Telugu'),
    nllb('Telugu', 'tel_Telu'),
    { name: 'instructions', title: 'English instructions machine-translated to Telugu', form: alpaca },
  ],
  bengali: [
    aya('Bengali'),
    nllb('Bengali', 'ben_Beng'),
    {
      name: 'indic-sharellama',
      title: 'IndicShareLlama',
      hub: 'ai4bharat/indic-align',
      licence: 'CC BY 4.0',
      config: 'Indic_ShareLlama',
      form: { turns: 'ben_Beng' },
    },
    { name: 'bongchat', title: 'BongChat', hub: 'lumatic-ai/BongChat-v1-253k', form: alpaca },
  ],
  swahili: [
    aya('Swahili'),
    nllb('Swahili', 'swh_Latn'),
    {
      name: 'inkuba',
      title: 'Inkuba',
      hub: 'lelapa/Inkuba-instruct',
      split: 'swahili_train',
      form: { prompt: ['instruction', 'inputs'], completion: 'targets' },
    },
    {
      name: 'xp3mt',
      title: 'xP3 MT',
      hub: 'bigscience/xP3mt',
      licence: 'Apache-2.0',
      config: 'sw',
      withoutFiles: 'flores',
      form: inputsAndTargets,
    },
  ],
  japanese: [
    aya('Japanese'),
    nllb('Japanese', 'jpn_Jpan'),
    {
      name: 'llm-japanese',
      title: 'LLM-Japanese',
      hub: 'izumi-lab/llm-japanese-dataset',
      licence: 'CC BY-SA 4.0',
      form: alpaca,
    },
    {
      name: 'ichikara',
      title: 'Ichikara',
      hub: 'platdev/ichikara-instruction',
      licence: 'CC BY-NC-SA 4.0',
      // The paper prints the letter l in place of the digit 1.
      hubToday: 'p1atdev/ichikara-instruction',
      config: '20231115-1',
      form: { prompt: ['text'], completion: 'output' },
    },
    {
      name: 'dolly-ja',
      title: 'Dolly machine-translated',
      hub: 'kunishou/databricks-dolly-15k-ja',
      licence: 'CC BY-SA 3.0',
      form: alpaca,
    },
  ],
};
