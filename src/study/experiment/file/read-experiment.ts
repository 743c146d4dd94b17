import { dirname, resolve } from 'node:path';
import { stringify } from 'yaml';
import type { z } from 'zod';
import { layerloomCommand } from '../../../core/base/errors/command-line.js';
import { LayerloomError } from '../../../core/base/errors/errors.js';
import { emptyTable } from '../../../core/base/errors/lookup.js';
import { keysOf } from '../../../core/methods/recipe/block.js';
import { isSnakeCase, toSnakeCase } from '../../../core/methods/recipe/document/case.js';
import { type DocumentKind, parseDocuments } from '../../../core/methods/recipe/document/document.js';
import {
  expectKey,
  expectList,
  expectMapping,
  inCamelCase,
} from '../../../core/methods/recipe/document/fields.js';
import { checkKeys, invalidRecipe } from '../../../core/methods/recipe/document/invalid.js';
import type { Location, Mark } from '../../../core/methods/recipe/document/source.js';
import {
  type Entries,
  isText,
  leaf,
  list,
  locate,
  type Mapping,
  type MappingEntry,
  mapping,
  type Path,
  type Tree,
} from '../../../core/methods/recipe/document/tree.js';
import { isRecipeText, readText, recipeKeys } from '../../../core/methods/recipe/recipe-file.js';
import { splitName } from '../../../core/models/address/name.js';
import type { EvaluationBlock } from '../../evaluation/evaluation-block.js';
import { evaluationOf, expectText, plainSettingsOf, searchOf } from './blocks/blocks.js';
import { type ExperimentInput, experimentSchema, type plainSettings } from './blocks/experiment-block.js';
import { type FurtherReference, referencesOf } from './blocks/further-references.js';
import { absoluteModel, nameOfModel } from './blocks/models.js';
import { checkName, folded, ModelNames, placeOf } from './blocks/names.js';
import { type Partitions, partitionsOf } from './blocks/partitions.js';
import { checkpointReferences, isOfRuns, type Runs, runsOf } from './blocks/runs.js';
import type { SearchSettings } from './blocks/search-block.js';

/** Parsed experiment: names are unique and paths absolute. Methods' parameters are not checked yet. */
export interface Experiment extends z.output<typeof plainSettings> {
  /** Absolute path; undefined if the experiment was given as an object. */
  readonly file: string | undefined;
  /** Base of relative paths. */
  readonly directory: string;
  /** File's text; for an object, its YAML. */
  readonly text: string;
  /** Base: an absolute path or `org/name`, with an optional prefix `NAME=`. */
  readonly base: string | undefined;
  readonly tasks: Experts;
  readonly languages: ReadonlyMap<string, Experts>;
  /** Training runs, whose checkpoints can be averaged in windows. */
  readonly runs: Runs;
  readonly merges: readonly MergeEntry[];
  readonly partitions: Partitions;
  readonly evaluate: EvaluationBlock | undefined;
  readonly search: SearchSettings | undefined;
  /** True if merges are compared with the base and the single experts. */
  readonly references: boolean;
  /** Further models to compare with, never merged. */
  readonly furtherReferences: readonly FurtherReference[];
  /**
   * Returns the position of a value or key in the file, such as `['merges', 2, 'bottomTransition']`. If it
   * does not exist, returns the position of the innermost value on the path that does.
   */
  locate(path: Path, part?: 'key' | 'value'): Location;
}

/** Experts by name: absolute paths or `org/name`. */
export type Experts = ReadonlyMap<string, string>;

/** Entry of `merges`: a method and its parameters; each may be a list of values to try. */
export interface MergeEntry {
  readonly name: string;
  readonly tree: Mapping;
}

const known = () => keysOf(experimentSchema);

const kind: DocumentKind = { name: 'an experiment', document: 'a mapping with tasks, languages and merges' };

const kindOfFile = (): DocumentKind => ({ ...kind, keys: [...known(), ...recipeKeys] });

/**
 * Reads an experiment's file. Relative paths start from its folder. If `file` begins with `{`, it is the
 * experiment's text. Paths then start from the working directory, and messages call it `experiment`.
 *
 * @throws RECIPE_INVALID, with file, line and column
 */
