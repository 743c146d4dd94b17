import { isDeepStrictEqual } from 'node:util';
import type { RecipePath } from '../declaration/method.js';
import type { ModelInput } from '../declaration/recipe-input.js';
import { invalidSetting, type ParameterSpec, Setting } from '../declaration/settings.js';
import type { TensorMethodSpec } from './tensor-spec.js';

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

/** A recipe checked as far as possible without opening models. */
export interface TensorRecipe {
  readonly base: ModelInput | undefined;
  readonly models: readonly ModelSettings[];
  /** Slices of layers; undefined if whole models are merged. */
  readonly slices: readonly LayerSlice[] | undefined;
  readonly settings: Settings;
  readonly dialect: string;
  /** The first model, which gives names, dtypes and side files. */
  readonly donor: ModelInput;
}

/** A recipe with checked models and unchecked settings. */
export interface RawTensorRecipe {
  readonly base?: ModelInput;
  readonly models?: readonly RawModel[];
  readonly slices?: readonly {
    readonly sources: readonly (RawModel & { readonly layerRange: readonly [number, number] })[];
    readonly base?: ModelInput;
    readonly [parameter: string]: unknown;
  }[];
  readonly weights?: readonly number[];
  readonly dialect?: string;
  readonly [parameter: string]: unknown;
}

type RawModel = { readonly model: ModelInput; readonly [parameter: string]: unknown };

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

/** True for the same model; nested recipes are compared by content. */
export const same = (a: unknown, b: unknown): boolean =>
  a !== undefined && (a === b || (typeof a === 'object' && typeof b === 'object' && isDeepStrictEqual(a, b)));

export const toRecipe = (spec: TensorMethodSpec, raw: RawTensorRecipe): TensorRecipe => {
  const [shared, perModel] = [spec.shared ?? {}, spec.perModel ?? {}];
  const { base, dialect = 'mergekit' } = raw;
  const fromMergekit = raw.dialect === 'mergekit';
  if ((raw.models === undefined) === (raw.slices === undefined))
    throw invalidSetting(
      [raw.models === undefined ? 'models' : 'slices'],
      null,
      'either models or slices, one of the two',
    );

  const given = (raw.models ?? []).map((value, index): ModelSettings => {
    const { model, ...rest } = value;
    const path = ['models', index];
    const weight = raw.weights?.[index];
    const own = weight === undefined ? rest : { weight, ...rest };
    return { model, settings: settingsOf(perModel, own, path), path };
  });
  if (raw.weights !== undefined && raw.weights.length !== given.length)
    throw invalidSetting(['weights'], raw.weights, 'one weight for each model, in their order');
  const settings = settingsOf({ ...shared, ...perModel }, raw, []);
  // mergekit merges an unlisted base as a model, even in methods that ignore the base.
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
          throw invalidSetting(
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
  if (donor === undefined) throw invalidSetting(['models'], null, 'at least one model');
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
      throw invalidSetting(
        ['base'],
        null,
        spec.startsFromBase === true
          ? `one of the two models, the one that ${spec.name} starts from`
          : `the model that the others were fine-tuned from, which ${spec.name} needs`,
      );
    for (const [index, { model, path: at }] of entries.entries())
      if (entries.slice(0, index).some((other) => same(other.model, model)))
        throw invalidSetting(at, typeof model === 'string' ? model : model.method, 'every model once');
    const count = entries.filter(({ model }) => !same(model, base)).length;
    const range =
      least === most
        ? `${least}`
        : most === Number.POSITIVE_INFINITY
          ? `${least} or more`
          : `${least} to ${most}`;
    if (count < least || count > most)
      throw invalidSetting(
        path,
        count,
        `${range} model${range === '1' ? '' : 's'}${base === undefined ? '' : ' besides the base'}, which ${spec.name} takes`,
      );
    const lengths = (entries as readonly LayerSource[])
      .map(({ layerRange }) => layerRange)
      .filter(Boolean)
      .map(([a, b]) => b - a);
    if (new Set(lengths).size > 1)
      throw invalidSetting(path, lengths, 'as many layers from each source of a slice');
  }
};
