import * as z from 'zod';
import { type Dtype, isDtype } from '../tensor/dtype.js';

export type Refuse = (reason: string) => never;

export const count = z.int().nonnegative();

export const dtype = z.custom<Dtype>(isDtype, { error: 'no known dtype' });

/** Parses into a copy, so that getters and proxies cannot change values after the check. */
export const parseBy = <T>(schema: z.ZodType<T>, value: unknown, refuse: Refuse): T => {
  const { data, error } = schema.safeParse(value);
  if (error === undefined) return data;
  const [issue] = error.issues;
  const at = issue === undefined || issue.path.length === 0 ? '' : `${issue.path.join('.')}: `;
  return refuse(`${at}${issue?.message}`);
};
