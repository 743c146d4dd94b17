import { layerloomCommand } from '../../../core/base/errors/command-line.js';
import { LayerloomError } from '../../../core/base/errors/errors.js';
import { itemAt } from '../../../core/base/errors/lookup.js';
import { nearest } from '../../../core/base/nearest.js';
import type { Method } from '../../../core/methods/framework/declaration/method.js';
import { methods } from '../../../core/methods/index.js';
import { expectKey, expectList } from '../../../core/methods/recipe/document/fields.js';
import { invalidRecipe } from '../../../core/methods/recipe/document/invalid.js';
import { locationOf } from '../../../core/methods/recipe/document/source.js';
import {
  isText,
  locate,
  type Mapping,
  mapping,
  type Text,
  toPlain,
} from '../../../core/methods/recipe/document/tree.js';
import { withPlace } from '../../../core/methods/recipe/read-recipe.js';
import { parseRecipe, refuseLayout } from '../../../core/methods/recipe/recipe.js';
import type { ModelInput, RecipeInput } from '../../../core/methods/recipes.js';
import { checkDirectories } from './blocks/directories.js';
import { mergeSettings } from './blocks/experiment-block.js';
import { type Configuration, configurationsOf, dimensionsOf, sizeOf } from './blocks/grid.js';
import { refuseOtherModels } from './blocks/part-models.js';
import { mergedBy, shapeOf } from './merged-by.js';
import type { Experiment, MergeEntry } from './read-experiment.js';
import { Models, type Subject } from './subjects.js';

/** A merge of an experiment. */
export interface ExperimentMerge {
  /** Stable, readable, unique: `swahili/math-1+swh-2/default`. */
  readonly name: string;
  /** Language; `all` for merges that belong to no single language. */
  readonly language: string;
  /** Expert's name or `soup`; null without a task expert. */
  readonly task: string | null;
  readonly languageExpert: string | null;
  readonly method: string;
  /** Parameters, with defaults. */
  readonly configuration: Readonly<Record<string, unknown>>;
  /** Recipe, with models as `NAME=PATH`. Recipes with the same soup share its object. */
  readonly recipe: RecipeInput;
  readonly path: string;
  /** Entry's index, for `experiment.locate(['merges', entry])`, and its name. */
  readonly entry: number;
  readonly entryName: string;
}

/** Maximum number of merges in an experiment; a larger number is surely a mistake. */
const mostMerges = 100_000;

/**
 * Expands an experiment into merges, in the order of entries: every configuration for every pair of every
 * language. Opens no models.
 *
 * @throws as `parseRecipe` and RECIPE_INVALID, with file, line and column
 */
export const expandExperiment = (experiment: Experiment): ExperimentMerge[] => {
  const models = new Models(experiment);
  const merges: ExperimentMerge[] = [];
  for (const [index, entry] of experiment.merges.entries())
    for (const method of methodsOf(entry.tree))
      for (const merge of expandEntry(experiment, { ...entry, index, ...method }, models, merges.length))
        merges.push(merge);
  checkDirectories(
    merges.map(({ name, entry }) => ({ name, mark: itemAt(experiment.merges, entry).tree.mark })),
  );
  return merges;
};

interface Expanding extends MergeEntry {
  readonly index: number;
  readonly method: Text;
  /** Method in merges' names; undefined if the entry has one method only. */
  readonly label: string | undefined;
}

const methodsOf = (tree: Mapping): Pick<Expanding, 'method' | 'label'>[] => {
  const { value } = expectKey(tree, 'method', 'the merge');
  const items = value.kind === 'list' ? expectList(value, 'method', 'the name of a method').items : [value];
  return items.map((item) => {
    if (!isText(item))
      throw invalidRecipe(item.mark, { key: 'method', reason: 'no method', expected: 'its name' });
    return { method: item, label: items.length > 1 ? item.value : undefined };
  });
};

const expandEntry = (
  experiment: Experiment,
  entry: Expanding,
  models: Models,
  before: number,
): ExperimentMerge[] => {
  const method = methodOf(entry);
  refuseFiles(method, entry);
  const { subjectsIn, roles, toModels } = mergedBy(method, entry.tree, models, experiment);
  const isSingle = roles.includes('model') || roles.includes('run');
  const own = ['name', 'method', ...roles];
  const dimensions = dimensionsOf(new Map([...entry.tree.entries].filter(([key]) => !own.includes(key))));
  const size = subjectsIn(undefined).length * sizeOf(dimensions);
  if (before + size > mostMerges)
    throw invalidRecipe(entry.tree.mark, {
      key: entry.name,
      reason: `this would give ${size} merges; an experiment has at most ${mostMerges}`,
    });
  const defaults = defaultsOf(method);
  refuseOtherModels(entry.tree);
  return configurationsOf(dimensions).flatMap((configuration) => {
    const subjects = subjectsIn(configuration);
    const { base: given, ...parameters } = parametersOf(configuration, method, {
      experiment,
      weights: roles.includes('run') ? undefined : isSingle ? [1] : [1, 1],
    });
    const weights = parameters['weights'];
    const needsBase = method.needsBase?.(parameters) ?? false;
    const base = baseFor(given, { weights, needsBase, method, experiment, entry, isSingle });
    const recipeOf = (subject: Subject) =>
      ({
        method: method.name,
        ...toModels(subject),
        ...(base === undefined ? {} : { base: base(subject) }),
        ...withPartition(parameters, experiment),
      }) as RecipeInput;
    const idle = method.idle?.(parameters) ?? [];
    const used = Object.entries(defaults).filter(([name]) => !idle.includes(name));
    const settled = { ...Object.fromEntries(used), ...parameters };
    if (subjects[0] !== undefined) check(recipeOf(subjects[0]), entry, configuration, experiment);
    return subjects.map((subject): ExperimentMerge => {
      const { language, task, languageExpert, directory, until } = subject;
      const last = [configuration.label, until === undefined ? '' : `to${until}`].filter(Boolean).join('-');
      const name = [directory, entry.name, entry.label, last].filter(Boolean).join('/');
      return {
        name,
        language,
        task,
        languageExpert,
        method: method.name,
        configuration: until === undefined ? settled : { ...settled, until },
        recipe: recipeOf(subject),
        path: name,
        entry: entry.index,
        entryName: entry.name,
      };
    });
  });
};

