import * as z from 'zod';
import { LayerloomError } from '../../base/errors.js';
import { unknownKeyOf } from '../../recipe/invalid.js';

/** `search:` of an experiment: what its searches take unless an option says otherwise. */
export interface SearchBlock {
  /** Default `halving`. */
  readonly strategy?: 'halving' | 'descent' | undefined;
  /** Problem-evaluations, or a share of those of all configurations on all problems: `25%` (the default). */
  readonly budget?: number | string | undefined;
  /** Number of problems. Default 250, MGSM's. */
  readonly problems?: number | undefined;
  /** Number of last problems to compare choice and default on. Default: a third, rounded down to tens. */
  readonly holdOut?: number | undefined;
  /** Seed of the order in which configurations are tried where no analysis gives one. Default 0. */
  readonly seed?: number | undefined;
  /** The metric to search by, as the harness names it. Default: the one that tables show. */
  readonly metric?: string | undefined;
  /** The task to search by. Default: the language's first. */
  readonly task?: string | undefined;
  /** The configuration to compare with: `default`, `grid/b5-u2-tb0-tu0`. Default: the entry `default`. */
  readonly default?: string | undefined;
  /** Names of the entries of `merges` to search. Default: all. */
  readonly entries?: readonly string[] | undefined;
}

const count = z.int().min(1);

/** A whole number, or a share such as `25%`. */
export const budgetText = /^\d+(\.\d+)?%$/;

/** `search:` as files have it, with keys in snake case. */
export const searchSchema = z.strictObject({
  strategy: z
    .enum(['halving', 'descent'])
    .optional()
    .describe('How to search: halving or descent. Default halving.'),
  budget: z
    .union([count, z.string().regex(budgetText)])
    .optional()
    .describe('Problem-evaluations, or a share of those of all configurations on all problems. Default 25%.'),
  problems: z.int().min(2).optional().describe("Number of problems. Default 250, MGSM's."),
  hold_out: count
    .optional()
    .describe('Number of last problems to compare choice and default on. Default a third.'),
  seed: z
    .int()
    .optional()
    .describe('Seed of the order in which configurations are tried without an analysis. Default 0.'),
  metric: z
    .string()
    .min(1)
    .optional()
    .describe('Metric to search by, as the harness names it: exact_match,flexible-extract.'),
  task: z.string().min(1).optional().describe("Task to search by. Default the language's first."),
  default: z
    .string()
    .min(1)
    .optional()
    .describe('Configuration to compare with: default, grid/b5-u2-tb0-tu0. Default the entry default.'),
  entries: z
    .array(z.string().min(1))
    .min(1)
    .optional()
    .describe('Names of the entries of merges to search. Default all.'),
});

const keys = Object.keys(searchSchema.shape);

/**
 * Checks what `search:` says, with keys in snake case.
 *
 * @throws LayerloomError RECIPE_INVALID, with the path of the value
 */
export const parseSearchBlock = (given: unknown): SearchBlock => {
  const { data, error } = searchSchema.safeParse(given);
  if (data !== undefined) {
    const { hold_out: holdOut, ...rest } = data;
    return { ...rest, holdOut };
  }
  const [issue] = error.issues;
  if (issue?.code === 'unrecognized_keys') throw unknownKeyOf('search', issue.keys[0] ?? '', keys);
  const key = String(issue?.path[0] ?? 'search');
  throw new LayerloomError(
    'RECIPE_INVALID',
    { file: 'search', key, reason: String(issue?.message) },
    { context: { recipePath: ['search', key] } },
  );
};
