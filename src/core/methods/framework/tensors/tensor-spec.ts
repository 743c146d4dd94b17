import type { Expression, ModelTensor } from '../../operations/expression.js';
import type { Citation, MajoritySign, NeededStatistics, RecipePath } from '../declaration/method.js';
import type { ModelInput } from '../declaration/recipe-input.js';
import type { ParameterSpecs, Scalar } from '../declaration/settings.js';

/** Values of parameters for one tensor, by name. */
export type Values = Readonly<Record<string, Scalar>>;

/**
 * How a method uses the base. `ignored`: in mergekit's dialect the base is one of the models; otherwise it is
 * only checked against them.
 */
export type BaseUse = 'required' | 'optional' | 'ignored';

/** The number of models without the base; no limit without `most`. */
export interface ModelCount {
  readonly least: number;
  readonly most?: number;
}

type BaseTensor<Base extends BaseUse> = {
  required: ModelTensor;
  optional: ModelTensor | undefined;
  ignored: undefined;
}[Base];

/**
 * The type of a list with one item for each model: a tuple if there are exactly one or two, else a list of at
 * least the required length.
 */
export type EachModel<Count extends ModelCount, Item> = number extends Count['least']
  ? readonly Item[]
  : Count extends { readonly least: 1; readonly most: 1 }
    ? readonly [Item]
    : Count extends { readonly least: 2; readonly most: 2 }
      ? readonly [Item, Item]
      : Count extends { readonly least: 0 }
        ? readonly Item[]
        : Count extends { readonly least: 1 }
          ? readonly [Item, ...Item[]]
          : readonly [Item, Item, ...Item[]];

/** The input of a method for an output tensor: the models' tensors, and the parameters that hold for it. */
export interface TensorInput<
  Base extends BaseUse = BaseUse,
  Count extends ModelCount = ModelCount,
  Shared = Values,
  PerModel = Values,
> {
  readonly tensor: string;
  /** The base's tensor, if the recipe has a base. */
  readonly base: BaseTensor<Base>;
  /** The other models' tensors, in the recipe's order. */
  readonly models: EachModel<Count, ModelTensor>;
  /** Parameters of each model. */
  readonly perModel: EachModel<Count, PerModel>;
  /** The parameters that all models share. */
  readonly shared: Shared;
  /**
   * Magnitudes from `statistics` for each model; and the prevailing sign of the summed changes that reach
   * them.
   */
  readonly thresholds: readonly number[];
  readonly majoritySign: MajoritySign;
  /** Path of the models in the recipe, for errors. */
  readonly path: RecipePath;
}

/** A recipe, for statistics. */
export interface WholeModels<PerModel = Values, Dialect extends string = string> {
  readonly base: ModelInput;
  readonly models: readonly ModelInput[];
  readonly dialect: Dialect;
  /**
   * Returns a parameter of a model.
   *
   * @throws LayerloomError INVALID_PARAMETER if it varies over tensors, or is absent without a default
   */
  constant<Name extends keyof PerModel & string>(model: number, parameter: Name): PerModel[Name];
}

/**
 * Defines a method that makes each tensor from the same tensor of several models. The type arguments
 * determine the type of `expression`.
 */
export interface TensorMethodSpec<
  Base extends BaseUse = BaseUse,
  Count extends ModelCount = ModelCount,
  Shared = Values,
  PerModel = Values,
  Dialect extends string = string,
> {
  readonly name: string;
  readonly title: string;
  readonly tags?: readonly string[];
  /** The sources of the method, for the model card. */
  readonly citations?: readonly Citation[];
  readonly base: Base;
  /** True if the merge starts from the base, which is then no ancestor of the models. */
  readonly startsFromBase?: boolean;
  /** Without the base; default one or more. */
  readonly models?: Count;
  /** Parameters that all models share. */
  readonly shared?: ParameterSpecs<Shared>;
  /** Parameters that each model may set. */
  readonly perModel?: ParameterSpecs<PerModel>;
  /** Dialects besides mergekit's, the default. */
  readonly dialects?: readonly Dialect[];
  /** Statistics for `expression`; called only for recipes in one of `dialects`. */
  statistics?(recipe: WholeModels<PerModel, Dialect>): NeededStatistics | undefined;
  /** Returns the output tensor's expression. Pure: called in any order. */
  expression(input: TensorInput<Base, Count, Shared, PerModel>, dialect: 'mergekit' | Dialect): Expression;
}
