import { valueAt } from '../../../core/base/errors/lookup.js';
import { nearest } from '../../../core/base/nearest.js';
import { expectList } from '../../../core/methods/recipe/document/fields.js';
import { invalidRecipe } from '../../../core/methods/recipe/document/invalid.js';
import {
  isText,
  type Mapping,
  type MappingEntry,
  type Tree,
} from '../../../core/methods/recipe/document/tree.js';
import type { Runs } from './blocks/runs.js';
import { allLanguages, type Subject } from './subjects.js';

/**
 * Returns an entry's windows of checkpoints: for each run, every step (or every step in `until`) with enough
 * checkpoints up to it.
 *
 * @param window checkpoints per window; default: all from the first
 * @throws RECIPE_INVALID for an unknown run or step, or too few checkpoints
 */
export const windowsOf = (merge: Mapping, runs: Runs, window: MappingEntry | undefined): Subject[] => {
  const names = textsOf(merge, 'run', [...runs.keys()]);
  const wanted = stepsOf(merge);
  const given = window?.value.kind === 'leaf' ? window.value.value : undefined;
  const least = typeof given === 'number' ? given : 1;
  const subjects = names.flatMap((name) => {
    const { path, steps } = valueAt(runs, name);
    for (const { step, tree } of wanted ?? [])
      if (!steps.includes(step))
        throw invalidRecipe(tree.mark, {
          key: 'until',
          reason: `${name} has no checkpoint-${step}`,
          expected: `some of ${steps.join(', ')}`,
        });
    return steps
      .filter((_, index) => index + 1 >= least)
      .filter((step) => wanted === undefined || wanted.some((one) => one.step === step))
      .map(
        (step): Subject => ({
          language: allLanguages,
          task: name,
          languageExpert: null,
          directory: `${allLanguages}/${name}`,
          models: { task: `${name}=${path}` },
          until: step,
        }),
      );
  });
  if (subjects.length === 0)
    throw invalidRecipe(window?.value.mark ?? merge.mark, {
      key: 'window',
      reason: `no run has ${least} checkpoints up to a requested step`,
      expected: 'a smaller window',
    });
  return subjects;
};

const itemsOf = (tree: Tree, key: string, expected: string): readonly Tree[] =>
  tree.kind === 'list' ? expectList(tree, key, expected).items : [tree];

const textsOf = ({ entries, mark }: Mapping, key: string, known: readonly string[]): string[] => {
  const words = itemsOf(
    entries.get(key)?.value ?? { kind: 'list', mark, items: [] },
    key,
    known.join(', '),
  ).map((item) => {
    const word = isText(item) ? item.value : undefined;
    if (word === undefined || !known.includes(word))
      throw invalidRecipe(item.mark, {
        key: word ?? key,
        reason: 'not a run of the experiment',
        expected:
          known.length === 0 ? 'runs: with names and folders, at the top' : `one of ${known.join(', ')}`,
        nearest: word === undefined ? undefined : nearest(word, known),
      });
    return word;
  });
  return [...new Set(words)];
};

const stepsOf = ({ entries }: Mapping): { step: number; tree: Tree }[] | undefined => {
  const given = entries.get('until')?.value;
  if (given === undefined) return undefined;
  return itemsOf(given, 'until', 'steps').map((tree) => {
    const step = tree.kind === 'leaf' ? tree.value : undefined;
    if (typeof step !== 'number') throw invalidRecipe(tree.mark, { key: 'until', reason: 'not a step' });
    return { step, tree };
  });
};
