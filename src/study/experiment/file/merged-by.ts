import type { z } from 'zod';
import type { Method } from '../../../core/methods/framework/declaration/method.js';
import { invalidRecipe } from '../../../core/methods/recipe/document/invalid.js';
import type { Mapping } from '../../../core/methods/recipe/document/tree.js';
import type { Configuration } from './blocks/grid.js';
import { isOfRuns } from './blocks/runs.js';
import type { Experiment } from './read-experiment.js';
import { type Models, pairsOf, type Subject, singlesOf } from './subjects.js';
import { windowsOf } from './windows.js';

export const shapeOf = ({ schema }: Method<never>): Readonly<Record<string, z.ZodType>> =>
  schema.shape as Readonly<Record<string, z.ZodType>>;

/** Models of an entry, and how recipes name them. */
export interface Merged {
  /**
   * Returns a configuration's subjects; the configuration decides the windows of runs. Without a configuration, returns
   * the subjects of the configuration that has most.
   */
  readonly subjectsIn: (configuration: Configuration | undefined) => readonly Subject[];
  readonly roles: readonly string[];
  readonly toModels: (subject: Subject) => object;
}

/** @throws RECIPE_INVALID */
export const mergedBy = (
  method: Method<never>,
  tree: Mapping,
  models: Models,
  { runs }: Experiment,
): Merged => {
  const { takes } = method;
  for (const key of ['models', 'slices']) {
    const found = tree.entries.get(key);
    if (found !== undefined)
      throw invalidRecipe(found.key, {
        key,
        reason: 'an experiment merges pairs of its experts',
        expected: 'task and language, which select experts',
      });
  }
  if (isOfRuns(tree)) {
    const given = tree.entries.get('run');
    if (given !== undefined && !('until' in shapeOf(method)))
      throw invalidRecipe(given.key, {
        key: 'run',
        reason: `${method.name} cannot average checkpoints of runs`,
        expected: 'method: soup',
      });
    return {
      subjectsIn: (configuration) => windowsOf(tree, runs, configuration?.entries.get('window')),
      roles: ['run', 'until'],
      toModels: ({ models: { task }, until }) => ({ models: [task], until }),
    };
  }
  if (takes.models === 'one')
    return {
      subjectsIn: constantly(singlesOf(tree, models)),
      roles: ['model'],
      toModels: ({ models: { task, language } }: Subject): object => ({ model: task ?? language }),
    };
  // Merges each expert alone, as base + α·τ.
  if (takes.models === 'list' && tree.entries.has('model')) {
    for (const key of ['task', 'language']) {
      const found = tree.entries.get(key);
      if (found !== undefined)
        throw invalidRecipe(found.key, {
          key,
          reason: 'is set together with model, which merges each expert alone',
          expected: 'model alone, or task and language for pairs',
        });
    }
    return {
      subjectsIn: constantly(singlesOf(tree, models)),
      roles: ['model'],
      toModels: ({ models: { task, language } }: Subject): object => ({ models: [task ?? language] }),
    };
  }
  return {
    subjectsIn: constantly(pairsOf(tree, models)),
    roles: ['task', 'language'],
    toModels: ({ models: { task, language } }: Subject): object =>
      takes.models === 'pair' ? { task, language } : { models: [task, language] },
  };
};

const constantly = (subjects: readonly Subject[]) => () => subjects;
