import { nameOfModel } from './blocks/models.js';
import { evaluatedLanguagesOf, measuredLanguages } from './measured-languages.js';
import type { Experiment } from './read-experiment.js';

/** Model that merges are compared with. */
export interface ExperimentReference {
  readonly name: string;
  /** `base`, `task`, `language`, or the user's word: `joint`, `checkpoint`. */
  readonly role: string;
  readonly languages: readonly string[];
  /** Languages of a language expert or limited reference, whatever `every_language` is; for averages. */
  readonly expertIn?: readonly string[];
  readonly model: string;
}

/** Returns the base, every expert once, and further models; empty for `references: false`. */
export const experimentReferences = (experiment: Experiment): ExperimentReference[] => {
  const { base, tasks, languages, references, furtherReferences } = experiment;
  if (!references) return [];
  const measured = measuredLanguages(evaluatedLanguagesOf(experiment));
  const reference = (
    name: string,
    role: string,
    model: string,
    limitedTo?: readonly string[],
  ): ExperimentReference => ({
    name,
    role,
    languages: measured({ role, languages: limitedTo }),
    ...(limitedTo === undefined ? {} : { expertIn: limitedTo }),
    model,
  });
  const experts = new Map<string, { path: string; expertIn: string[] }>();
  for (const [language, of] of languages)
    for (const [name, path] of of) {
      const expertIn: string[] = experts.get(name)?.expertIn ?? [];
      expertIn.push(language);
      experts.set(name, { path, expertIn });
    }
  return [
    ...(base === undefined ? [] : [reference(nameOfModel(base), 'base', base)]),
    ...[...tasks].map(([name, path]) => reference(name, 'task', `${name}=${path}`)),
    ...[...experts].map(([name, { path, expertIn }]) =>
      reference(name, 'language', `${name}=${path}`, expertIn),
    ),
    ...furtherReferences.map(({ name, role, path, languages: limitedTo }) =>
      reference(name, role, `${name}=${path}`, limitedTo),
    ),
  ];
};
