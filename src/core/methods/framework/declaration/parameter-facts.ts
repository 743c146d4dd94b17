import * as z from 'zod';
import type { Method } from './method.js';
import type { ParameterSpec } from './settings.js';

export interface ParameterFacts {
  readonly spec: ParameterSpec;
  readonly perModel: boolean;
}

/** Returns facts about the parameter of a schema; undefined for other schemas. */
export const factsOf = (schema: z.ZodType): ParameterFacts | undefined => {
  const facts = z.globalRegistry.get(schema);
  return facts !== undefined && 'spec' in facts ? (facts as unknown as ParameterFacts) : undefined;
};

/** Returns a tensor method's parameters by camel-case name; undefined for other methods. */
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
