import type { z } from 'zod';
import { LayerloomError } from '../base/errors.js';
import type {
  Citation,
  CompileContext,
  Compiled,
  Method,
  ModelReference,
  NeededStatistics,
  RecipePath,
} from '../methods/framework/method.js';
import { invalid } from '../methods/framework/settings.js';
import { methods } from '../methods/index.js';
import type { RecipeInput } from '../methods/recipes.js';
import {
  chatTemplateNames,
  chatTemplateOf,
  chatTemplateWords,
} from '../model/tokenizer/chat-templates/chat-template.js';
import type { TokenizerRequest } from '../model/tokenizer/vocabulary.js';
import { type ArithmeticDtype, dtypeNames, parseDtype } from '../tensor/dtype.js';
import { toSnakeCase } from './case.js';
import { checkTokenizer } from './check-tokenizer.js';
import { nearest } from './nearest.js';

/** A recipe whose parameters are not known when a program is compiled, such as a file's. */
export interface UncheckedRecipe {
  readonly method: string;
  readonly [parameter: string]: unknown;
}

/** A recipe checked: what follows trusts it. Models have not been opened yet. */
export interface Recipe {
  readonly method: string;
  readonly title: string;
  readonly tags: readonly string[];
  readonly citations: readonly Citation[];
  /** The recipe as it was given: what is not about models is the same in a recipe that makes it again. */
  readonly given: UncheckedRecipe;
  /** How the recipe itself wants its shards; options go before it. */
  readonly layout: unknown;
  readonly maxShardSize: unknown;
  readonly dtype: ArithmeticDtype | undefined;
  /** Of a merge of adapters: the rank of averaged products, at most. */
  readonly rank: number | undefined;
  /** True if values that are no finite numbers are computed with, instead of refused. */
  readonly allowNonFinite: boolean;
  /** The output's tokenizer; models by their index, in `models` and then `companions`. */
  readonly tokenizer: TokenizerRequest;
  /** `auto`, or the template's text. */
  readonly chatTemplate: string | undefined;
  readonly models: readonly ModelReference[];
  readonly companions: readonly ModelReference[];
  /** The recipes that stand in models' places, checked too. */
  readonly nested: ReadonlyMap<RecipeInput, Recipe>;
  readonly keepsCard: boolean;
  readonly needsLayers: boolean;
  /** True where models may differ in their number of layers. */
  readonly stacksLayers: boolean;
  /** Statistics of whole models that `compile` needs. */
  readonly statistics: NeededStatistics | undefined;
  readonly compile: (context: CompileContext) => Compiled;
}

/** The deepest nesting of recipes in recipes. */
const mostNesting = 16;

/** The highest rank that products are truncated to. */
export const mostRank = 4096;

/**
 * Checks a recipe before anything is read.
 *
 * @throws LayerloomError INVALID_PARAMETER, USAGE (an unknown parameter), both with the `path` of what is
 *   wrong
 */
