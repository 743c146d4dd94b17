import type { z } from 'zod';

/** Makes arrays read-only; zod infers mutable ones. */
type Listed<T> = T extends readonly (infer Item)[] ? readonly Item[] : T;

type Given<T> = Listed<Exclude<T, undefined>>;

type Equal<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;

/** Names of parameters that only one of two types has, or whose types differ; otherwise `never`. */
export type Drift<A, B> =
  | Exclude<keyof A, keyof B>
  | Exclude<keyof B, keyof A>
  | {
      [Name in keyof A & keyof B]-?: Equal<Given<A[Name]>, Given<B[Name]>> extends true ? never : Name;
    }[keyof A & keyof B];

/**
 * Compiles only if the schema equals its interface; the error names the parameter.
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
