import { type EvaluationLanguage, mgsmLanguages } from './languages.js';

export type Direction = readonly [source: EvaluationLanguage, target: EvaluationLanguage];

/** Language code in task names: `swh`. */
export const codeOf = ({ flores }: EvaluationLanguage): string => flores.slice(0, 3);

export const taskOfDirection = ([source, target]: Direction): string =>
  `layerloom_flores_${codeOf(source)}_${codeOf(target)}`;

const english = mgsmLanguages.filter(({ code }) => code === 'en');

export const directionsOf = (language: EvaluationLanguage): readonly Direction[] =>
  language.code === 'en'
    ? []
    : english.flatMap((other): Direction[] => [
        [other, language],
        [language, other],
      ]);

export const floresTasksOf = (language: EvaluationLanguage): string[] =>
  directionsOf(language).map(taskOfDirection);
