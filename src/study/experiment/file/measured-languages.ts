import type { Experiment } from './read-experiment.js';
import { allLanguages } from './subjects.js';

/** A model of an experiment, as far as it decides which languages the model is measured in. */
export interface MeasuredModel {
  /** `merge`, `base`, `task`, `language`, or a reference's own role. */
  readonly role: string;
  /**
   * The experiment's languages that the model is for: those of a language expert, that of a merge (`all` for
   * merges of no single language), those a reference is limited to. Undefined for models of no language.
   */
  readonly languages?: readonly string[] | undefined;
}

/** The languages of an experiment. */
export interface EvaluatedLanguages {
  /** The languages that the experiment has experts of. */
  readonly ownLanguages: readonly string[];
  /** The languages under `evaluate.tasks`. */
  readonly evaluatedLanguages: readonly string[];
  /** `evaluate.every_language`. */
  readonly everyLanguage: boolean;
}

/**
 * Returns a function that tells the languages that a model is measured in, the experiment's own first.
 *
 * Languages that the experiment has no experts of (English) are measured for every model. Of its own, a language
 * expert, a merge and a limited reference are measured in theirs; the base, task experts, merges of no single
 * language and other references in all. With `everyLanguage` every model is measured in every language, which
 * the ten-language means of the paper's Table 2 need.
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
    // Of thousands of languages a merge is of one: they are not gone through for each merge.
    const measured = isEverywhere
      ? [...own.keys()]
      : [...new Set(languages)]
          .flatMap((language) => (own.has(language) ? [language] : []))
          .sort((a, b) => (own.get(a) ?? 0) - (own.get(b) ?? 0));
    return [...measured, ...others];
  };
};

/**
 * Returns the languages of an experiment. Without `evaluate.tasks` they are its own.
 */
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
