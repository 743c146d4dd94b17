import * as z from 'zod';
import type { Method } from './method.js';
import type { ParameterSpec } from './settings.js';

/** Facts of a parameter that go along with its zod schema. */
export interface ParameterFacts {
  readonly spec: ParameterSpec;
  /** True for a parameter that each model may have its own of. */
  readonly perModel: boolean;
}

/** The facts of a tensor method's parameter; undefined for other zod schemas. */
export const factsOf = (schema: z.ZodType): ParameterFacts | undefined => {
  const facts = z.globalRegistry.get(schema);
  return facts !== undefined && 'spec' in facts ? (facts as unknown as ParameterFacts) : undefined;
};

/**
 * The parameters of a method that makes each tensor from the same tensor of several models, by their names in
 * camel case; undefined for other methods.
 */
export const tensorParameters = ({
  schema,
}: Pick<Method<never>, 'schema'>): ReadonlyMap<string, ParameterFacts> | undefined => {
  if (!('dialect' in schema.shape)) return undefined;
  return new Map(
    Object.entries(schema.shape as Readonly<Record<string, z.ZodType>>).flatMap(([name, one]) => {
      const facts = factsOf(one);
      return facts === undefined ? [] : [[name, facts] as const];
    }),
  );
};
