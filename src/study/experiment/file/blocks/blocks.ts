import type { z } from 'zod';
import { LayerloomError } from '../../../../core/base/errors/errors.js';
import { nearest } from '../../../../core/base/nearest.js';
import { keysOf, parseSettings } from '../../../../core/methods/recipe/block.js';
import { expectMapping } from '../../../../core/methods/recipe/document/fields.js';
import { invalidRecipe } from '../../../../core/methods/recipe/document/invalid.js';
import {
  isText,
  locate,
  type Mapping,
  type MappingEntry,
  mapping,
  type Text,
  type Tree,
  toPlain,
} from '../../../../core/methods/recipe/document/tree.js';
import { withPlace } from '../../../../core/methods/recipe/read-recipe.js';
import { parseShardSize } from '../../../../core/plan/layout.js';
import type { EvaluationBlock } from '../../../evaluation/evaluation-block.js';
import { parseEvaluation } from '../../../evaluation/settings.js';
import { plainSettings } from './experiment-block.js';
import { type SearchSettings, searchSchema } from './search-block.js';

export const expectText = (tree: Tree, key: string, expected: string): Text => {
  if (isText(tree) && tree.value !== '') return tree;
  throw invalidRecipe(tree.mark, { key, reason: 'not text', expected });
};

/** Checks `evaluate:` unless it is for another harness. Makes `data` and `include` absolute. */
export const evaluationOf = (
  entry: MappingEntry | undefined,
  languages: readonly string[],
  directory: string,
): EvaluationBlock | undefined => {
  if (entry === undefined) return undefined;
  const given = expectMapping(entry.value, 'evaluate', 'tasks, fewshot, …');
  const harness = given.entries.get('harness');
  if (harness !== undefined && expectText(harness.value, 'harness', 'lm-eval').value !== 'lm-eval')
    return toPlain(given) as EvaluationBlock;
  const tasks = given.entries.get('tasks');
  // Refuses misspelt languages only, because models may be measured in other languages, such as English.
  for (const [language, { key }] of tasks === undefined
    ? []
    : expectMapping(tasks.value, 'tasks', 'a task for each language').entries) {
    const meant = languages.includes(language) ? undefined : nearest(language, languages);
    if (meant !== undefined)
      throw invalidRecipe(key, { key: language, reason: 'not a language of the experiment', nearest: meant });
  }
  const plain = toPlain(given) as EvaluationBlock;
  const { data, include } = placedIn(given, () => parseEvaluation(plain, directory), 'evaluate');
  return {
    ...plain,
    ...(data === undefined ? {} : { data }),
    ...(include.length === 0 ? {} : { include: include.length === 1 ? include[0] : include }),
  };
};

export const searchOf = (entry: MappingEntry | undefined): SearchSettings | undefined => {
  if (entry === undefined) return undefined;
  const given = expectMapping(entry.value, 'search', 'strategy, budget, …');
  return placedIn(given, () => parseSettings(searchSchema, 'search', toPlain(given)), 'search');
};

export const plainSettingsOf = ({ mark, entries }: Mapping): z.output<typeof plainSettings> => {
  const keys = keysOf(plainSettings);
  const given = mapping(mark, new Map([...entries].filter(([key]) => keys.includes(key))));
  return placedIn(given, () => {
    const settings = parseSettings(plainSettings, undefined, toPlain(given));
    if (settings.maxShardSize !== undefined) checkShardSize(settings.maxShardSize);
    return settings;
  });
};

const checkShardSize = (size: string | number): void => {
  try {
    parseShardSize(size);
  } catch (error) {
    throw error instanceof LayerloomError ? error.with({ recipePath: ['max_shard_size'] }) : error;
  }
};

const placedIn = <T>(given: Mapping, work: () => T, block?: string): T => {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof LayerloomError)) throw error;
    throw withPlace(error, {
      locate: (path, part) => locate(given, block === undefined ? path : path.slice(1), part),
    });
  }
};

export const flagOf = (entry: MappingEntry | undefined, key: string): boolean | undefined => {
  if (entry === undefined) return undefined;
  const { value } = entry;
  if (value.kind === 'leaf' && typeof value.value === 'boolean') return value.value;
  throw invalidRecipe(value.mark, { key, reason: 'not true or false' });
};