export const parseRecipe = (input: RecipeInput | UncheckedRecipe, path: RecipePath = []): Recipe => {
  if (typeof input !== 'object' || input === null)
    throw invalid(path.length === 0 ? ['recipe'] : path, input, 'a recipe: an object with its method');
  const given = input as UncheckedRecipe;
  const { method: name, dtype, outDtype, tokenizerSource: _source, tokenizer: _tokenizer, ...named } = given;
  const { chatTemplate, ...others } = named;
  // The form is settled before a recipe is parsed (plan/adapters/form.ts).
  const { layout, maxShardSize, as, rank, allowNonFinite, ...rest } = others;
  const method = methods.get(name);
  if (method === undefined) {
    const at = [...path, 'method'];
    throw new LayerloomError(
      'INVALID_PARAMETER',
      {
        parameter: at.join('.'),
        value: name ?? null,
        expected: `one of ${[...methods.keys()].join(', ')}`,
        nearest: typeof name === 'string' ? nearest(name, methods.keys()) : undefined,
      },
      { context: { recipePath: at } },
    );
  }
  if (path.length > 0) refuseLayout({ layout, maxShardSize }, path, 'in the place of a model');
  if (path.length > 0 && as !== undefined)
    throw invalid([...path, 'as'], as, 'no such key of a recipe in the place of a model');
  if (path.length > 0 && rank !== undefined)
    throw invalid([...path, 'rank'], rank, 'no such key of a recipe in the place of a model');
  if (path.length > 0 && allowNonFinite !== undefined)
    throw invalid(
      [...path, 'allowNonFinite'],
      allowNonFinite,
      'no such key of a recipe in the place of a model',
    );
  if (path.length > 4 * mostNesting)
    throw invalid(path, name, `at most ${mostNesting} recipes in one another`);
  // A recipe of mergekit's says so; to methods without dialects that is all they know.
  const { dialect: _dialect, ...plain } = rest;
  const parameters = within(path, () =>
    checkParameters(
      method,
      'dialect' in method.schema.shape ? rest : rest['dialect'] === 'mergekit' ? plain : rest,
    ),
  );
  const models = method.models(parameters);
  const companions = method.companions(parameters);
  const nested = new Map<RecipeInput, Recipe>();
  for (const { model, path: at = [] } of [...models, ...companions])
    if (typeof model !== 'string') nested.set(model, parseRecipe(model, [...path, ...at]));
  const decided = (value: boolean | ((parameters: never) => boolean) | undefined) =>
    typeof value === 'function' ? value(parameters) : (value ?? false);
  return {
    method: method.name,
    title: method.title,
    tags: method.tags,
    citations: method.citations ?? [],
    given,
    layout,
    maxShardSize,
    dtype: checkDtype(outDtype ?? dtype, [...path, outDtype === undefined ? 'dtype' : 'outDtype']),
    rank: checkRank(rank),
    allowNonFinite: checkFlag(allowNonFinite, 'allowNonFinite'),
    tokenizer: checkTokenizer(given, [...models, ...companions], path),
    chatTemplate: checkTemplate(chatTemplate, [...path, 'chatTemplate']),
    models: models.map((reference) => under(path, reference)),
    companions: companions.map((reference) => under(path, reference)),
    nested,
    keepsCard: method.keepsCard,
    needsLayers: decided(method.needsLayers),
    stacksLayers: decided(method.stacksLayers),
    statistics: within(path, () => method.statistics?.(parameters)),
    compile: (context) => within(path, () => compileUnder(path, method.compile(parameters, context))),
  };
};

/**
 * Refuses a layout of a recipe that has no shards of its own.
 *
 * @throws LayerloomError INVALID_PARAMETER
 */
export const refuseLayout = (
  { layout, maxShardSize }: Pick<Recipe, 'layout' | 'maxShardSize'>,
  path: RecipePath,
  where: string,
): void => {
  for (const [key, value] of Object.entries({ layout, maxShardSize }))
    if (value !== undefined) throw invalid([...path, key], value, `no such key of a recipe ${where}`);
};

/** A recipe and those in it, which come first. */
export const allRecipes = (recipe: Recipe): Recipe[] => [
  ...[...recipe.nested.values()].flatMap(allRecipes),
  recipe,
];

const under = (path: RecipePath, reference: ModelReference): ModelReference => ({
  ...reference,
  path: [...path, ...(reference.path ?? [reference.role])],
});

/** Does work whose errors speak of a nested recipe's own paths. */
const within = <T>(path: RecipePath, work: () => T): T => {
  try {
    return work();
  } catch (error) {
    if (path.length === 0 || !(error instanceof LayerloomError)) throw error;
    throw error.with({ recipePath: [...path, ...(error.context.recipePath ?? [])] });
  }
};

const compileUnder = (path: RecipePath, compiled: Compiled): Compiled => ({
  ...compiled,
  expressionOf: (place, tensor) => within(path, () => compiled.expressionOf(place, tensor)),
  ...(compiled.unused === undefined
    ? {}
    : { unused: () => (compiled.unused?.() ?? []).map((one) => ({ ...one, path: [...path, ...one.path] })) }),
});

