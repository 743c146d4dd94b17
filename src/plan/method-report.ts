import type { MethodReport } from '../methods/framework/method.js';
import { methods } from '../methods/index.js';
import type { MergePlan } from './plan.js';

/** What a plan's method reports of it; nothing where this process does not know the method. */
export const reportOf = (plan: MergePlan): MethodReport => methods.get(plan.method)?.report?.(plan) ?? {};

/** What a plan's method found from the models, in lines for people. */
export const notesOf = (plan: MergePlan): readonly string[] => methods.get(plan.method)?.notes?.(plan) ?? [];
