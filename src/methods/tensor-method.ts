import { z } from 'zod';
import type { Place } from '../architecture/architecture.js';
import { LayerloomError } from '../errors.js';
import type { Expression, ModelTensor } from './expression.js';
import type {
  CompileContext,
  Compiled,
  Method,
  ModelInput,
  ModelReference,
  NeededStatistics,
  OutputTensor,
  RecipePath,
} from './method.js';
import { modelSchema } from './parameters.js';
import {
  invalid,
  type ParameterSpec,
  resolveSetting,
  type Scalar,
  Setting,
  type SettingInput,
} from './settings.js';

/** Values of a method's parameters for one tensor. */
export type Values = Readonly<Record<string, Scalar>>;

/** One output tensor as a method sees it: the models' tensors that it is made of, and the parameters that hold for it. */
export interface TensorInput {
  /** The output's name. */
  readonly tensor: string;
  /** Of the base, where the recipe has one. */
  readonly base: ModelTensor | undefined;
  /** Of the other models, in the recipe's order; and each one's own parameters. */
  readonly models: readonly ModelTensor[];
  readonly perModel: readonly Values[];
  /** The parameters that all models share. */
  readonly shared: Values;
  /** Magnitudes that `statistics` asked for, one a model. */
  readonly thresholds: readonly number[];
}

/** A recipe whose parameters do not vary over tensors. */
export interface WholeModels {
  readonly base: ModelInput;
  readonly models: readonly ModelInput[];
  readonly dialect: string;
  /** Each model's own parameters. */
  readonly constants: readonly Values[];
}

/** What defines a method that makes each tensor from the same tensor of several models. */
export interface TensorMethodSpec {
  readonly name: string;
  readonly title: string;
  readonly tags?: readonly string[];
  /** `ignored`: a base is one of the models where mergekit's recipes name one, and else only checked against them. */
  readonly base: 'required' | 'optional' | 'ignored';
  /** How many models, the base aside. */
  readonly models?: { readonly least: number; readonly most?: number };
  readonly shared?: Readonly<Record<string, ParameterSpec>>;
  readonly perModel?: Readonly<Record<string, ParameterSpec>>;
  /** Others than mergekit's, which is the default. */
  readonly dialects?: readonly string[];
  /** What must be known of whole models. */
  statistics?(recipe: WholeModels): NeededStatistics | undefined;
  expression(input: TensorInput, dialect: string): Expression;
}

type Settings = Readonly<Record<string, Setting>>;

export interface Entry {
  readonly model: ModelInput;
  readonly settings: Settings;
  readonly path: RecipePath;
}

export interface Source extends Entry {
  readonly layerRange: readonly [number, number];
}

export interface Slice {
  readonly sources: readonly Source[];
  readonly base: ModelInput | undefined;
  readonly settings: Settings;
  readonly path: RecipePath;
}

/** A recipe of a tensor method, checked as far as it can be without its models. */
export interface TensorRecipe {
  readonly base: ModelInput | undefined;
  readonly models: readonly Entry[];
  /** Undefined where whole models are merged. */
  readonly slices: readonly Slice[] | undefined;
  readonly settings: Settings;
  readonly dialect: string;
  /** Which stands first among the models, and so gives names, dtypes and side files. */
  readonly donor: ModelInput;
}

/** A model in a tensor method's recipe. */
export type ModelEntry =
  | ModelInput
  | { readonly model: ModelInput; readonly [parameter: string]: SettingInput | ModelInput };

/** What a caller gives a tensor method. */
export interface TensorMethodParameters {
  base?: ModelInput | undefined;
  models?: readonly ModelEntry[] | undefined;
  /** Layers of the output from the bottom up: each slice's sources are merged layer by layer. */
  slices?: readonly SliceEntry[] | undefined;
  /** One weight a model, in their order: short for each model's `weight`. */
  weights?: readonly number[] | undefined;
  [parameter: string]: unknown;
}

export interface SliceEntry {
  readonly sources: readonly ({
    readonly model: ModelInput;
    /** First layer, and the one after the last. */
    readonly layerRange: readonly [number, number];
  } & Readonly<Record<string, unknown>>)[];
  readonly base?: ModelInput | undefined;
  readonly [parameter: string]: unknown;
}

/** A model by itself is an entry without parameters; `name` is the model's. */
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

