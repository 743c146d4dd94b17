/** A language of the paper's or MGSM's tasks. */
export interface EvaluationLanguage {
  /** In lower case, as in experiments: `swahili`. */
  readonly name: string;
  /** Code of MGSM and Global-MMLU. */
  readonly code: string;
  /** Code of FLORES-200 and BELEBELE. */
  readonly flores: string;
}

const language = (name: string, code: string, flores: string): EvaluationLanguage => ({ name, code, flores });

/** The eleven languages of MGSM. */
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
