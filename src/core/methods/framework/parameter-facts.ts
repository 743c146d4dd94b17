import * as z from 'zod';
import type { Method } from './method.js';
import type { ParameterSpec } from './settings.js';

/** Facts about a parameter beside its zod schema. */
export interface ParameterFacts {
  readonly spec: ParameterSpec;
  /** True if each model may have its own value. */
  readonly perModel: boolean;
}

/** Returns the facts of a tensor method's parameter; undefined for other zod schemas. */
export const factsOf = (schema: z.ZodType): ParameterFacts | undefined => {
  const facts = z.globalRegistry.get(schema);
  return facts !== undefined && 'spec' in facts ? (facts as unknown as ParameterFacts) : undefined;
};

/**
 * Returns a tensor method's parameters by their camel-case names; undefined for other methods. A tensor
 * method makes each tensor from the same tensor of several models.
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
