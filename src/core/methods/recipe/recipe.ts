import type { z } from 'zod';
import { LayerloomError } from '../../base/errors/errors.js';
import { pick } from '../../base/errors/lookup.js';
import { nearest } from '../../base/nearest.js';
import { isGiven } from '../../models/checkpoint/files/json.js';
import type { Layout } from '../../models/checkpoint/layouts.js';
import type { ExpertLayout } from '../../models/experts/layouts.js';
import type { WrittenName } from '../../models/quantisation/quantising.js';
import { chatTemplateOf } from '../../models/tokenizer/chat-templates/chat-template.js';
import type { TokenizerRequest, TransplantRequest } from '../../models/tokenizer/vocabulary.js';
import { type ArithmeticDtype, parseDtype } from '../../tensor/dtype.js';
import { commonSettings, layoutSettings, outputSettings } from '../framework/declaration/common-settings.js';
import type {
  Citation,
  CompileContext,
  Compiled,
  Method,
  ModelReference,
  NeededStatistics,
  RecipePath,
} from '../framework/declaration/method.js';
import { invalidSetting } from '../framework/declaration/settings.js';
import { isUncheckedRecipe, type UncheckedRecipe } from '../framework/declaration/unchecked-recipe.js';
import { same } from '../framework/tensors/tensor-recipe.js';
import { methods } from '../index.js';
import type { ModelInput, RecipeInput } from '../recipes.js';
import { checkOptions } from './block.js';
import { checkTokenizer } from './check-tokenizer.js';
import { toSnakeCase } from './document/case.js';

/** A recipe, checked before any model is opened. Later code trusts its values. */
export interface Recipe {
  readonly method: string;
  readonly title: string;
  readonly tags: readonly string[];
  readonly citations: readonly Citation[];
  /** The recipe as given; a complete recipe repeats its settings. */
  readonly given: UncheckedRecipe;
  /** The layout; options override it. */
  readonly layout: Layout | undefined;
  readonly maxShardSize: string | number | undefined;
  readonly experts: ExpertLayout | undefined;
  readonly quantize: WrittenName | undefined;
  /** A `config.json` for models without one. A nested recipe uses its outer recipe's. */
  readonly config: string | undefined;
  readonly dtype: ArithmeticDtype | undefined;
  readonly rank: number | undefined;
  readonly allowNonFinite: boolean;
  /** Tokenizer settings, which refer to models by index: `models`, then `companions`. */
  readonly tokenizer: TokenizerRequest;
  /** Set if the first model gets the second's tokenizer. */
  readonly transplant: TransplantRequest | undefined;
  /** A chat template's text, or `auto`. */
  readonly chatTemplate: string | undefined;
  /** The stack of layers, for models with several stacks. */
  readonly stack: string | undefined;
  readonly models: readonly ModelReference[];
  readonly companions: readonly ModelReference[];
  readonly nested: ReadonlyMap<RecipeInput, Recipe>;
  readonly keepsCard: boolean;
  readonly needsLayers: boolean;
  readonly stacksLayers: boolean;
  readonly statistics: NeededStatistics | undefined;
  readonly compile: (context: CompileContext) => Compiled;
}

const mostNesting = 16;

export const withMethod = (
  input: unknown,
  path: RecipePath = [],
): { readonly given: UncheckedRecipe; readonly method: Method<never> } => {
  if (typeof input !== 'object' || input === null)
    throw invalidSetting(path.length === 0 ? ['recipe'] : path, input, 'a recipe: an object with its method');
  const given = isUncheckedRecipe(input) ? input : undefined;
  const method = given && methods.get(given.method);
  if (given !== undefined && method !== undefined) return { given, method };
  const at = [...path, 'method'];
  const name: unknown = 'method' in input ? input.method : undefined;
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
};

/**
 * Checks a recipe without reading files.
 *
 * @throws INVALID_PARAMETER, USAGE for an unknown parameter, both with the `path`
 */
