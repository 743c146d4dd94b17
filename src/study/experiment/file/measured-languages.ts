import type { Experiment } from './read-experiment.js';
import { allLanguages } from './subjects.js';

export interface MeasuredModel {
  /** `merge`, `base`, `task`, `language`, or a reference's role. */
  readonly role: string;
  /**
   * Languages of an expert or a merge (`all` for a merge of no single language), or the languages that limit
   * a reference.
   */
  readonly languages?: readonly string[] | undefined;
}

export interface EvaluatedLanguages {
  readonly ownLanguages: readonly string[];
  readonly evaluatedLanguages: readonly string[];
  readonly everyLanguage: boolean;
}

/**
 * Returns a function from model to the languages that it is measured in, the experiment's own first.
 *
 * Every model is measured in languages without experts (English). In the experiment's own languages, language experts,
 * merges and limited references are measured only in their language, other models in all. `everyLanguage` measures
 * every model in every language, for the ten-language means of the paper's Table 2.
 */
export const measuredLanguages = ({
  ownLanguages,
  evaluatedLanguages,
  everyLanguage,
}: EvaluatedLanguages): ((model: MeasuredModel) => string[]) => {
  const evaluated = new Set(evaluatedLanguages);
  const own = new Map(
    [...new Set(ownLanguages)].filter((each) => evaluated.has(each)).map((each, at) => [each, at]),
  );
  const known = new Set(ownLanguages);
  const others = evaluatedLanguages.filter((language) => !known.has(language));
  return ({ role, languages }) => {
    const isEverywhere =
      everyLanguage ||
      role === 'base' ||
      role === 'task' ||
      languages === undefined ||
      languages.includes(allLanguages);
    // Merges must not iterate over all languages, because there may be thousands.
    const measured = isEverywhere
      ? [...own.keys()]
      : [...new Set(languages)]
          .flatMap((language) => (own.has(language) ? [language] : []))
          .sort((a, b) => (own.get(a) ?? 0) - (own.get(b) ?? 0));
    return [...measured, ...others];
  };
};

/** Without `evaluate.tasks`, returns the experiment's own languages. */
export const evaluatedLanguagesOf = ({
  languages,
  evaluate,
}: Pick<Experiment, 'languages' | 'evaluate'>): EvaluatedLanguages => {
  const ownLanguages = [...languages.keys()];
  return {
    ownLanguages,
    evaluatedLanguages: evaluate?.tasks === undefined ? ownLanguages : Object.keys(evaluate.tasks),
    everyLanguage: evaluate?.every_language === true,
  };
};