const withPartition = (
  parameters: Readonly<Record<string, unknown>>,
  { partitions }: Experiment,
): Readonly<Record<string, unknown>> => {
  const { partition } = parameters;
  const parts = typeof partition === 'string' ? partitions.get(partition) : undefined;
  return parts === undefined || parts instanceof LayerloomError
    ? parameters
    : { ...parameters, partition: parts };
};

const methodOf = ({ method: { value: name, mark } }: Expanding): Method<never> => {
  const method = methods.get(name);
  if (method !== undefined) return method;
  throw invalidRecipe(mark, {
    key: name,
    reason: 'unknown method',
    expected: `one of ${[...methods.keys()].join(', ')}`,
    nearest: nearest(name, methods.keys()),
  });
};

const refuseFiles = ({ name, filesOfModels }: Method<never>, { method: { mark } }: Expanding): void => {
  if (filesOfModels === undefined) return;
  throw invalidRecipe(mark, {
    key: name,
    reason: `takes ${filesOfModels}, a file for each model, but each merge of an experiment has other models`,
    expected: `another method, or a separate recipe with ${name} for each merge, for \`${layerloomCommand('merge')}\``,
  });
};

const defaultsOf = (method: Method<never>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(shapeOf(method)).flatMap(([key, schema]) => {
      const { data } = schema.safeParse(undefined);
      return data === undefined ? [] : [[key, data]];
    }),
  );

const settingNames = () => mergeSettings.keyof().options;

const parametersOf = (
  { entries }: Configuration,
  method: Method<never>,
  {
    experiment,
    weights,
  }: { readonly experiment: Experiment; readonly weights: readonly number[] | undefined },
): Record<string, unknown> => {
  const parameters = Object.fromEntries([...entries].map(([key, { value }]) => [key, toPlain(value)]));
  const isWeighted =
    weights !== undefined &&
    'weights' in shapeOf(method) &&
    !entries.has('weights') &&
    !entries.has('weight');
  return {
    ...parameters,
    ...(isWeighted ? { weights } : {}),
    ...Object.fromEntries(
      settingNames()
        .filter((name) => experiment[name] !== undefined && !entries.has(name))
        .filter((name) => name !== 'tokenizerSource' || !entries.has('tokenizer'))
        .map((name) => [name, experiment[name]]),
    ),
  };
};

interface BaseQuestion {
  readonly weights: unknown;
  readonly needsBase: boolean;
  readonly method: Method<never>;
  readonly experiment: Experiment;
  readonly entry: Expanding;
  /** True if each expert is merged alone, so that no other expert can be the base. */
  readonly isSingle: boolean;
}

/**
 * Returns a function from subject to base. The base is the entry's `base` (where `task`, `language` and
 * `base` mean models of the experiment), or the experiment's if the method or its weights need one. For slerp
 * and similar methods it is the task expert.
 */
const baseFor = (
  given: unknown,
  { weights, needsBase, method, experiment, entry, isSingle }: BaseQuestion,
): ((subject: Subject) => ModelInput | undefined) | undefined => {
  const { base: needs, startsFromBase } = method.takes;
  const isMagnitude = weights === 'magnitude' && needs !== 'none';
  if (given === undefined && needs !== 'required' && !isMagnitude && !needsBase) return undefined;
  if (isSingle && (given === 'task' || given === 'language'))
    throw invalidRecipe(entry.tree.entries.get('base')?.value.mark ?? entry.tree.mark, {
      key: given,
      reason: 'with model, each expert is merged alone, so no other expert can be its base',
      expected: 'base, or a path',
    });
  if (given === 'task' || (given === undefined && startsFromBase && !isSingle))
    return ({ models }) => models.task;
  if (given === 'language') return ({ models }) => models.language;
  if (given !== undefined && given !== 'base') return () => given as ModelInput;
  const { base } = experiment;
  if (base !== undefined) return () => base;
  const key = isMagnitude ? 'weights' : 'method';
  throw invalidRecipe(entry.tree.entries.get(key)?.value.mark ?? entry.tree.mark, {
    key: isMagnitude ? 'magnitude' : method.name,
    reason: 'needs the model that the experts were fine-tuned from',
    expected: 'base: PATH at the top of the experiment',
  });
};

/** Checks one recipe per configuration, because further recipes differ only in models. */
const check = (
  recipe: RecipeInput,
  entry: Expanding,
  { entries }: Configuration,
  experiment: Experiment,
): void => {
  try {
    refuseLayout(parseRecipe(recipe), 'of an experiment, which has one layout for all');
  } catch (error) {
    if (!(error instanceof LayerloomError)) throw error;
    const tree = mapping(entry.tree.mark, entries);
    const placed = withPlace(error, {
      locate: (path, part) =>
        settingNames().some((name) => name === path[0] && !entries.has(name))
          ? experiment.locate(path, part)
          : locate(tree, path, part),
    });
    throw placed.context.place === undefined ? error.with({ place: locationOf(entry.tree.mark) }) : placed;
  }
};
