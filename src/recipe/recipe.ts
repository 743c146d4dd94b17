import type { z } from 'zod';
import { LayerloomError } from '../errors.js';
import { methods } from '../methods/index.js';
import type { LayerSwapParameters } from '../methods/layer-swap.js';
import type {
  Compiled,
  Method,
  ModelReference,
  NeededStatistics,
  TaskVectorStatistics,
} from '../methods/method.js';
import type { RelayoutParameters } from '../methods/relayout.js';
import type { RevertParameters } from '../methods/revert.js';
import type { SoupParameters } from '../methods/soup.js';
import { type ArithmeticDtype, dtypeNames, parseDtype } from '../tensor/dtype.js';

/** What every recipe may say, whatever its method. */
interface Common {
  /**
   * The output's floating dtype (`bfloat16`, `float32`, …): every floating tensor is converted, copied ones too. Without it
   * the output has the dtypes of the first model.
   */
  dtype?: string | undefined;
}

/** A merge as a caller describes it. */
export type RecipeInput =
  | ({ method: 'layer_swap' } & LayerSwapParameters & Common)
  | ({ method: 'soup' } & SoupParameters & Common)
  | ({ method: 'revert' } & RevertParameters & Common)
  | ({ method: 'relayout' } & RelayoutParameters & Common);

/** A recipe checked: what follows trusts it. Models have not been opened yet. */
export interface Recipe {
  readonly method: string;
  readonly title: string;
  readonly tags: readonly string[];
  readonly dtype: ArithmeticDtype | undefined;
  readonly models: readonly ModelReference[];
  readonly companions: readonly ModelReference[];
  readonly keepsCard: boolean;
  readonly needsLayers: boolean;
  /** What must be known of whole tensors before the recipe compiles. */
  readonly statistics: NeededStatistics | undefined;
  readonly compile: (layers: number, statistics: readonly TaskVectorStatistics[]) => Compiled;
}

/**
 * Checks a recipe before anything is read.
 *
 * @throws LayerloomError INVALID_PARAMETER, USAGE (an unknown parameter)
 */
export const parseRecipe = (input: RecipeInput): Recipe => {
  const { method: name, dtype, ...rest } = input;
  const method = methods.get(name);
  if (method === undefined)
    throw new LayerloomError('INVALID_PARAMETER', {
      parameter: 'method',
      value: name,
      expected: [...methods.keys()].join(' or '),
    });
  const result = method.schema.safeParse(rest);
  if (!result.success) throw fromIssue(result.error.issues[0], rest, method);
  const parameters = result.data;
  return {
    method: method.name,
    title: method.title,
    tags: method.tags,
    dtype: checkDtype(dtype),
    models: method.models(parameters),
    companions: method.companions(parameters),
    keepsCard: method.keepsCard,
    needsLayers: method.needsLayers,
    statistics: method.statistics?.(parameters),
    compile: (layers, statistics) => method.compile(parameters, layers, statistics),
  };
};

const checkDtype = (dtype: string | undefined): ArithmeticDtype | undefined => {
  if (dtype === undefined) return undefined;
  const parsed = parseDtype(dtype);
  if (parsed === undefined)
    throw new LayerloomError('INVALID_PARAMETER', {
      parameter: 'dtype',
      value: dtype,
      expected: `one of ${dtypeNames.join(', ')}`,
    });
  return parsed;
};

const fromIssue = (
  issue: z.core.$ZodIssue | undefined,
  input: unknown,
  method: Method<never>,
): LayerloomError => {
  if (issue?.code === 'unrecognized_keys')
    return new LayerloomError('USAGE', {
      reason: `${method.name} has no parameter ${issue.keys[0]}; it has ${Object.keys(method.schema.shape).join(', ')}`,
    });
  const path = issue?.path ?? [];
  const value = path.reduce<unknown>(
    (at, key) => (at as Record<PropertyKey, unknown> | undefined)?.[key],
    input,
  );
  return new LayerloomError('INVALID_PARAMETER', {
    parameter: path.length === 0 ? 'recipe' : path.join('.'),
    value: value ?? null,
    expected: issue?.message ?? 'another value',
  });
};
