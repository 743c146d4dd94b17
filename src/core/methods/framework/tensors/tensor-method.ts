import * as z from 'zod';
import type { Place } from '../../../models/architecture/architecture.js';
import type { ModelTensor } from '../../operations/expression.js';
import type { CompileContext, Compiled, Method, ModelReference, RecipePath } from '../declaration/method.js';
import type { ParameterFacts } from '../declaration/parameter-facts.js';
import { modelSchema } from '../declaration/parameters.js';
import type { ModelInput } from '../declaration/recipe-input.js';
import {
  invalidSetting,
  type ParameterSpec,
  resolveSetting,
  type Scalar,
  unusedFilters,
} from '../declaration/settings.js';
import { checkRanges, layersOf, nameIn, placeIn, stacked, wholeModels } from './tensor-layers.js';
import type * as parameters from './tensor-parameters.js';
import {
  baseOf,
  type RawTensorRecipe,
  type Settings,
  same,
  type TensorRecipe,
  toRecipe,
} from './tensor-recipe.js';
import type { BaseUse, ModelCount, TensorInput, TensorMethodSpec, Values } from './tensor-spec.js';

/** Returns an entry of `models`: `{ model }`; for a named model, `{ model: NAME=MODEL }`. */
const asEntry = (value: unknown): unknown => {
  if (typeof value !== 'object' || value === null || !('model' in value) || 'method' in value)
    return { model: value };
  const { name, model, ...parameters } = value as { model: unknown; name?: unknown };
  return {
    model: name === undefined || typeof model !== 'string' ? model : `${String(name)}=${model}`,
    ...parameters,
  };
};

const rangeSchema = z.tuple([z.int().nonnegative(), z.int().nonnegative()], {
  error: '[first layer, the one after the last]',
});

/** Accepts any values, which `Setting` checks later. */
const unknowns = (
  specs: Readonly<Record<string, ParameterSpec>>,
  perModel: boolean,
): Record<string, z.ZodType> =>
  Object.fromEntries(
    Object.entries(specs).map(([name, spec]) => [
      name,
      z
        .unknown()
        .optional()
        .meta({ spec, perModel } satisfies ParameterFacts),
    ]),
  );

const schemaOf = (spec: TensorMethodSpec): Method<TensorRecipe>['schema'] => {
  const [shared, perModel] = [unknowns(spec.shared ?? {}, false), unknowns(spec.perModel ?? {}, true)];
  const dialects = ['mergekit', ...(spec.dialects ?? [])];
  const entry = z.strictObject({ model: modelSchema, ...perModel });
  const source = z.strictObject({ model: modelSchema, layerRange: rangeSchema, ...perModel });
  const slice = z.strictObject({
    sources: z.array(source, { error: 'a list of sources' }).min(1, { error: 'at least one source' }),
    base: modelSchema.optional(),
    ...shared,
    ...perModel,
  });
  const shape = {
    base: modelSchema.optional(),
    models: z
      .array(z.preprocess(asEntry, entry), { error: 'a list of models' })
      .min(1, { error: 'at least one model' })
      .optional(),
    slices: z.array(slice, { error: 'a list of slices' }).min(1, { error: 'at least one slice' }).optional(),
    ...('weight' in perModel
      ? { weights: z.array(z.number({ error: 'finite numbers' }), { error: 'a list of numbers' }).optional() }
      : {}),
    dialect: z.enum(dialects, { error: dialects.join(', ') }).optional(),
    ...shared,
    ...perModel,
  };
  const schema = z.strictObject(shape).transform((raw, context) =>
    // Reports only the misspelt parameter, because the intended parameter would seem missing too.
    context.issues.length > 0 ? z.NEVER : toRecipe(spec, raw as unknown as RawTensorRecipe),
  );
  return Object.assign(schema as z.ZodType<TensorRecipe>, { shape });
};

type None = Readonly<Record<never, never>>;

/**
 * Makes a method from a spec; adds gradients, filters, slices and precedence (docs/methods.md).
 *
 * @example tensorMethod({ name: 'nearswap', title: 'NearSwap', base: 'required', models: { least: 1, most: 1
 * }, shared: { t: anyNumber() }, expression: ({ base, models: [source], shared: { t } }) => ({ kind:
 * 'nearSwap', base, source, t }) })
 */
