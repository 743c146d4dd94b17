import * as z from 'zod';
import { type Given, setting } from '../../../../core/base/errors/setting.js';

/** Share of all evaluations: `25%`. */
export const budgetText = /^\d+(\.\d+)?%$/;

/** `search:` of an experiment: defaults of the command's options. */
export const searchSchema = z.strictObject({
  strategy: setting(z.enum(['halving', 'descent']).default('halving'), {
    meaning: '[How to search](#successive-halving). `descent` means `halving`.',
  }),
  budget: setting(z.union([z.int().min(1), z.string().regex(budgetText)]).default('25%'), {
    meaning:
      'Number of problem-evaluations (one model on one problem), or a percentage of those of the whole grid. Includes the final comparison.',
    expected: 'a number of problem-evaluations, or a share such as 25%',
  }),
  problems: setting(z.int().min(2).default(250), { meaning: "Number of the task's problems." }),
  holdOut: setting(z.int().min(1).optional(), {
    meaning: 'Last problems, which only the final comparison uses.',
    otherwise: 'a third, rounded to tens (80 of 250)',
  }),
  default: setting(z.string().min(1).optional(), {
    meaning: 'The configuration to compare with: `default`, `grid/b5-u2-tb0-tu0`.',
    expected: 'the name of a configuration',
    otherwise: 'the entry `default`, else the first',
  }),
  entries: setting(z.array(z.string().min(1)).min(1).optional(), {
    meaning: 'Names of the entries of `merges` to search.',
    expected: 'a list of names of entries',
    otherwise: 'all',
  }),
  task: setting(z.string().min(1).optional(), {
    meaning: 'The task whose scores guide the search.',
    expected: 'the name of a task',
    otherwise: "the language's first",
  }),
  metric: setting(z.string().min(1).optional(), {
    meaning: 'The metric that guides the search, as the harness names it: `exact_match,flexible-extract`.',
    expected: 'a metric as the harness names it: exact_match,flexible-extract',
    otherwise: 'the metric that tables show',
  }),
  seed: setting(z.int().default(0), {
    meaning: 'Seed for the order of configurations, used if there is no analysis.',
  }),
});

/** `search:` of an experiment given as an object; files use snake case. */
export type SearchBlock = Given<z.input<typeof searchSchema>>;

export type SearchSettings = z.output<typeof searchSchema>;