const checkParameters = (method: Method<never>, given: Readonly<Record<string, unknown>>): never => {
  const result = method.schema.safeParse(given);
  if (!result.success) {
    // A misspelt parameter goes before the one that is missing for it.
    const { issues } = result.error;
    throw fromIssue(issues.find(({ code }) => code === 'unrecognized_keys') ?? issues[0], given, method);
  }
  return result.data;
};

const checkDtype = (dtype: unknown, path: RecipePath): ArithmeticDtype | undefined => {
  if (dtype === undefined || dtype === null) return undefined;
  const parsed = typeof dtype === 'string' ? parseDtype(dtype) : undefined;
  if (parsed === undefined) throw invalid(path, dtype, `one of ${dtypeNames.join(', ')}`);
  return parsed;
};

const checkRank = (rank: unknown): number | undefined => {
  if (rank === undefined || rank === null) return undefined;
  if (typeof rank === 'number' && Number.isInteger(rank) && rank >= 1 && rank <= mostRank) return rank;
  throw invalid(['rank'], rank, `a whole number from 1 to ${mostRank}`);
};

const checkFlag = (flag: unknown, key: string): boolean => {
  if (flag === undefined || flag === null) return false;
  if (typeof flag === 'boolean') return flag;
  throw invalid([key], flag, 'true or false');
};

const checkTemplate = (value: unknown, path: RecipePath): string | undefined => {
  if (value === undefined || value === null) return undefined;
  const template = chatTemplateOf(value);
  if (template !== undefined) return template;
  const near = typeof value === 'string' ? nearest(value, chatTemplateNames) : undefined;
  throw new LayerloomError(
    'INVALID_PARAMETER',
    { parameter: path.join('.'), value, expected: chatTemplateWords, nearest: near },
    { context: { recipePath: path } },
  );
};

const fromIssue = (
  issue: z.core.$ZodIssue | undefined,
  input: unknown,
  method: Method<never>,
): LayerloomError => {
  const path = (issue?.path ?? []) as (string | number)[];
  if (issue?.code === 'unrecognized_keys') {
    const [key = ''] = issue.keys;
    const where = path.length === 0 ? method.name : `${path.join('.')} of ${method.name}`;
    const known = knownAt(method, path).map((name) => toSnakeCase(name) ?? name);
    const near = nearest(key, known);
    const meant = near === undefined ? '' : `; did you mean ${near}?`;
    return new LayerloomError(
      'USAGE',
      {
        reason: `${where} has no parameter ${toSnakeCase(key) ?? key}; it has ${known.join(', ')}${meant}`,
      },
      { context: { recipePath: [...path, key] } },
    );
  }
  const value = path.reduce<unknown>(
    (at, key) => (at as Record<PropertyKey, unknown> | undefined)?.[key],
    input,
  );
  return new LayerloomError(
    'INVALID_PARAMETER',
    {
      parameter: path.length === 0 ? 'recipe' : path.join('.'),
      value: value ?? null,
      expected: issue?.message ?? 'another value',
    },
    { context: { recipePath: path } },
  );
};

/** The parameters that stand at a place of the recipe. */
const knownAt = (method: Method<never>, path: RecipePath): string[] => {
  let shape = method.schema.shape as Record<string, z.ZodType>;
  for (const key of path) {
    if (typeof key === 'number') continue;
    let inner = shape[key] as z.ZodType & {
      unwrap?: () => z.ZodType;
      element?: z.ZodType;
      out?: z.ZodType;
      shape?: typeof shape;
    };
    for (let next: typeof inner | undefined = inner; next !== undefined; ) {
      inner = next;
      next = (inner.unwrap?.() ?? inner.element ?? inner.out) as typeof inner | undefined;
    }
    shape = inner?.shape ?? {};
  }
  return Object.keys(shape);
};
