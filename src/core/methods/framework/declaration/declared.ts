import type { z } from 'zod';

/** Arrays as read-only lists, since zod infers mutable arrays and no tuples. */
type Listed<T> = T extends readonly (infer Item)[] ? readonly Item[] : T;

type Given<T> = Listed<Exclude<T, undefined>>;

type Equal<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;

/** Names of parameters that only one type has, or that differ in type; otherwise `never`. */
export type Drift<A, B> =
  | Exclude<keyof A, keyof B>
  | Exclude<keyof B, keyof A>
  | {
      [Name in keyof A & keyof B]-?: Equal<Given<A[Name]>, Given<B[Name]>> extends true ? never : Name;
    }[keyof A & keyof B];

/**
 * Returns the schema unchanged. Does not compile if schema and documented interface differ; the error names
 * the parameter.
 *
 * @example const schema = schemaOf<SoupParameters>()(z.strictObject({ … }));
 */
export const schemaOf =
  <Parameters extends object>() =>
  <Schema extends z.ZodType<unknown, object>>(
    schema: Schema &
      ([Drift<z.input<Schema>, Parameters>] extends [never] ? unknown : Drift<z.input<Schema>, Parameters>),
  ): Schema =>
    schema;
