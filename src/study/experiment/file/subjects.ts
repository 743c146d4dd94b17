import { nearest } from '../../../core/base/nearest.js';
import { expectList } from '../../../core/methods/recipe/document/fields.js';
import { invalidRecipe } from '../../../core/methods/recipe/document/invalid.js';
import { isText, type Mapping } from '../../../core/methods/recipe/document/tree.js';
import type { ModelInput, RecipeInput } from '../../../core/methods/recipes.js';
import type { Experiment, Experts } from './read-experiment.js';

export interface Subject {
  /** Language; `all` for models that belong to no single language. */
  readonly language: string;
  /** Name or `soup`; null without a task expert. */
  readonly task: string | null;
  /** Name, `soup` or `all-soup`; null without a language expert. */
  readonly languageExpert: string | null;
  /** Prefix of the merge's name: `swahili/math-1+swh-2`. */
  readonly directory: string;
  readonly models: { readonly task?: ModelInput; readonly language?: ModelInput };
  /** Step of the last checkpoint in a window. */
  readonly until?: number;
}

export const allLanguages = 'all';

interface Choice {
  readonly name: string;
  readonly model: ModelInput;
}

/** An experiment's models. A soup is one object, so that it is opened and compiled only once. */
export class Models {
  readonly tasks: readonly Choice[];
  readonly languages: ReadonlyMap<string, readonly Choice[]>;
  readonly #soups = new Map<string | undefined, RecipeInput>();

  constructor({ tasks, languages }: Experiment) {
    this.tasks = choicesOf(tasks);
    this.languages = new Map([...languages].map(([language, experts]) => [language, choicesOf(experts)]));
  }

  get taskSoup(): Choice {
    return this.#soup('soup', undefined, this.tasks);
  }

  languageSoup(language: string): Choice {
    return this.#soup('soup', language, this.languages.get(language) ?? []);
  }

  /** All experts once, taken as one subject. */
  get allSoup(): Choice {
    return this.#soup('all-soup', allLanguages, [...this.languages.values()].flat());
  }

  #soup(name: string, of: string | undefined, choices: readonly Choice[]): Choice {
    const made = this.#soups.get(of) ?? {
      method: 'soup',
      models: [...new Set(choices.map(({ model }) => model))],
    };
    this.#soups.set(of, made);
    return { name, model: made };
  }
}

const choicesOf = (experts: Experts): Choice[] =>
  [...experts].map(([name, path]) => ({ name, model: `${name}=${path}` }));

/**
 * Returns the pairs of a merge: every task expert with every expert of each language, or the experts that `task` and
 * `language` select. `soup` means the soup of all task experts, or of the language's experts; `all-soup` the soup of
 * all languages' experts.
 *
 * The directory of a pair of two soups is the language. A pair with `all-soup` is the same for every
 * language, so it exists once, under `all`.
 *
 * @throws RECIPE_INVALID for an unknown expert
 */
export const pairsOf = (merge: Mapping, models: Models): Subject[] => {
  const tasks = wordsOf(merge, 'task', ['soup'], models.tasks);
  const languages = wordsOf(merge, 'language', ['soup', 'all-soup'], [...models.languages.values()].flat());
  const taskChoices = chosen(tasks, models.tasks, (word) => (word === 'soup' ? models.taskSoup : undefined));
  const subjects: Subject[] = [];
  const add = (language: string, choices: readonly Choice[]) => {
    for (const task of taskChoices)
      for (const expert of choices) subjects.push(pairOf(language, task, expert));
  };
  for (const [language, experts] of models.languages)
    add(
      language,
      chosen(languages, experts, (word) => (word === 'soup' ? models.languageSoup(language) : undefined)),
    );
  if (languages?.includes('all-soup')) add(allLanguages, [models.allSoup]);
  return subjects;
};

const pairOf = (language: string, task: Choice, expert: Choice): Subject => ({
  language,
  task: task.name,
  languageExpert: expert.name,
  directory: [task, expert].every(({ model }) => typeof model !== 'string')
    ? language
    : `${language}/${task.name}+${expert.name}`,
  models: { task: task.model, language: expert.model },
});

/**
 * Returns the subjects of an entry that merges each expert alone. In `model`, `task` and `language` mean all
 * experts of that kind. Task experts belong to no language, and go under `all`.
 *
 * @throws RECIPE_INVALID without `model`, or for an unknown expert
 */
export const singlesOf = (merge: Mapping, models: Models): Subject[] => {
  const words = wordsOf(
    merge,
    'model',
    ['task', 'language'],
    [...models.tasks, ...[...models.languages.values()].flat()],
  );
  if (words === undefined)
    throw invalidRecipe(merge.mark, {
      reason: 'the merge lacks model',
      expected: 'task, language, or the name of an expert',
    });
  const of = (kind: string, choices: readonly Choice[]) =>
    choices.filter(({ name }) => words.includes(kind) || words.includes(name));
  return [
    ...of('task', models.tasks).map(
      ({ name, model }): Subject => ({
        language: allLanguages,
        task: name,
        languageExpert: null,
        directory: `${allLanguages}/${name}`,
        models: { task: model },
      }),
    ),
    ...[...models.languages].flatMap(([language, experts]) =>
      of('language', experts).map(
        ({ name, model }): Subject => ({
          language,
          task: null,
          languageExpert: name,
          directory: `${language}/${name}`,
          models: { language: model },
        }),
      ),
    ),
  ];
};

const wordsOf = (
  { entries }: Mapping,
  key: string,
  kinds: readonly string[],
  experts: readonly Choice[],
): readonly string[] | undefined => {
  const value = entries.get(key)?.value;
  if (value === undefined) return undefined;
  const known = [...kinds, ...new Set(experts.map(({ name }) => name))];
  const words = new Set<string>();
  for (const item of value.kind === 'list' ? expectList(value, key, known.join(', ')).items : [value]) {
    const word = isText(item) ? item.value : undefined;
    if (word === undefined || !known.includes(word))
      throw invalidRecipe(item.mark, {
        key: word ?? key,
        reason: `not ${key === 'language' ? 'a language' : key === 'task' ? 'a task' : 'an'} expert of the experiment`,
        expected: `one of ${known.join(', ')}`,
        nearest: word === undefined ? undefined : nearest(word, known),
      });
    if (words.has(word)) throw invalidRecipe(item.mark, { key: word, reason: 'is listed twice' });
    words.add(word);
  }
  return [...words];
};

const chosen = (
  words: readonly string[] | undefined,
  experts: readonly Choice[],
  soup: (word: string) => Choice | undefined,
): readonly Choice[] =>
  words === undefined
    ? experts
    : words.flatMap((word) => soup(word) ?? experts.find(({ name }) => name === word) ?? []);
