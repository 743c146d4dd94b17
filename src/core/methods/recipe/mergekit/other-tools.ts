import { layerloomCommand } from '../../../base/errors/command-line.js';
import { invalidRecipe } from '../document/invalid.js';
import type { Entries } from '../document/tree.js';

interface OtherTool {
  readonly program: string;
  /** A key that only this program's files have; errors point to it. */
  readonly key: string;
  readonly remedy: string;
}

const otherTools: readonly OtherTool[] = [
  {
    program: 'mergekit-evolve',
    key: 'genome',
    remedy: `run mergekit-evolve itself; \`${layerloomCommand('search')}\` searches configurations of layer swaps, and the recipe that mergekit-evolve writes (best_config.yaml) merges here`,
  },
  {
    program: 'bakllama',
    key: 'layer_slices',
    remedy:
      'write merge_method: passthrough with slices, each with sources: [{model, layer_range: [start, end]}]',
  },
];

/** @throws RECIPE_INVALID for a file of another mergekit program */
export const refuseOtherTools = (entries: Entries): void => {
  if (['models', 'slices', 'modules', 'method'].some((key) => entries.has(key))) return;
  for (const { program, key, remedy } of otherTools) {
    const entry = entries.get(key);
    if (entry !== undefined)
      throw invalidRecipe(entry.key, {
        key,
        reason: `this is a file of ${program} and no recipe of a merge`,
        expected: `a recipe; ${remedy}`,
      });
  }
};