const unknowns = (names: Iterable<string>): Record<string, z.ZodType> =>
  Object.fromEntries([...names].map((name) => [name, z.unknown().optional()]));

/** Makes a method of what a tensor method is defined by: gradients, filters, slices and precedence are the same for all. */
export const tensorMethod = (spec: TensorMethodSpec): Method<TensorRecipe> => {
  const [shared, perModel] = [spec.shared ?? {}, spec.perModel ?? {}];
  const all = { ...shared, ...perModel };
  const entry = z.strictObject({ model: modelSchema, ...unknowns(Object.keys(perModel)) });
  const source = z.strictObject({
    model: modelSchema,
    layerRange: rangeSchema,
    ...unknowns(Object.keys(perModel)),
  });
  const slice = z.strictObject({
    sources: z.array(source, { error: 'a list of sources' }).min(1, { error: 'at least one source' }),
    base: modelSchema.optional(),
    ...unknowns(Object.keys(all)),
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
    dialect: z
      .enum(['mergekit', ...(spec.dialects ?? [])], {
        error: ['mergekit', ...(spec.dialects ?? [])].join(', '),
      })
      .optional(),
    ...unknowns(Object.keys(all)),
  };
  const schema = z.strictObject(shape).transform((raw, context) =>
    // What is misspelt is said before what is missing for it.
    context.issues.length > 0 ? z.NEVER : toRecipe(spec, raw as unknown as TensorMethodParameters),
  );

  return {
    name: spec.name,
    title: spec.title,
    tags: spec.tags ?? [spec.name.replaceAll('_', '-')],
    keepsCard: false,
    schema: Object.assign(schema, { shape }) as unknown as Method<TensorRecipe>['schema'],
    needsLayers: ({ slices }) => slices !== undefined,
    stacksLayers: ({ slices }) => slices !== undefined,
    models: (recipe) => distinctModels(recipe),
    companions: ({ base }) =>
      spec.base === 'ignored' && base !== undefined ? [{ role: 'base', model: base, path: ['base'] }] : [],
    statistics: (recipe) => {
      if (spec.statistics === undefined || recipe.base === undefined) return undefined;
      const { base, dialect } = recipe;
      const models = recipe.models.map(({ model }) => model);
      if (dialect === 'mergekit') return undefined;
      const constants = recipe.models.map(({ settings }) =>
        constantsOf(perModel, [settings, recipe.settings], dialect),
      );
      return spec.statistics({ base, models, dialect, constants });
    },
    compile: (recipe, context) => compileTensors(spec, recipe, context),
  };
};

/** Parameters that must not vary, since a whole model's statistic depends on them. */
const constantsOf = (
  specs: Readonly<Record<string, ParameterSpec>>,
  settings: readonly Settings[],
  dialect: string,
): Values => {
  const values: Record<string, Scalar> = {};
  for (const [name, spec] of Object.entries(specs)) {
    const setting = settings.map((of) => of[name]).find((found) => found !== undefined);
    const input = setting?.input ?? spec.default;
    if (input === undefined) continue;
    if (typeof input === 'object') {
      if (setting === undefined) continue;
      throw invalid(
        setting.path,
        input,
        `one value for all tensors in the ${dialect} dialect, whose threshold is the whole model's`,
      );
    }
    values[name] = input;
  }
  return values;
};

const settingsOf = (
  specs: Readonly<Record<string, ParameterSpec>>,
  raw: Readonly<Record<string, unknown>>,
  path: RecipePath,
): Settings =>
  Object.fromEntries(
    Object.entries(specs)
      .filter(([name]) => raw[name] !== undefined && raw[name] !== null)
      .map(([name, spec]) => [name, new Setting(spec, raw[name], [...path, name])]),
  );

const same = (a: ModelInput | undefined, b: ModelInput | undefined): boolean => a !== undefined && a === b;

const toRecipe = (spec: TensorMethodSpec, raw: TensorMethodParameters): TensorRecipe => {
  const [shared, perModel] = [spec.shared ?? {}, spec.perModel ?? {}];
  const fromMergekit = raw['dialect'] === 'mergekit';
  const dialect = typeof raw['dialect'] === 'string' ? raw['dialect'] : 'mergekit';
  const base = raw.base;
  if ((raw.models === undefined) === (raw.slices === undefined))
    throw invalid(
      [raw.models === undefined ? 'models' : 'slices'],
      null,
      'either models or slices, one of the two',
    );

  const given = (raw.models ?? []).map((value, index): Entry => {
    const { model, ...rest } = value as { model: ModelInput };
    const path = ['models', index];
    const weight = raw.weights?.[index];
    const own = weight === undefined ? rest : { weight, ...rest };
    return { model, settings: settingsOf(perModel, own, path), path };
  });
  if (raw.weights !== undefined && raw.weights.length !== given.length)
    throw invalid(['weights'], raw.weights, 'one weight for each model, in their order');
  const settings = settingsOf({ ...shared, ...perModel }, raw, []);
  // mergekit adds a base that is not listed to the models, also where the method knows no base.
  const joins =
    spec.base === 'ignored' &&
    fromMergekit &&
    base !== undefined &&
    !given.some(({ model }) => same(model, base));
  const models =
    joins && raw.slices === undefined ? [...given, { model: base, settings: {}, path: ['base'] }] : given;

  const slices = raw.slices?.map((value, index): Slice => {
    const { sources, base: own, ...rest } = value;
    const path = ['slices', index];
    return {
      base: own,
      settings: settingsOf({ ...shared, ...perModel }, rest, path),
      path,
      sources: sources.map(({ model, layerRange, ...parameters }, position) => {
        const at = [...path, 'sources', position];
        if (layerRange[1] <= layerRange[0])
          throw invalid(
            [...at, 'layerRange'],
            layerRange,
            '[first layer, the one after the last], at least one layer',
          );
        return { model, layerRange, settings: settingsOf(perModel, parameters, at), path: at };
      }),
    };
  });
  const first = slices?.[0]?.sources[0]?.model ?? models[0]?.model;
  const donor = fromMergekit && base !== undefined ? base : first;
  if (donor === undefined) throw invalid(['models'], null, 'at least one model');
  const recipe: TensorRecipe = { base, models, slices, settings, dialect, donor };
  checkCounts(spec, recipe);
  return recipe;
};

const baseOf = (spec: TensorMethodSpec, recipe: TensorRecipe, slice?: Slice): ModelInput | undefined =>
  spec.base === 'ignored' ? undefined : (slice?.base ?? recipe.base);

const checkCounts = (spec: TensorMethodSpec, recipe: TensorRecipe): void => {
  const { least = 1, most = Number.POSITIVE_INFINITY } = spec.models ?? {};
  const groups: { entries: readonly Entry[]; slice: Slice | undefined; path: RecipePath }[] =
    recipe.slices?.map((slice) => ({ entries: slice.sources, slice, path: [...slice.path, 'sources'] })) ?? [
      { entries: recipe.models, slice: undefined, path: ['models'] },
    ];
  for (const { entries, slice, path } of groups) {
    const base = baseOf(spec, recipe, slice);
    if (spec.base === 'required' && base === undefined)
      throw invalid(
        ['base'],
        null,
        `the model that the others were fine-tuned from, which ${spec.name} needs`,
      );
    for (const [index, { model, path: at }] of entries.entries())
      if (entries.slice(0, index).some((other) => same(other.model, model)))
        throw invalid(at, typeof model === 'string' ? model : model.method, 'every model once');
    const count = entries.filter(({ model }) => !same(model, base)).length;
    const range =
      least === most
        ? `${least}`
        : most === Number.POSITIVE_INFINITY
          ? `${least} or more`
          : `${least} to ${most}`;
    if (count < least || count > most)
      throw invalid(
        path,
        count,
        `${range} model${range === '1' ? '' : 's'}${base === undefined ? '' : ' besides the base'}, which ${spec.name} takes`,
      );
    const lengths = (entries as readonly Source[])
      .map(({ layerRange }) => layerRange)
      .filter(Boolean)
      .map(([a, b]) => b - a);
    if (new Set(lengths).size > 1) throw invalid(path, lengths, 'as many layers from each source of a slice');
  }
};

/** Every model once: the donor first, the base last where it is not the donor. */
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

/** Layers of the output, bottom first: which slice they are of, and where in it. */
interface Layer {
  readonly slice: Slice;
  readonly offset: number;
  readonly t: number;
}

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
    unused: () => [...new Set(settings)].flatMap((setting) => setting.unused()),
    ...(recipe.slices === undefined ? {} : stacked(layers, slices, context, indexOf)),
  };
};

