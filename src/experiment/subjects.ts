import type { ModelInput, RecipeInput } from '../methods/recipes.js';
import { expectList } from '../recipe/fields.js';
import { invalid } from '../recipe/invalid.js';
import { nearest } from '../recipe/nearest.js';
import { isText, type Mapping } from '../recipe/tree.js';
import type { Experiment, Experts } from './read-experiment.js';

/** What one merge is made of, before any parameter. */
export interface Subject {
  /** `all` for what is no language's own. */
  readonly language: string;
  /** Names of experts; `soup` and `all-soup` for theirs. */
  readonly task: string | null;
  readonly languageExpert: string | null;
  /** `swahili/math-1+swh-2`. */
  readonly directory: string;
  /** By role: one or both. */
  readonly models: { readonly task?: ModelInput; readonly language?: ModelInput };
}

/** What a merge that belongs to no language is filed under. */
const allLanguages = 'all';

/** A model under its name. */
interface Choice {
  readonly name: string;
  readonly model: ModelInput;
}

/** The models of an experiment. Each soup is one object however often it is asked for: so it is opened and planned once. */
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

  /** Of every language's experts, each once. */
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
 * The pairs of a merge: every task expert with every expert of each language, unless `task` and `language` say which. `soup` is the soup of all
 * task experts, or of the language's; `all-soup` that of every language's.
 *
 * A soup on both sides makes one merge a language, filed under the language itself; with `all-soup`, which is no language's own, one merge for
 * all of them, filed under `all`: it would be the same bytes for each.
 *
 * @throws LayerloomError RECIPE_INVALID for an expert that is not there
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
 * The single experts of a merge of one model: `task` and `language` mean all of a kind. Languages share the task experts, whose merges are
 * filed under `all`.
 *
 * @throws LayerloomError RECIPE_INVALID where the merge does not say which, or for an expert that is not there
 */
export const singlesOf = (merge: Mapping, models: Models): Subject[] => {
  const words = wordsOf(
    merge,
    'model',
    ['task', 'language'],
    [...models.tasks, ...[...models.languages.values()].flat()],
  );
  if (words === undefined)
    throw invalid(merge.mark, {
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

/** The words under a key, one or several; undefined where the key is not there. */
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
      throw invalid(item.mark, {
        key: word ?? key,
        reason: `no ${key === 'model' ? '' : `${key} `}expert of the experiment`,
        expected: `one of ${known.join(', ')}`,
        nearest: word === undefined ? undefined : nearest(word, known),
      });
    if (words.has(word)) throw invalid(item.mark, { key: word, reason: 'stands twice' });
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