export const tensorMethod = <
  const Base extends BaseUse,
  const Count extends ModelCount = { readonly least: 1 },
  Shared = None,
  PerModel = None,
  const Dialect extends string = never,
>(
  typed: TensorMethodSpec<Base, Count, Shared, PerModel, Dialect>,
): parameters.TensorMethod<
  Base,
  parameters.Settings<NoInfer<Shared> & NoInfer<PerModel>>,
  keyof NoInfer<PerModel>,
  NoInfer<Dialect>
> => {
  // A safe cast: numbers of models and values are checked before `expression` is called.
  const spec = typed as unknown as TensorMethodSpec;
  let schema: Method<TensorRecipe>['schema'] | undefined;
  return {
    name: spec.name,
    title: spec.title,
    tags: spec.tags ?? [spec.name.replaceAll('_', '-')],
    ...(spec.citations === undefined ? {} : { citations: spec.citations }),
    takes: {
      base: spec.base === 'required' ? 'required' : 'optional',
      models: 'list',
      startsFromBase: spec.startsFromBase ?? false,
    },
    keepsCard: false,
    // Lazy: making all methods' schemas takes a tenth of a short command's time.
    get schema() {
      schema ??= schemaOf(spec);
      return schema;
    },
    needsLayers: ({ slices }) => slices !== undefined,
    stacksLayers: ({ slices }) => slices !== undefined,
    models: (recipe) => distinctModels(recipe),
    companions: ({ base }) =>
      spec.base === 'ignored' && base !== undefined ? [{ role: 'base', model: base, path: ['base'] }] : [],
    statistics: (recipe) => {
      if (spec.statistics === undefined || recipe.base === undefined) return undefined;
      const { base, dialect } = recipe;
      if (dialect === 'mergekit') return undefined;
      const others = recipe.models.filter(({ model }) => !same(model, base));
      const models = others.map(({ model }) => model);
      const constant = (index: number, name: string) =>
        constantOf(name, spec, [others[index]?.settings ?? {}, recipe.settings], dialect);
      const needed = spec.statistics({ base, models, dialect, constant });
      if (needed !== undefined && recipe.slices !== undefined)
        throw invalidSetting(
          ['dialect'],
          dialect,
          'another dialect where layers are stacked: the threshold is that of whole models',
        );
      return needed;
    },
    compile: (recipe, context) => compileTensors(spec, recipe, context),
  };
};

/**
 * Returns a parameter that must be the same for all tensors, because a statistic of the whole model needs it.
 */
const constantOf = (
  name: string,
  { name: by, perModel = {} }: TensorMethodSpec,
  settings: readonly Settings[],
  dialect: string,
): Scalar => {
  const { expected, default: preset } = perModel[name] as ParameterSpec;
  const setting = settings.map((of) => of[name]).find((found) => found !== undefined);
  if (setting !== undefined && typeof setting.input !== 'object') return setting.input;
  if (setting !== undefined)
    throw invalidSetting(
      setting.path,
      setting.input,
      `one value for all tensors in the ${dialect} dialect, whose threshold is the whole model's`,
    );
  if (preset === undefined) throw invalidSetting([name], null, `${expected}, which ${by} needs`);
  return preset;
};

/** Lists each model once: the donor first; the base last, unless it is the donor. */
const distinctModels = (recipe: TensorRecipe): readonly ModelReference[] => {
  const references: ModelReference[] = [];
  const add = (role: string, model: ModelInput | undefined, path: RecipePath) => {
    if (model !== undefined && !references.some((other) => same(other.model, model)))
      references.push({ role, model, path });
  };
  const entries = recipe.slices?.flatMap(({ sources }) => sources) ?? recipe.models;
  const bases: { model: ModelInput | undefined; path: RecipePath }[] = [
    { model: recipe.base, path: ['base'] },
    ...(recipe.slices ?? []).map(({ base, path }) => ({ model: base, path: [...path, 'base'] })),
  ];
  const isBase = (model: ModelInput) => bases.some((base) => same(base.model, model));
  if (isBase(recipe.donor)) add('base', recipe.donor, ['base']);
  for (const { model, path } of entries) add(isBase(model) ? 'base' : 'model', model, path);
  for (const { model, path } of bases) add('base', model, path);
  return references;
};

