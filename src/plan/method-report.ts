import type { MethodReport } from '../methods/framework/method.js';
import { methods } from '../methods/index.js';
import type { MergePlan } from './plan.js';

/** The report of a plan by its method; empty where this process does not know the method. */
export const reportOf = (plan: MergePlan): MethodReport => methods.get(plan.method)?.report?.(plan) ?? {};

/** Lines for people on what a plan's method found from the models. */
export const notesOf = (plan: MergePlan): readonly string[] => methods.get(plan.method)?.notes?.(plan) ?? [];