export const readExperiment = async (file: string): Promise<Experiment> => {
  if (isRecipeText(file)) return readExperimentText(file, 'experiment', process.cwd());
  const text = await readText(file, kind.name);
  return read(text, { label: file, file: resolve(file), directory: dirname(resolve(file)) });
};

/**
 * Reads an experiment's recorded text.
 *
 * @throws RECIPE_INVALID
 */
export const readExperimentText = (text: string, label: string, directory: string): Promise<Experiment> =>
  read(text, { label, file: undefined, directory });

/**
 * Checks an experiment's text before its file is written.
 *
 * @throws RECIPE_INVALID
 */
export const checkExperimentText = async (text: string, file: string): Promise<void> => {
  await read(text, { label: file, file: resolve(file), directory: dirname(resolve(file)) });
};

/**
 * Checks an experiment given as an object. Errors show its lines in YAML.
 *
 * @param options `directory`: base of relative paths; default: the working directory
 * @throws RECIPE_INVALID
 */
export const parseExperiment = async (
  input: ExperimentInput,
  { directory = process.cwd() }: { readonly directory?: string | undefined } = {},
): Promise<Experiment> =>
  read(stringify(inSnakeCase(input), { lineWidth: 0 }), {
    label: 'experiment',
    file: undefined,
    directory: resolve(directory),
  });

const inSnakeCase = (input: ExperimentInput): unknown => {
  const { merges, evaluate, search, ...rest } = input ?? {};
  const entries = Array.isArray(merges) ? merges.map((entry: unknown) => spelt(entry)) : merges;
  return {
    ...(spelt(rest) as object),
    ...(entries === undefined ? {} : { merges: entries }),
    ...(evaluate === undefined ? {} : { evaluate: spelt(evaluate) }),
    ...(search === undefined ? {} : { search: spelt(search) }),
  };
};

const spelt = (value: unknown): unknown => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const made = emptyTable<unknown>();
  for (const [key, of] of Object.entries(value)) {
    const name = isSnakeCase(key) ? key : (toSnakeCase(key) ?? key);
    if (Object.hasOwn(made, name))
      throw new LayerloomError('RECIPE_INVALID', {
        file: 'experiment',
        key,
        reason: `is set together with ${name}, which means the same`,
      });
    made[name] = of;
  }
  return made;
};

interface MergePlace {
  readonly label: string;
  readonly file: string | undefined;
  readonly directory: string;
}

const read = async (text: string, { label, file, directory }: MergePlace): Promise<Experiment> => {
  const [document, second] = parseDocuments(text, label, file === undefined ? kind : kindOfFile());
  if (second !== undefined)
    throw invalidRecipe(second.mark, {
      reason: 'there is a second document',
      expected: 'one experiment in a file',
    });
  if (
    !document.entries.has('merges') &&
    (document.entries.has('method') || document.entries.has('merge_method'))
  )
    throw invalidRecipe(document.mark, {
      reason: `this is a recipe, which \`${layerloomCommand('merge')}\` runs, not an experiment`,
      expected: 'merges: a list of entries with a method each',
    });
  checkKeys(document.entries, 'the experiment', known());
  const entries = inCamelCase(document.entries, 'the experiment');
  const needed = (key: string): MappingEntry => expectKey(document, key, 'the experiment');

  const names = new ModelNames();
  const base = await baseOf(entries.get('base'), directory);
  if (base !== undefined) names.add(base.name, 'the base', base.path, base.mark);
  const runs = await runsOf(entries.get('runs'), { directory, names });
  const merges = await mergesOf(needed('merges').value, directory);
  // If all merges average runs, either kind of expert may be missing.
  const expertsIn = (key: string) =>
    merges.every(({ tree }) => isOfRuns(tree)) && !entries.has(key) ? undefined : needed(key).value;
  const [taskTree, languageTree] = [expertsIn('tasks'), expertsIn('languages')];
  const tasks =
    taskTree === undefined
      ? new Map<string, string>()
      : await expertsOf(taskTree, 'tasks', 'a task expert', directory, names);
  const languages =
    languageTree === undefined
      ? new Map<string, Experts>()
      : await languagesOf(languageTree, directory, names);
  const references = await referencesOf(entries.get('references'), {
    languages: [...languages.keys()],
    directory,
    names,
    hasMerges: merges.length > 0,
  });
  const root = mapping(
    document.mark,
    new Map(entries).set('merges', {
      key: needed('merges').key,
      value: list(
        needed('merges').value.mark,
        merges.map(({ tree }) => tree),
      ),
    }),
  );
  return {
    file,
    directory,
    text,
    base: base?.model,
    tasks,
    languages,
    merges,
    partitions: await partitionsOf(
      merges.map(({ tree }) => tree),
      directory,
    ),
    evaluate: evaluationOf(entries.get('evaluate'), [...languages.keys()], directory),
    search: searchOf(entries.get('search')),
    runs,
    ...references,
    furtherReferences: [...checkpointReferences(runs), ...references.furtherReferences],
    ...plainSettingsOf(document),
    locate: (path, part) => locate(root, path, part),
  };
};

