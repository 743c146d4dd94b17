import type { Method } from '../method.js';
import type { ModelInput } from '../recipe-input.js';
import type { Scalar, SettingInput } from '../settings.js';
import type { TensorRecipe } from './tensor-recipe.js';
import type { BaseUse } from './tensor-spec.js';

/**
 * Parameters as recipes give them, from the values that they have for one tensor. Which have no default is
 * not in their types.
 */
export type Settings<Values> = { [Name in keyof Values]?: SettingInput<Values[Name] & Scalar> | undefined };

/** Parameters without their being optional, to compare them. */
type Given<Parameters> = { [Name in keyof Parameters]-?: Exclude<Parameters[Name], undefined> };

/**
 * A method that makes each tensor from the same tensor of several models. Its type has the recipe's
 * parameters: `Parameters` as documented, those named by `PerModel` also a model's own.
 */
export interface TensorMethod<
  Base extends BaseUse,
  Parameters,
  PerModel extends keyof Parameters = never,
  Dialect extends string = never,
> extends Method<TensorRecipe> {
  /**
   * Never set. A function of what it returns is of one type only: so a method whose spec has other parameters
   * than the interface that documents them does not compile.
   */
  readonly types?: (
    exactly: readonly [Base, Given<Parameters>, PerModel, Dialect],
  ) => readonly [Base, Given<Parameters>, PerModel, Dialect];
}

/** A model by itself, or with parameters of its own. */
export type ModelEntry<Own> =
  | ModelInput
  | ({
      model: ModelInput;
      /** The model's name in errors and provenance: short for `NAME=MODEL`. */
      name?: string | undefined;
    } & Partial<Own>);

/** Consecutive layers of the output: those of its sources, merged layer by layer. */
export type SliceEntry<Parameters, PerModel extends keyof Parameters> = {
  sources: readonly ({
    model: ModelInput;
    /** First layer, and the one after the last. All sources of a slice have as many. */
    layerRange: readonly [number, number];
  } & Partial<Pick<Parameters, PerModel>>)[];
  /** Default: the recipe's. */
  base?: ModelInput | undefined;
} & Partial<Parameters>;

interface WholeModels<Own> {
  /** The models to merge, the base aside. The first gives names, dtypes and side files. */
  models: readonly ModelEntry<Own>[];
  slices?: undefined;
}

interface StackedLayers<Parameters, PerModel extends keyof Parameters> {
  /** Layers of the output from the bottom up, from any layers of any models. */
  slices: readonly SliceEntry<Parameters, PerModel>[];
  models?: undefined;
}

interface OptionalBase {
  /** The model that the others were fine-tuned from. */
  base?: ModelInput | undefined;
}

interface RequiredBase {
  /**
   * The model that the others were fine-tuned from; for slerp, nearswap and Arcee Fusion the one that the
   * merge starts from.
   */
  base: ModelInput;
}

interface WeightsInShort {
  /** One weight a model, in their order: short for each model's `weight`. */
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

/** Parameters of a tensor method's recipes, models among them: for `CustomMethods` (docs/methods.md). */
export type MethodParameters<M> =
  M extends TensorMethod<infer Base, infer Parameters, infer PerModel, infer Dialect>
    ? TensorParameters<Base, Parameters, PerModel & keyof Parameters, Dialect>
    : never;