const wholeModels = (recipe: TensorRecipe, layers: number): Slice => ({
  sources: recipe.models.map((entry) => ({ ...entry, layerRange: [0, layers] as const })),
  base: undefined,
  settings: {},
  path: [],
});

const layersOf = (slice: Slice): Layer[] => {
  const [first = 0, end = 0] = slice.sources[0]?.layerRange ?? [];
  const count = end - first;
  // A slice of one layer stands at the end of its gradients, as in mergekit.
  return Array.from({ length: count }, (_, offset) => ({
    slice,
    offset,
    t: count > 1 ? offset / (count - 1) : 1,
  }));
};

/** What is outside the layers goes with the first slice before them, with the last behind, and stands at the gradients' beginning. */
const placeIn = (slices: readonly Slice[], layers: readonly Layer[], { layer, role }: Place): Layer => {
  const found = layer === undefined ? undefined : layers[layer];
  if (found !== undefined) return found;
  const slice = (role === 'embedding' ? slices[0] : slices.at(-1)) as Slice;
  return { slice, offset: 0, t: 0 };
};

const checkRanges = (
  slices: readonly Slice[],
  viewOf: (model: ModelInput) => CompileContext['models'][number] | undefined,
): void => {
  for (const { sources } of slices)
    for (const { model, layerRange, path } of sources) {
      const view = viewOf(model);
      if (view !== undefined && layerRange[1] > view.layers)
        throw invalid(
          [...path, 'layerRange'],
          layerRange,
          `layers of ${view.name}, which has ${view.layers} (0 to ${view.layers - 1}; the range's end is not in it)`,
        );
    }
};

