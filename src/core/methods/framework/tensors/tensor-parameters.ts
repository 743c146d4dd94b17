import type { Method } from '../declaration/method.js';
import type { ModelInput } from '../declaration/recipe-input.js';
import type { Scalar, SettingInput } from '../declaration/settings.js';
import type { TensorRecipe } from './tensor-recipe.js';
import type { BaseUse } from './tensor-spec.js';

/** Parameters as recipes give them. Does not say which have a default. */
export type Settings<Values> = { [Name in keyof Values]?: SettingInput<Values[Name] & Scalar> | undefined };

/** Makes parameters required, to compare them. */
type Given<Parameters> = { [Name in keyof Parameters]-?: Exclude<Parameters[Name], undefined> };

/**
 * A method that makes each tensor from the same tensor of several models. `Parameters` is the type of the
 * recipe's parameters; each model may override those named in `PerModel`.
 */
export interface TensorMethod<
  Base extends BaseUse,
  Parameters,
  PerModel extends keyof Parameters = never,
  Dialect extends string = never,
> extends Method<TensorRecipe> {
  /**
   * Never set. Makes the types invariant: a method whose spec and documented interface differ does not
   * compile.
   */
  readonly types?: (
    exactly: readonly [Base, Given<Parameters>, PerModel, Dialect],
  ) => readonly [Base, Given<Parameters>, PerModel, Dialect];
}

/** A model, perhaps with its own parameters. */
export type ModelEntry<Own> =
  | ModelInput
  | ({
      model: ModelInput;
      /** Name in errors and provenance: short for `NAME=MODEL`. */
      name?: string | undefined;
    } & Partial<Own>);

/** Consecutive layers of the output, merged layer by layer. */
export type SliceEntry<Parameters, PerModel extends keyof Parameters> = {
  sources: readonly ({
    model: ModelInput;
    /** First layer, and the one after the last; equally many in all sources. */
    layerRange: readonly [number, number];
  } & Partial<Pick<Parameters, PerModel>>)[];
  /** Default: the recipe's. */
  base?: ModelInput | undefined;
} & Partial<Parameters>;

interface WholeModels<Own> {
  /** The models without the base. The first gives names, dtypes and side files. */
  models: readonly ModelEntry<Own>[];
  slices?: undefined;
}

interface StackedLayers<Parameters, PerModel extends keyof Parameters> {
  /** Layers from the bottom up, from any layers of any models. */
  slices: readonly SliceEntry<Parameters, PerModel>[];
  models?: undefined;
}

interface OptionalBase {
  /** The model that the others were fine-tuned from. */
  base?: ModelInput | undefined;
}

interface RequiredBase {
  /**
   * The model that the others were fine-tuned from; for slerp, nearswap and Arcee Fusion the starting point.
   */
  base: ModelInput;
}

interface WeightsInShort {
  /** Short for each model's `weight`, in order. */
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

/** Parameters of a tensor method's recipes, for `CustomMethods` (docs/methods.md). */
export type MethodParameters<M> =
  M extends TensorMethod<infer Base, infer Parameters, infer PerModel, infer Dialect>
    ? TensorParameters<Base, Parameters, PerModel & keyof Parameters, Dialect>
    : never;
