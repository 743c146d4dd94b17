import type { Expression, ModelTensor } from '../../operations/expression.js';
import type { MajoritySign, ModelInput, NeededStatistics, RecipePath } from './method.js';
import { invalid, type ParameterSpec, type Scalar, Setting, type SettingInput } from './settings.js';

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
  /** Magnitudes that `statistics` asked for, one a model; and the sign that prevails among the sums of what reaches them. */
  readonly thresholds: readonly number[];
  readonly majoritySign: MajoritySign;
  /** Where the recipe lists the models, for errors. */
  readonly path: RecipePath;
}

/** A recipe as a statistic of whole models sees it. */
export interface WholeModels {
  readonly base: ModelInput;
  readonly models: readonly ModelInput[];
  readonly dialect: string;
  /**
   * A parameter of one of the models.
   *
   * @throws LayerloomError INVALID_PARAMETER where it varies over tensors
   */
  constant(model: number, parameter: string): Scalar | undefined;
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

export type Settings = Readonly<Record<string, Setting>>;

export interface ModelSettings {
  readonly model: ModelInput;
  readonly settings: Settings;
  readonly path: RecipePath;
}

export interface LayerSource extends ModelSettings {
  readonly layerRange: readonly [number, number];
}

export interface LayerSlice {
  readonly sources: readonly LayerSource[];
  readonly base: ModelInput | undefined;
  readonly settings: Settings;
  readonly path: RecipePath;
}

/** A recipe of a tensor method, checked as far as it can be without its models. */
export interface TensorRecipe {
  readonly base: ModelInput | undefined;
  readonly models: readonly ModelSettings[];
  /** Undefined where whole models are merged. */
  readonly slices: readonly LayerSlice[] | undefined;
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

export const settingsOf = (
  specs: Readonly<Record<string, ParameterSpec>>,
  raw: Readonly<Record<string, unknown>>,
  path: RecipePath,
): Settings =>
  Object.fromEntries(
    Object.entries(specs)
      .filter(([name]) => raw[name] !== undefined && raw[name] !== null)
      .map(([name, spec]) => [name, new Setting(spec, raw[name], [...path, name])]),
  );

export const same = (a: ModelInput | undefined, b: ModelInput | undefined): boolean =>
  a !== undefined && a === b;

export const toRecipe = (spec: TensorMethodSpec, raw: TensorMethodParameters): TensorRecipe => {
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

  const given = (raw.models ?? []).map((value, index): ModelSettings => {
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

  const slices = raw.slices?.map((value, index): LayerSlice => {
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

export const baseOf = (
  spec: TensorMethodSpec,
  recipe: TensorRecipe,
  slice?: LayerSlice,
): ModelInput | undefined => (spec.base === 'ignored' ? undefined : (slice?.base ?? recipe.base));

const checkCounts = (spec: TensorMethodSpec, recipe: TensorRecipe): void => {
  const { least = 1, most = Number.POSITIVE_INFINITY } = spec.models ?? {};
  const groups: { entries: readonly ModelSettings[]; slice: LayerSlice | undefined; path: RecipePath }[] =
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
    const lengths = (entries as readonly LayerSource[])
      .map(({ layerRange }) => layerRange)
      .filter(Boolean)
      .map(([a, b]) => b - a);
    if (new Set(lengths).size > 1) throw invalid(path, lengths, 'as many layers from each source of a slice');
  }
};
