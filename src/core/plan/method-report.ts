import type { MethodReport, ReportedPlan } from '../methods/framework/method.js';
import { methods } from '../methods/index.js';
import { sourcesOf } from './operands.js';
import type { MergePlan } from './plan.js';

/** The report of a plan by its method; empty where this process does not know the method. */
export const reportOf = (plan: MergePlan): MethodReport =>
  methods.get(plan.method)?.report?.(reported(plan)) ?? {};

/** Lines for people on what a plan's method found from the models. */
export const notesOf = (plan: MergePlan): readonly string[] =>
  methods.get(plan.method)?.notes?.(reported(plan)) ?? [];

const reported = (plan: MergePlan): ReportedPlan => ({
  ...plan,
  // When it is asked for: most notes are about the recipe alone.
  get shards() {
    return plan.shards.map(({ tensors }) => ({
      tensors: tensors.map((tensor) => ({
        ...tensor,
        madeOf: [...new Set(sourcesOf(tensor.expression).map(({ input }) => input))],
      })),
    }));
  },
});
