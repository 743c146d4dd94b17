import type { Expression, ModelTensor } from '../../operations/expression.js';
import type { Citation, MajoritySign, NeededStatistics, RecipePath } from '../declaration/method.js';
import type { ModelInput } from '../declaration/recipe-input.js';
import type { ParameterSpecs, Scalar } from '../declaration/settings.js';

/** Parameter values for one tensor, by name. */
export type Values = Readonly<Record<string, Scalar>>;

/** `ignored`: mergekit's dialect merges the base as a model, ours only checks it. */
export type BaseUse = 'required' | 'optional' | 'ignored';

/** Without the base. Unlimited if `most` is absent. */
export interface ModelCount {
  readonly least: number;
  readonly most?: number;
}

type BaseTensor<Base extends BaseUse> = {
  required: ModelTensor;
  optional: ModelTensor | undefined;
  ignored: undefined;
}[Base];

/** An item for each model: a tuple for exactly one or two, otherwise of the least length. */
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

/** The models' tensors, and the parameters for this tensor. */
export interface TensorInput<
  Base extends BaseUse = BaseUse,
  Count extends ModelCount = ModelCount,
  Shared = Values,
  PerModel = Values,
> {
  readonly tensor: string;
  readonly base: BaseTensor<Base>;
  /** In the recipe's order. */
  readonly models: EachModel<Count, ModelTensor>;
  readonly perModel: EachModel<Count, PerModel>;
  readonly shared: Shared;
  /** By model, from `statistics`; and the prevailing sign of the summed changes that reach it. */
  readonly thresholds: readonly number[];
  readonly majoritySign: MajoritySign;
  /** In the recipe, for errors. */
  readonly path: RecipePath;
}

/** As passed to `statistics`. */
export interface WholeModels<PerModel = Values, Dialect extends string = string> {
  readonly base: ModelInput;
  readonly models: readonly ModelInput[];
  readonly dialect: Dialect;
  /**
   * @throws INVALID_PARAMETER if the parameter varies over tensors, or has neither value nor
   * default
   */
  constant<Name extends keyof PerModel & string>(model: number, parameter: Name): PerModel[Name];
}

/** Defines a method that makes each tensor from the models' tensors of that name. */
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
  /** For the model card. */
  readonly citations?: readonly Citation[];
  readonly base: Base;
  /** True if no common ancestor is the start, but the base. */
  readonly startsFromBase?: boolean;
  /** Limits without the base. Default: one model or more. */
  readonly models?: Count;
  readonly shared?: ParameterSpecs<Shared>;
  /** Each model's entry may override these. */
  readonly perModel?: ParameterSpecs<PerModel>;
  /** Dialects besides mergekit's, which is the default. */
  readonly dialects?: readonly Dialect[];
  /** Called only for recipes in `dialects`. */
  statistics?(recipe: WholeModels<PerModel, Dialect>): NeededStatistics | undefined;
  /** Must be pure: calls come in any order. */
  expression(input: TensorInput<Base, Count, Shared, PerModel>, dialect: 'mergekit' | Dialect): Expression;
}