const baseOf = async (
  entry: MappingEntry | undefined,
  directory: string,
): Promise<{ model: string; name: string; path: string; mark: Mark } | undefined> => {
  if (entry === undefined) return undefined;
  const { value } = expectText(entry.value, 'base', 'the model that the experts were fine-tuned from');
  const model = await absoluteModel(directory, value);
  return { model, name: nameOfModel(model), path: splitName(model).rest, mark: entry.key };
};

const expertsOf = async (
  tree: Tree,
  key: string,
  what: string,
  directory: string,
  names: ModelNames,
): Promise<Experts> => {
  const experts = new Map<string, string>();
  for (const [name, entry] of expectNames(tree, key, `${what}'s name and path each`)) {
    checkName(name, entry.key, 'expert');
    const path = await absoluteModel(
      directory,
      expectText(entry.value, name, 'the path of a checkpoint, or org/name').value,
    );
    names.add(name, what, path, entry.key);
    experts.set(name, path);
  }
  return experts;
};

const expectNames = (tree: Tree, key: string, expected: string): Entries => {
  const { entries, mark } = expectMapping(tree, key, expected);
  if (entries.size === 0) throw invalidRecipe(mark, { key, reason: 'it is empty', expected });
  return entries;
};

const languagesOf = async (
  tree: Tree,
  directory: string,
  names: ModelNames,
): Promise<Map<string, Experts>> => {
  const languages = new Map<string, Experts>();
  const seen = new Map<string, Mark>();
  for (const [language, { key, value }] of expectNames(tree, 'languages', 'languages, each with experts')) {
    checkName(language, key, 'language');
    const former = seen.get(folded(language));
    if (former !== undefined)
      throw invalidRecipe(key, {
        key: language,
        reason: `the language at ${placeOf(former)} has the same name in upper or lower case`,
      });
    seen.set(folded(language), key);
    languages.set(language, await expertsOf(value, language, 'a language expert', directory, names));
  }
  return languages;
};

const mergesOf = async (tree: Tree, directory: string): Promise<MergeEntry[]> => {
  // An experiment without merges only scores models.
  if (tree.kind === 'list' && tree.items.length === 0) return [];
  const merges: MergeEntry[] = [];
  const seen = new Map<string, Mark>();
  for (const item of expectList(tree, 'merges', 'a list of merges, each with name and method').items) {
    const given = expectMapping(item, 'merges', 'name, method and parameters');
    const { value } = expectKey(given, 'name', 'the merge');
    expectKey(given, 'method', 'the merge');
    const { value: name, mark } = expectText(value, 'name', 'a name for its directory');
    checkName(name, mark, 'merge');
    const former = seen.get(folded(name));
    if (former !== undefined)
      throw invalidRecipe(mark, {
        key: name,
        reason: `the merge at ${placeOf(former)} has the same name`,
        expected: 'different names',
      });
    seen.set(folded(name), mark);
    const entries = inCamelCase(given.entries, 'the merge');
    for (const name of ['base', 'config']) {
      const entry = entries.get(name);
      if (entry !== undefined)
        entries.set(name, { key: entry.key, value: await eachModel(entry.value, directory) });
    }
    merges.push({ name, tree: mapping(given.mark, entries) });
  }
  return merges;
};

const eachModel = async (tree: Tree, directory: string): Promise<Tree> => {
  if (tree.kind === 'list')
    return list(tree.mark, await Promise.all(tree.items.map((item) => eachModel(item, directory))));
  if (!isText(tree) || ['task', 'language', 'base'].includes(tree.value)) return tree;
  return leaf(tree.mark, await absoluteModel(directory, tree.value));
};
