import { LayerloomError } from '../../../core/base/errors/errors.js';
import { emptyTable, groupBy, ownValue } from '../../../core/base/errors/lookup.js';
import { optionName } from '../../../core/base/errors/option-name.js';
import { taskOf } from '../../evaluation/data/task-facts.js';
import type { Declared } from '../../evaluation/declared.js';

/**
 * Criteria for choosing checkpoints. Names are tasks (columns of a CSV file) or benchmarks: `BELEBELE` means
 * all of its tasks.
 */
export interface SelectionWishes {
  /** Tasks by which checkpoints are chosen. Default: tasks on which no merge is scored, else all. */
  readonly tasks?: readonly string[] | undefined;
  /** Weights by task or benchmark; default 1. A benchmark's tasks share its weight equally. */
  readonly weights?: Readonly<Record<string, number>> | undefined;
  /** Minimum scores by task or benchmark: a number on the harness's scale, `base`, or `base+0.005`. */
  readonly atLeast?: Readonly<Record<string, number | string>> | undefined;
}

export interface ScoredTasks {
  /** Candidates' role for messages; null for all candidates. */
  readonly role: string | null;
  readonly tasks: readonly string[];
  /** Scores of the base; higher is better. */
  readonly base: Readonly<Record<string, number>> | undefined;
  /** True for tasks with a metric that is better when lower; scores are then negated. */
  readonly isTurned: (task: string) => boolean;
  readonly declared?: Declared;
  /** Tasks that score the merges. They count only if they are named, or if there are no other tasks. */
  readonly reported?: ReadonlySet<string>;
}

export interface TaskWishes {
  /** Positive weights; tasks without a weight do not count. */
  readonly weights: Readonly<Record<string, number>>;
  /** Minimum scores; higher is better. */
  readonly atLeast: Readonly<Record<string, number>>;
}

export const invalidSelection = (reason: string, remedy: string): LayerloomError =>
  new LayerloomError('SELECTION_INVALID', { reason, remedy });

/**
 * Converts criteria to tasks.
 *
 * @throws SELECTION_INVALID for an unknown name; a negative or NaN weight; a NaN bound, or one relative to a
 *   missing score of the base
 */
export const wishesOf = (
  { tasks, weights = {}, atLeast = {} }: SelectionWishes,
  scored: ScoredTasks,
): TaskWishes => {
  const own = new Set(scored.tasks);
  const byBenchmark = groupBy(scored.tasks, (task) =>
    (scored.declared?.get(task)?.name ?? taskOf(task)?.benchmark)?.toLowerCase(),
  );
  const named = (name: string): readonly string[] => {
    const found = byBenchmark.get(name.toLowerCase()) ?? [];
    if (own.has(name) && !found.includes(name)) return [...found, name];
    if (found.length > 0) return found;
    throw invalidSelection(
      `not all candidates${scored.role === null ? '' : ` of ${scored.role}`} have scores in ${name}`,
      `choose among ${scored.tasks.join(', ')}, or score the others too${scored.role === null ? '' : `, or choose another ${optionName('role')}`}`,
    );
  };
  return {
    weights: weightsOf(tasks, weights, unreported(scored), named),
    atLeast: boundsOf(atLeast, scored, named),
  };
};

const unreported = ({ tasks, reported }: ScoredTasks): readonly string[] => {
  const others = tasks.filter((task) => reported?.has(task) !== true);
  return others.length === 0 ? tasks : others;
};

const weightsOf = (
  names: readonly string[] | undefined,
  weights: Readonly<Record<string, number>>,
  all: readonly string[],
  named: (name: string) => readonly string[],
): Record<string, number> => {
  for (const [name, weight] of Object.entries(weights)) {
    if (typeof weight !== 'number' || !Number.isFinite(weight) || weight < 0)
      throw invalidSelection(
        `the weight of ${name} is ${JSON.stringify(weight)}`,
        'give a number, 0 or more',
      );
    if (names !== undefined && !names.includes(name))
      throw invalidSelection(
        `${name} has a weight, but is not among the tasks that count`,
        `name it under ${optionName('tasks')} too`,
      );
  }
  const weighted = Object.keys(weights);
  const taken = new Set(weighted.flatMap(named));
  const parts = names ?? [...weighted, ...all.filter((task) => !taken.has(task))];
  const found = emptyTable<number>();
  for (const name of parts) {
    const own = named(name);
    for (const task of own) found[task] = (found[task] ?? 0) + (ownValue(weights, name) ?? 1) / own.length;
  }
  if (Object.values(found).every((weight) => weight === 0))
    throw invalidSelection('all weights are 0', 'give one of them a number above 0');
  return found;
};

const fromBase = /^base(?<more>[+-]\d+(?:\.\d+)?(?:e[+-]?\d+)?)?$/i;

const boundsOf = (
  bounds: Readonly<Record<string, number | string>>,
  { base, isTurned }: ScoredTasks,
  named: (name: string) => readonly string[],
): Record<string, number> =>
  Object.fromEntries(
    Object.entries(bounds).flatMap(([name, bound]) =>
      named(name).map((task): [string, number] => {
        if (typeof bound === 'number' && Number.isFinite(bound))
          return [task, isTurned(task) ? -bound : bound];
        const match = fromBase.exec(String(bound));
        if (match === null)
          throw invalidSelection(
            `the minimum score in ${name} is ${JSON.stringify(bound)}`,
            'give a number, base, or base+0.005',
          );
        const own = base && ownValue(base, task);
        if (own === undefined)
          throw invalidSelection(`the base has no score in ${task}`, 'score it too, or give a number');
        return [task, own + Number(match.groups?.['more'] ?? 0)];
      }),
    ),
  );
