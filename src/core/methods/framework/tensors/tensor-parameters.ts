import type { Method } from '../declaration/method.js';
import type { ModelInput } from '../declaration/recipe-input.js';
import type { Scalar, SettingInput } from '../declaration/settings.js';
import type { TensorRecipe } from './tensor-recipe.js';
import type { BaseUse } from './tensor-spec.js';

/** Parameters in recipes, all optional: the types do not tell which have defaults. */
export type Settings<Values> = { [Name in keyof Values]?: SettingInput<Values[Name] & Scalar> | undefined };

/** All parameters as required, so that two types can be compared. */
type Given<Parameters> = { [Name in keyof Parameters]-?: Exclude<Parameters[Name], undefined> };

/**
 * A method that makes each tensor from the models' tensors of that name. A model's entry may override the
 * parameters in `PerModel`.
 */
export interface TensorMethod<
  Base extends BaseUse,
  Parameters,
  PerModel extends keyof Parameters = never,
  Dialect extends string = never,
> extends Method<TensorRecipe> {
  /**
   * Never set. Makes types invariant, so that a spec compiles only if it matches its documented interface.
   */
  readonly types?: (
    exactly: readonly [Base, Given<Parameters>, PerModel, Dialect],
  ) => readonly [Base, Given<Parameters>, PerModel, Dialect];
}

/** A model, optionally with its own parameters. */
export type ModelEntry<Own> =
  | ModelInput
  | ({
      model: ModelInput;
      /** Name in errors and provenance; short for `NAME=MODEL`. */
      name?: string | undefined;
    } & Partial<Own>);

/** Consecutive layers of the output and their sources. */
export type SliceEntry<Parameters, PerModel extends keyof Parameters> = {
  sources: readonly ({
    model: ModelInput;
    /** First layer, and last layer plus 1; each source gives the same number of layers. */
    layerRange: readonly [number, number];
  } & Partial<Pick<Parameters, PerModel>>)[];
  /** The slice's base; default: the recipe's. */
  base?: ModelInput | undefined;
} & Partial<Parameters>;

interface WholeModels<Own> {
  /** Models other than the base; the first gives names, dtypes and side files. */
  models: readonly ModelEntry<Own>[];
  slices?: undefined;
}

interface StackedLayers<Parameters, PerModel extends keyof Parameters> {
  /** The output's layers from the bottom, taken from any layers of any models. */
  slices: readonly SliceEntry<Parameters, PerModel>[];
  models?: undefined;
}

interface OptionalBase {
  /** The model that the others were fine-tuned from. */
  base?: ModelInput | undefined;
}

interface RequiredBase {
  /** The model that the others were fine-tuned from, or the starting point (slerp, nearswap, Arcee). */
  base: ModelInput;
}

interface WeightsInShort {
  /** Short for a `weight` in each model's entry, in order. */
  weights?: readonly number[] | undefined;
}

type TensorParameters<Base extends BaseUse, Parameters, PerModel extends keyof Parameters, Dialect> = (
  | (Parameters &
      WholeModels<Pick<Parameters, PerModel>> &
      (Base extends 'required' ? RequiredBase : OptionalBase))
  | (Partial<Parameters> & StackedLayers<Parameters, PerModel> & OptionalBase)
) &
  ('weight' extends PerModel ? WeightsInShort : unknown) & {
    /** Default `mergekit`. */
    dialect?: 'mergekit' | Dialect | undefined;
  };

/** The type of a method's parameters, for `CustomMethods` (docs/methods.md). */
export type MethodParameters<M> =
  M extends TensorMethod<infer Base, infer Parameters, infer PerModel, infer Dialect>
    ? TensorParameters<Base, Parameters, PerModel & keyof Parameters, Dialect>
    : never;
