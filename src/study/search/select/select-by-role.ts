import { itemAt } from '../../../core/base/errors/lookup.js';
import {
  type SelectedCheckpoint,
  type Selection,
  type SelectionCandidate,
  type SelectionDistance,
  selectCheckpoints,
} from './select-checkpoints.js';
import { type ScoredTasks, type SelectionWishes, wishesOf } from './selection-wishes.js';

/** Selections by role; `role` is null if candidates have no roles. */
export interface SelectionByRole {
  readonly chosen: readonly (SelectedCheckpoint & { readonly role: string | null })[];
  readonly balance: number;
  readonly scores: readonly (Selection['scores'][number] & { readonly role: string | null })[];
  readonly leftOut: readonly (Selection['leftOut'][number] & { readonly role: string | null })[];
  readonly weights: readonly {
    readonly role: string | null;
    readonly task: string;
    readonly weight: number;
  }[];
  /** Tasks that score the merges, and therefore did not select checkpoints. */
  readonly spared: readonly string[];
}

/** Problems of a task whose scores selected checkpoints. */
export interface ChosenBy {
  /** First and last row, `0-49`, or `all`. */
  readonly rows: string;
  /** Number of problems on which each checkpoint was scored; if it differs, the smallest. */
  readonly problems: number;
}

export interface Pool extends ScoredTasks {
  readonly candidates: readonly SelectionCandidate[];
}

interface RoleSettings {
  readonly distances: readonly SelectionDistance[];
  readonly count: number | undefined;
  readonly balance: number | undefined;
  readonly wishes: SelectionWishes;
}

export const selectByRole = (
  pools: readonly Pool[],
  { wishes, ...numbers }: RoleSettings,
): SelectionByRole => {
  const selections = pools.map((pool) => {
    const { candidates, role, isTurned } = pool;
    const { weights, atLeast } = wishesOf(wishes, pool);
    const selection = selectCheckpoints({ ...numbers, candidates, weights, atLeast });
    const leftOut = selection.leftOut.map((out) =>
      isTurned(out.benchmark) ? { ...out, score: -out.score, atLeast: -out.atLeast } : out,
    );
    return { ...selection, leftOut, role, weights };
  });
  return {
    chosen: selections.flatMap(({ chosen, role }) => chosen.map((one) => ({ ...one, role }))),
    balance: numbers.balance ?? 1,
    scores: selections.flatMap(({ scores, role }) => scores.map((one) => ({ ...one, role }))),
    leftOut: selections.flatMap(({ leftOut, role }) => leftOut.map((out) => ({ ...out, role }))),
    weights: selections.flatMap(({ weights, role }) =>
      Object.entries(weights).map(([task, weight]) => ({ role, task, weight })),
    ),
    spared:
      wishes.tasks === undefined
        ? [...new Set(selections.flatMap(({ weights }, at) => sparedIn(itemAt(pools, at), weights)))]
        : [],
  };
};

const sparedIn = ({ tasks, reported }: Pool, weights: Readonly<Record<string, number>>): string[] =>
  tasks.filter((task) => reported?.has(task) === true && !Object.hasOwn(weights, task));