export const parseRecipe = (input: unknown, path: RecipePath = [], outerConfig?: string): Recipe => {
  const { given, method } = withMethod(input, path);
  const { name } = method;
  if (path.length > 0) refuse(given, Object.keys(outputSettings.shape), path, 'in the place of a model');
  if (path.length > 0 && method.standsAlone)
    throw invalidSetting(
      path,
      name,
      `a model, and no recipe of ${name}: merge that first, in a step of its own`,
    );
  if (path.length > 4 * mostNesting)
    throw invalidSetting(path, name, `at most ${mostNesting} recipes in one another`);
  const { dtype, outDtype, chatTemplate, stack, ...otherCommon } = checkSettings(commonSettings, given, path);
  const {
    as: _as,
    config = outerConfig,
    layout,
    maxShardSize,
    experts,
    quantize,
    rank,
    allowNonFinite,
    ...otherOutput
  } = checkSettings(outputSettings, given, path);
  const rest = Object.fromEntries(Object.entries(given).filter(([key]) => !settingsOfAll.has(key)));
  // Removes `dialect`, which only methods with dialects take.
  const { dialect: _dialect, ...plain } = rest;
  const parameters = within(path, () =>
    checkParameters(
      method,
      'dialect' in method.schema.shape ? rest : rest['dialect'] === 'mergekit' ? plain : rest,
    ),
  );
  const placed = (reference: ModelReference): ModelReference => ({
    ...reference,
    path: [...path, ...(reference.path ?? [reference.role])],
  });
  const models = method.models(parameters).map(placed);
  const companions = method.companions(parameters).map(placed);
  const transplant = method.transplant?.(parameters);
  if (transplant !== undefined)
    for (const key of ['tokenizer', 'tokenizerSource'])
      if (isGiven(given[key]))
        throw invalidSetting(
          [...path, key],
          given[key],
          `no tokenizer but that of the donor in a recipe of ${name}`,
        );
  const nested = new Map<RecipeInput, Recipe>();
  for (const { model, path: at } of [...models, ...companions])
    if (typeof model !== 'string') nested.set(model, parseRecipe(model, at, config));
  const decided = <T>(value: T | ((parameters: never) => T) | undefined, otherwise: T): T =>
    typeof value === 'function' ? (value as (parameters: never) => T)(parameters) : (value ?? otherwise);
  return {
    // A setting not read above causes a compile error here; otherwise it would be accepted and ignored.
    ...({ ...otherCommon, ...otherOutput } satisfies Record<string, never>),
    method: method.name,
    ...pick(method, 'title', 'tags'),
    citations: decided<readonly Citation[]>(method.citations, []),
    ...{ given, layout, maxShardSize, experts, quantize, config },
    dtype: parseDtype(outDtype ?? dtype ?? ''),
    rank,
    allowNonFinite: allowNonFinite ?? false,
    tokenizer: checkTokenizer(
      given,
      [...models, ...companions].filter(({ inPart }) => !inPart),
      path,
    ),
    transplant,
    chatTemplate: chatTemplateOf(chatTemplate),
    ...{ stack, models, companions, nested },
    keepsCard: method.keepsCard,
    needsLayers: decided(method.needsLayers, false),
    stacksLayers: decided(method.stacksLayers, false),
    statistics: within(path, () => method.statistics?.(parameters)),
    compile: (context) => within(path, () => compileUnder(path, method.compile(parameters, context))),
  };
};

/** @throws INVALID_PARAMETER for layout settings in a recipe that writes no shards */
export const refuseLayout = ({ given }: Recipe, where: string): void =>
  refuse(given, Object.keys(layoutSettings), [], where);

const refuse = (given: UncheckedRecipe, keys: readonly string[], path: RecipePath, where: string): void => {
  for (const key of keys)
    if (given[key] !== undefined)
      throw invalidSetting([...path, key], given[key], `no such key of a recipe ${where}`);
};

export const allRecipes = (recipe: Recipe): Recipe[] => [
  ...[...recipe.nested.values()].flatMap(allRecipes),
  recipe,
];

/** Names merged models; for a nested recipe, the models that it merges. */
export const mergedModels = (recipe: Recipe, models: readonly ModelInput[]): string[] =>
  models.flatMap((model) => {
    if (typeof model === 'string') return [model];
    const inner = [...recipe.nested].find(([given]) => same(given, model))?.[1];
    return inner === undefined
      ? []
      : mergedModels(
          inner,
          inner.models.map((reference) => reference.model),
        );
  });

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
    // Reports only the misspelt parameter, because the intended parameter would seem missing too.
    const { issues } = result.error;
    throw fromIssue(issues.find(({ code }) => code === 'unrecognized_keys') ?? issues[0], given, method);
  }
  return result.data;
};

const settingsOfAll: ReadonlySet<string> = new Set([
  ...['method', 'tokenizerSource', 'tokenizer'],
  ...Object.keys(commonSettings.shape),
  ...Object.keys(outputSettings.shape),
]);

const checkSettings = <Block extends z.ZodObject>(
  schema: Block,
  given: UncheckedRecipe,
  path: RecipePath,
): z.output<Block> => {
  const values = Object.fromEntries(Object.keys(schema.shape).map((key) => [key, given[key] ?? undefined]));
  return checkOptions(schema, values, path);
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