const compileTensors = (spec: TensorMethodSpec, recipe: TensorRecipe, context: CompileContext): Compiled => {
  const references = distinctModels(recipe);
  const indexOf = (model: ModelInput | undefined) =>
    references.findIndex((reference) => same(reference.model, model));
  const slices = recipe.slices ?? [wholeModels(recipe, context.layers)];
  if (recipe.slices !== undefined) checkRanges(recipe.slices, (model) => context.models[indexOf(model)]);
  const layers = slices.flatMap((slice) => layersOf(slice));

  const inputOf = (place: Place, tensor: string): TensorInput => {
    const { slice, offset, t } = placeIn(slices, layers, place);
    const base = baseOf(spec, recipe, slice);
    const tensorOf = (model: ModelInput, range: readonly [number, number] | undefined): ModelTensor => {
      const index = indexOf(model);
      const name =
        recipe.slices === undefined || place.layer === undefined
          ? tensor
          : nameIn(context.models[index], (range?.[0] ?? 0) + offset, place.module, tensor);
      return name === tensor ? { model: index } : { model: index, tensor: name };
    };
    const others = slice.sources.filter(({ model }) => !same(model, base));
    const resolve = (
      specs: Readonly<Record<string, ParameterSpec>>,
      settings: readonly Settings[],
      name: string,
      path: RecipePath,
    ): Values =>
      Object.fromEntries(
        Object.entries(specs).map(([key, one]) => [
          key,
          resolveSetting(
            key,
            one,
            settings.map((of) => of[key]),
            { tensor: name, t },
            { by: spec.name, path },
          ),
        ]),
      );
    const baseSource = slice.sources.find(({ model }) => same(model, base));
    const models = others.map(({ model, layerRange }) => tensorOf(model, layerRange));
    return {
      tensor,
      base:
        base === undefined
          ? undefined
          : tensorOf(base, baseSource?.layerRange ?? slice.sources[0]?.layerRange),
      models,
      perModel: others.map(({ settings, path }, index) =>
        resolve(
          spec.perModel ?? {},
          [settings, slice.settings, recipe.settings],
          models[index]?.tensor ?? tensor,
          path,
        ),
      ),
      shared: resolve(spec.shared ?? {}, [slice.settings, recipe.settings], tensor, slice.path),
      thresholds: context.thresholds,
      majoritySign: context.majoritySign,
      path: recipe.slices === undefined ? ['models'] : slice.path,
    };
  };

  const settings = [recipe, ...recipe.models, ...slices, ...slices.flatMap(({ sources }) => sources)].flatMap(
    (of) => Object.values(of.settings),
  );
  return {
    resolved: describe(recipe, references, context),
    expressionOf: (place, tensor) => spec.expression(inputOf(place, tensor), recipe.dialect),
    parametersOf: (place, tensor) => {
      const { shared, perModel, models } = inputOf(place, tensor);
      return {
        ...shared,
        models: models.map(({ model, tensor: from = tensor }, index) => ({
          model: context.models[model]?.name ?? '',
          tensor: from,
          ...perModel[index],
        })),
      };
    },
    unused: () => unusedFilters(settings),
    ...(recipe.slices === undefined ? {} : stacked(layers, slices, context, indexOf)),
  };
};

const describe = (
  { models, slices, settings, dialect, base }: TensorRecipe,
  references: readonly ModelReference[],
  { models: views }: CompileContext,
): Record<string, unknown> => {
  const nameOf = (model: ModelInput) => {
    const view = views[references.findIndex((reference) => same(reference.model, model))];
    return view?.recipe ?? view?.name ?? '';
  };
  const spell = (of: Settings) =>
    Object.fromEntries(Object.entries(of).map(([name, { input }]) => [snakeCase(name), input]));
  const hasOwn = models.some((entry) => Object.keys(entry.settings).length > 0);
  return {
    ...(dialect === 'mergekit' ? {} : { dialect }),
    ...spell(settings),
    ...(base === undefined
      ? {}
      : { base: typeof base === 'string' ? nameOf(base) || undefined : nameOf(base) }),
    ...(slices === undefined
      ? hasOwn
        ? { models: models.map(({ model, settings: own }) => ({ model: nameOf(model), ...spell(own) })) }
        : {}
      : {
          slices: slices.map((slice) => ({
            ...spell(slice.settings),
            sources: slice.sources.map((source) => ({
              model: nameOf(source.model),
              layer_range: source.layerRange,
              ...spell(source.settings),
            })),
          })),
        }),
  };
};

export const snakeCase = (name: string): string =>
  name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
