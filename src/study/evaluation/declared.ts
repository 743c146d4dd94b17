import type { EvaluationBlock } from './evaluation-block.js';

/** The benchmark of each task, and its metric, where `benchmarks` of `evaluate:` names them. */
export type Declared = ReadonlyMap<string, { readonly name: string; readonly metric?: string }>;

export const declaredIn = (block: Pick<EvaluationBlock, 'benchmarks'> | undefined): Declared =>
  new Map(
    Object.entries(block?.benchmarks ?? {}).flatMap(([name, { tasks, metric }]) =>
      tasks.map((task) => [task, { name, ...(metric === undefined ? {} : { metric }) }] as const),
    ),
  );
