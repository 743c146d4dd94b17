import type { z } from 'zod';

/** Arrays as read-only lists, since zod infers mutable ones and no tuples. */
type Listed<T> = T extends readonly (infer Item)[] ? readonly Item[] : T;

/** A parameter's type where it is given. */
type Given<T> = Listed<Exclude<T, undefined>>;

type Equal<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;

/**
 * Names of the parameters that only one of two object types has, or that have another type in each; `never`
 * where there are none.
 */
export type Drift<A, B> =
  | Exclude<keyof A, keyof B>
  | Exclude<keyof B, keyof A>
  | {
      [Name in keyof A & keyof B]-?: Equal<Given<A[Name]>, Given<B[Name]>> extends true ? never : Name;
    }[keyof A & keyof B];

/**
 * Returns the schema as it is. Does not compile where the schema and the documented interface differ in a
 * parameter; the error names it.
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
