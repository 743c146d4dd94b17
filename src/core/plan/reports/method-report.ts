import type { MethodReport, ReportedPlan } from '../../methods/framework/declaration/method.js';
import { methods } from '../../methods/index.js';
import { sourcesOf } from '../operands.js';
import type { MergePlan } from '../plan.js';

/** Returns a method's figures; empty if this process does not know the method. */
export const reportOf = (plan: MergePlan): MethodReport =>
  methods.get(plan.method)?.report?.(reported(plan)) ?? {};

export const notesOf = (plan: MergePlan): readonly string[] =>
  methods.get(plan.method)?.notes?.(reported(plan)) ?? [];

const reported = (plan: MergePlan): ReportedPlan => ({
  ...plan,
  // A getter, because most notes only need the recipe.
  get shards() {
    return plan.shards.map(({ tensors }) => ({
      tensors: tensors.map((tensor) => ({
        ...tensor,
        madeOf: [...new Set(sourcesOf(tensor.expression).map(({ input }) => input))],
      })),
    }));
  },
});
