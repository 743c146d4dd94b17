import type { Expression, ModelTensor } from '../../operations/expression.js';
import type { Citation, MajoritySign, NeededStatistics, RecipePath } from '../method.js';
import type { ModelInput } from '../recipe-input.js';
import type { ParameterSpecs, Scalar } from '../settings.js';

/** Values of parameters for one tensor, by name. */
export type Values = Readonly<Record<string, Scalar>>;

/**
 * The use of a base. `ignored`: where mergekit's recipes name one it is one of the models, else only checked
 * against them.
 */
export type BaseUse = 'required' | 'optional' | 'ignored';

/** The number of models that a method takes, the base aside; without `most` there is no limit. */
export interface ModelCount {
  readonly least: number;
  readonly most?: number;
}

/** The base's tensor: there, perhaps there, or never. */
type BaseTensor<Base extends BaseUse> = {
  required: ModelTensor;
  optional: ModelTensor | undefined;
  ignored: undefined;
}[Base];

/**
 * One item a model: a tuple of one or two where that is the number of models, else a list of at least as many
 * as there must be.
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

/**
 * One output tensor as a method sees it: the models' tensors that it is made of, and the parameters that hold
 * for it.
 */
export interface TensorInput<
  Base extends BaseUse = BaseUse,
  Count extends ModelCount = ModelCount,
  Shared = Values,
  PerModel = Values,
> {
  /** The output's name. */
  readonly tensor: string;
  /** The base's tensor, where the recipe has a base. */
  readonly base: BaseTensor<Base>;
  /** The other models' tensors, in the recipe's order. */
  readonly models: EachModel<Count, ModelTensor>;
  /** Each of these models' own parameters, in the same order. */
  readonly perModel: EachModel<Count, PerModel>;
  /** The parameters that all models share. */
  readonly shared: Shared;
  /**
   * Magnitudes that `statistics` asked for, one a model; and the sign that prevails among the sums of what
   * reaches them.
   */
  readonly thresholds: readonly number[];
  readonly majoritySign: MajoritySign;
  /** The path in the recipe where the models are listed, for errors. */
  readonly path: RecipePath;
}

/** A recipe as a statistic of whole models sees it. */
export interface WholeModels<PerModel = Values, Dialect extends string = string> {
  readonly base: ModelInput;
  readonly models: readonly ModelInput[];
  readonly dialect: Dialect;
  /**
   * A parameter of one of the models.
   *
   * @throws LayerloomError INVALID_PARAMETER where it varies over tensors, or is not given and has no default
   */
  constant<Name extends keyof PerModel & string>(model: number, parameter: Name): PerModel[Name];
}

/**
 * The definition of a method that makes each tensor from the same tensor of several models. The parameters'
 * values, the number of models and the use of a base are in its type, and so in `expression`'s.
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
  /**
   * True where the base is the model that the merge starts from (slerp at t = 0), and no ancestor of the
   * others.
   */
  readonly startsFromBase?: boolean;
  /** The number of models, the base aside; default one or more. */
  readonly models?: Count;
  /** Parameters that all models share. */
  readonly shared?: ParameterSpecs<Shared>;
  /** Parameters that each model has its own of. */
  readonly perModel?: ParameterSpecs<PerModel>;
  /** Others than mergekit's, which is the default. */
  readonly dialects?: readonly Dialect[];
  /**
   * Statistics of whole models that `expression` needs; asked for where the recipe is of one of `dialects`.
   */
  statistics?(recipe: WholeModels<PerModel, Dialect>): NeededStatistics | undefined;
  /** The tensor over the models' tensors. Pure: called for each output tensor, in any order. */
  expression(input: TensorInput<Base, Count, Shared, PerModel>, dialect: 'mergekit' | Dialect): Expression;
}