const indexed = new WeakMap<object, ReadonlyMap<string, string>>();

/** A model's names by layer and module. */
const namesOf = (view: CompileContext['models'][number]): ReadonlyMap<string, string> => {
  const names =
    indexed.get(view) ??
    new Map([...view.places].map(([name, { layer, module }]) => [`${layer} ${module}`, name]));
  indexed.set(view, names);
  return names;
};

/** The name of a module in another layer. */
const nameIn = (
  view: CompileContext['models'][number] | undefined,
  layer: number,
  module: string,
  tensor: string,
): string => {
  const name = view === undefined ? undefined : namesOf(view).get(`${layer} ${module}`);
  if (name !== undefined) return name;
  throw new LayerloomError('TENSOR_NAMES_DIFFER', {
    first: tensor,
    other: view?.name ?? '',
    missing: [`layer ${layer} ${module}`],
    unexpected: [],
  });
};

const stacked = (
  layers: readonly Layer[],
  slices: readonly Slice[],
  { models }: CompileContext,
  indexOf: (model: ModelInput | undefined) => number,
): Pick<Compiled, 'outputs' | 'layersLike'> => {
  const outputs: OutputTensor[] = [];
  const sourceOf = (slice: Slice) => {
    const source = slice.sources[0];
    return { model: indexOf(source?.model), first: source?.layerRange[0] ?? 0 };
  };
  const outside = (slice: Slice | undefined, wanted: (role: Place['role']) => boolean) => {
    if (slice === undefined) return;
    const { model } = sourceOf(slice);
    for (const [name, place] of models[model]?.places ?? [])
      if (place.layer === undefined && wanted(place.role))
        outputs.push({ name, like: { model, tensor: name }, place });
  };
  outside(slices[0], (role) => role === 'embedding');
  const layersLike = layers.map(({ slice, offset }, layer) => {
    const { model, first } = sourceOf(slice);
    for (const [name, place] of models[model]?.places ?? [])
      if (place.layer === first + offset) {
        const renumbered = name
          .slice(0, name.length - place.module.length - 1)
          .replace(/\d+$/, String(layer));
        outputs.push({
          name: `${renumbered}.${place.module}`,
          like: { model, tensor: name },
          place: { ...place, layer },
        });
      }
    return { model, layer: first + offset };
  });
  outside(slices.at(-1), (role) => role !== 'embedding');
  return { outputs, layersLike };
};

/** The recipe as it is recorded: in YAML's spelling, with the models' names. */
const describe = (
  { models, slices, settings, dialect, base }: TensorRecipe,
  references: readonly ModelReference[],
  { models: views }: CompileContext,
): Record<string, unknown> => {
  const nameOf = (model: ModelInput) =>
    views[references.findIndex((reference) => same(reference.model, model))]?.name ?? '';
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
