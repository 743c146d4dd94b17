import type { EvaluationBlock } from './evaluation-block.js';

/** Benchmark and metric by task, as declared by `benchmarks` in `evaluate:`. */
export type Declared = ReadonlyMap<string, { readonly name: string; readonly metric?: string }>;

export const declaredIn = (block: Pick<EvaluationBlock, 'benchmarks'> | undefined): Declared =>
  new Map(
    Object.entries(block?.benchmarks ?? {}).flatMap(([name, { tasks, metric }]) =>
      tasks.map((task) => [task, { name, ...(metric === undefined ? {} : { metric }) }] as const),
    ),
  );
