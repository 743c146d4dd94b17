/** What the rows of a data set are, for `prepare_data.py` to make a prompt and a completion of each. */
export type RowForm =
  /** Columns joined by an empty line into the prompt, and the column of the completion. */
  | { readonly prompt: readonly string[]; readonly completion: string }
  /** A column with both sentences of a pair, by the codes of their languages. */
  | { readonly translation: { readonly english: string; readonly other: string; readonly name: string } }
  /** A column with a conversation: pairs of what the user and the assistant say; the first pair is taken. */
  | { readonly turns: string };

/** A data set of Table 3. */
export interface DataSet {
  /** The name in `--data NAME=PATH`. */
  readonly name: string;
  /** As Table 3 names it. */
  readonly title: string;
  /** The id on the Hugging Face hub as Table 3 prints it; absent for the one without a name. */
  readonly hub?: string;
  /** The id that the hub has, where the printed one is another. */
  readonly hubToday?: string;
  /** The hub's configuration. */
  readonly config?: string;
  /** Default `train`. */
  readonly split?: string;
  /** Rows to take: those in which a column has this value. */
  readonly where?: Readonly<Record<string, string>>;
  /** Files of the data set to leave out: those whose names contain this. */
  readonly withoutFiles?: string;
  readonly form: RowForm;
}

export type Category = 'math' | 'swahili' | 'telugu' | 'bengali' | 'japanese';

const questionAndAnswer = { prompt: ['question'], completion: 'answer' };
const alpaca = { prompt: ['instruction', 'input'], completion: 'output' };
const inputsAndTargets = { prompt: ['inputs'], completion: 'targets' };

const aya = (language: string): DataSet => ({
  name: 'aya',
  title: 'Aya',
  hub: 'CohereForAI/aya_dataset',
  where: { language },
  form: inputsAndTargets,
});

/** The hub names a pair of NLLB by both codes in alphabetical order. */
const nllb = (language: string, other: string): DataSet => ({
  name: 'nllb',
  title: `NLLB English-${language} translation`,
  hub: 'allenai/nllb',
  config: ['eng_Latn', other].sort().join('-'),
  form: { translation: { english: 'eng_Latn', other, name: language } },
});

/**
 * Table 3 of arXiv 2410.01335. The hub ids are the table's; configurations, splits and columns are ours, as the data
 * sets' cards and public programs that read them name them.
 */
export const table3: Readonly<Record<Category, readonly DataSet[]>> = {
  math: [
    {
      name: 'orca-math',
      title: 'Orca Math word problems',
      hub: 'microsoft/orca-math-word-problems-200k',
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
      config: 'sw',
      withoutFiles: 'flores',
      form: inputsAndTargets,
    },
  ],
  japanese: [
    aya('Japanese'),
    nllb('Japanese', 'jpn_Jpan'),
    { name: 'llm-japanese', title: 'LLM-Japanese', hub: 'izumi-lab/llm-japanese-dataset', form: alpaca },
    {
      name: 'ichikara',
      title: 'Ichikara',
      hub: 'platdev/ichikara-instruction',
      // A digit one, printed as an l.
      hubToday: 'p1atdev/ichikara-instruction',
      config: '20231115-1',
      form: { prompt: ['text'], completion: 'output' },
    },
    {
      name: 'dolly-ja',
      title: 'Dolly machine-translated',
      hub: 'kunishou/databricks-dolly-15k-ja',
      form: alpaca,
    },
  ],
};
