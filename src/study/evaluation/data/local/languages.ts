/** A language of the tasks of the paper or of MGSM. */
export interface EvaluationLanguage {
  /** The name in experiments, in lower case: `swahili`. */
  readonly name: string;
  /** The code in MGSM and Global-MMLU. */
  readonly code: string;
  /** The code in FLORES-200 and BELEBELE. */
  readonly flores: string;
}

const language = (name: string, code: string, flores: string): EvaluationLanguage => ({ name, code, flores });

export const mgsmLanguages: readonly EvaluationLanguage[] = [
  language('bengali', 'bn', 'ben_Beng'),
  language('german', 'de', 'deu_Latn'),
  language('english', 'en', 'eng_Latn'),
  language('spanish', 'es', 'spa_Latn'),
  language('french', 'fr', 'fra_Latn'),
  language('japanese', 'ja', 'jpn_Jpan'),
  language('russian', 'ru', 'rus_Cyrl'),
  language('swahili', 'sw', 'swh_Latn'),
  language('telugu', 'te', 'tel_Telu'),
  language('thai', 'th', 'tha_Thai'),
  language('chinese', 'zh', 'zho_Hans'),
];
