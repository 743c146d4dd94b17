import type { Expression, ModelTensor } from '../../operations/expression.js';
import type { Citation, MajoritySign, NeededStatistics, RecipePath } from '../declaration/method.js';
import type { ModelInput } from '../declaration/recipe-input.js';
import type { ParameterSpecs, Scalar } from '../declaration/settings.js';

/** Parameter values for one tensor. */
export type Values = Readonly<Record<string, Scalar>>;

/** How a method uses the base. `ignored`: mergekit's dialect merges it as a model, ours only checks it. */
export type BaseUse = 'required' | 'optional' | 'ignored';

/** Limits on the number of models, without the base. Without `most`, there is no upper limit. */
export interface ModelCount {
  readonly least: number;
  readonly most?: number;
}

type BaseTensor<Base extends BaseUse> = {
  required: ModelTensor;
  optional: ModelTensor | undefined;
  ignored: undefined;
}[Base];

/** An item per model: a tuple for exactly one or two, otherwise a list of at least `least`. */
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
  readonly models: EachModel<Count, ModelTensor>;
  readonly perModel: EachModel<Count, PerModel>;
  readonly shared: Shared;
  /** Thresholds by model, from `statistics`, and the majority sign of the summed changes that reach them. */
  readonly thresholds: readonly number[];
  readonly majoritySign: MajoritySign;
  readonly path: RecipePath;
}

export interface WholeModels<PerModel = Values, Dialect extends string = string> {
  readonly base: ModelInput;
  readonly models: readonly ModelInput[];
  readonly dialect: Dialect;
  /** @throws INVALID_PARAMETER if the parameter varies over tensors, or has neither value nor default */
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
  readonly citations?: readonly Citation[];
  readonly base: Base;
  /** True if the merge starts from the base, so that the base is not a common ancestor. */
  readonly startsFromBase?: boolean;
  /** Limits on models, without the base; default: one or more. */
  readonly models?: Count;
  readonly shared?: ParameterSpecs<Shared>;
  readonly perModel?: ParameterSpecs<PerModel>;
  /** Dialects in addition to mergekit's, the default. */
  readonly dialects?: readonly Dialect[];
  /** Statistics for recipes in `dialects`; not called for others. */
  statistics?(recipe: WholeModels<PerModel, Dialect>): NeededStatistics | undefined;
  /** Returns the tensor's formula. Must be pure, because calls come in any order. */
  expression(input: TensorInput<Base, Count, Shared, PerModel>, dialect: 'mergekit' | Dialect): Expression;
}
