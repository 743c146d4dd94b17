import { LayerloomError } from '../../../base/errors/errors.js';
import { itemAt, valueAt } from '../../../base/errors/lookup.js';
import type { Compiled } from '../../../methods/framework/declaration/method.js';
import type { Expression, ModelTensor } from '../../../methods/operations/expression.js';
import { mapOperands, operandsOf } from '../../../methods/operations/index.js';
import type { Consensus } from '../../../methods/operations/votes/consensus.js';
import type { Sce } from '../../../methods/operations/votes/sce.js';
import type { Place } from '../../../models/architecture/architecture.js';
import type { ArithmeticDtype } from '../../../tensor/dtype.js';
import type { TensorReference } from '../../../tensor/reference.js';
import { computedTensor } from '../../operands/computed.js';
import type { Operand, PlannedExpression } from '../../plan.js';
import { binder } from '../bind.js';
import type { OpenedModel } from '../inputs/models.js';
import type { AdapterModel, AddedBias, WholeTensor } from './adapter-model.js';
import { type Change, noChange, operandOfChange, sumOfChanges } from './change.js';

/** A model to merge; only the base lacks `adapter`. */
export interface MergedModel extends OpenedModel {
  readonly adapter?: AdapterModel;
}

interface Share {
  readonly model: number;
  readonly weight: number;
}

/** Tolerance for weights that should add up to 1. */
const mostMissing = 1e-6;

export interface CombineOptions {
  readonly method: string;
  readonly dtype: ArithmeticDtype | undefined;
  readonly places: ReadonlyMap<string, Place>;
  /** Supplies tensors that an adapter does not store. */
  readonly base: OpenedModel | undefined;
}

/**
 * Applies a method's expressions to products B·A, and to tensors that replace the base's. An adapter
 * without a change counts as the base.
 *
 * @throws NO_ADAPTER_FORM, BASE_NEEDED, ADAPTERS_DIFFER, SHAPE_MISMATCH
 */
export const combine = (
  compiled: Compiled,
  models: readonly MergedModel[],
  options: CombineOptions,
): Omit<AdapterModel, 'adapters'> => {
  const { method, places } = options;
  const changes = new Map<string, Change>();
  const whole = new Map<string, WholeTensor>();
  const added = new Map<string, AddedBias>();
  const wholeOf = wholeCombiner(models, options);
  for (const [parameter, place] of places) {
    const expression = compiled.expressionOf(place, parameter);
    const formula = isOfDifferences(expression) ? expression : undefined;
    const shares =
      formula === undefined ? sharesOf(expression, parameter, method) : modelsIn(formula, parameter, method);
    const of = <T>(mapOf: (model: AdapterModel) => ReadonlyMap<string, T>) =>
      shares.flatMap(({ model, weight }) => {
        const { adapter } = itemAt(models, model);
        const found = adapter && mapOf(adapter).get(parameter);
        return found === undefined ? [] : [{ weight, found }];
      });
    const change = sumOfChanges(
      of((model) => model.changes).map(({ weight, found }) => ({ weight, change: found })),
      parameter,
    );
    const own = (model: number) => itemAt(models, model).adapter?.changes.get(parameter);
    if (change !== undefined)
      changes.set(
        parameter,
        formula === undefined ? change : { ...change, formula: overChanges(formula, change, own) },
      );
    const biases = of((model) => model.added);
    const [bias] = biases;
    if (bias !== undefined && formula !== undefined)
      throw notInForm(method, `${parameter} is a bias of B, which stands for no weights`);
    if (bias !== undefined) added.set(parameter, { ...bias.found, terms: sumOfBiases(biases) });
    if (of((model) => model.whole).length > 0) whole.set(parameter, wholeOf(parameter, expression, shares));
  }
  return { changes, whole, added };
};

const sumOfBiases = (
  biases: readonly { readonly weight: number; readonly found: AddedBias }[],
): AddedBias['terms'] =>
  biases
    .flatMap(({ weight, found }) =>
      found.terms.map(({ coefficient, operand }) => ({ coefficient: weight * coefficient, operand })),
    )
    .filter(({ coefficient }) => coefficient !== 0);

type OfDifferences = Consensus<ModelTensor> | Sce<ModelTensor>;

/** True for formulas that turn changes into the merged change if their base is 0. */
const isOfDifferences = (expression: Expression): expression is OfDifferences =>
  expression.kind === 'consensus' || expression.kind === 'sce';

/** Applies a formula to changes; models without a change become zeros. */
const overChanges = (
  formula: OfDifferences,
  like: Change,
  changeOf: (model: number) => Change | undefined,
): PlannedExpression =>
  mapOperands(formula, ({ model }): Operand => {
    const change = changeOf(model);
    return change === undefined ? noChange(like) : operandOfChange(change);
  }) as PlannedExpression;

const notInForm = (method: string, reason: string): LayerloomError =>
  new LayerloomError('NO_ADAPTER_FORM', { method, reason });

/** Returns a formula's models with the base last, as in sums. Formulas have the base first. */
const modelsIn = (formula: OfDifferences, parameter: string, method: string): readonly Share[] => {
  const over = operandsOf<ModelTensor>(formula);
  for (const { tensor } of over)
    if (tensor !== undefined && tensor !== parameter)
      throw notInForm(method, `${parameter} is made of ${tensor}`);
  const [base, ...others] = new Set(over.map(({ model }) => model));
  return [...others, ...(base === undefined ? [] : [base])].map((model) => ({ model, weight: 1 }));
};

/** Returns models' shares. They must add up to 1, because an adapter cannot scale its base. */
const sharesOf = (expression: Expression, parameter: string, method: string): readonly Share[] => {
  const refuse = (reason: string): never => {
    throw notInForm(method, `${parameter} ${reason}`);
  };
  const own = (tensor: string | undefined): void => {
    if (tensor !== undefined && tensor !== parameter) refuse(`is made of ${tensor}`);
  };
  if (expression.kind === 'copy') {
    own(expression.source.tensor);
    return [{ model: expression.source.model, weight: 1 }];
  }
  if (expression.kind !== 'linear')
    return refuse('is neither copied from a model, nor a weighted sum of models or of their changes');
  for (const { source } of expression.terms) own(source.tensor);
  const total = expression.terms.reduce((sum, { weight }) => sum + weight, 0);
  if (Math.abs(total - 1) > mostMissing) refuse(`has weights that add up to ${total} and not to 1`);
  return expression.terms
    .filter(({ weight }) => weight !== 0)
    .map(({ source: { model }, weight }) => ({ model, weight }));
};

const wholeCombiner = (models: readonly MergedModel[], { dtype, base, places }: CombineOptions) => {
  const ofBase = (parameter: string): WholeTensor | undefined => {
    const [reference, operand] = [base?.checkpoint.tensors.get(parameter), base?.operandOf(parameter)];
    return reference === undefined || operand === undefined ? undefined : { reference, operand };
  };
  const own = models.map(({ adapter }) => {
    const found = new Map<string, WholeTensor>();
    for (const parameter of places.keys()) {
      const tensor = adapter?.whole.get(parameter) ?? ofBase(parameter);
      if (tensor !== undefined) found.set(parameter, tensor);
    }
    return found;
  });
  const bind = binder(
    models.map((model, index): OpenedModel => {
      const tensors = new Map<string, TensorReference>();
      for (const [parameter, { reference }] of itemAt(own, index)) tensors.set(parameter, reference);
      return {
        ...model,
        checkpoint: { ...model.checkpoint, tensors },
        operandOf: (name): Operand | undefined => itemAt(own, index).get(name)?.operand,
      };
    }),
    dtype,
  );
  return (parameter: string, expression: Expression, shares: readonly Share[]): WholeTensor => {
    for (const { model } of shares)
      if (!itemAt(own, model).has(parameter)) {
        const saves = itemAt(
          models,
          shares.map((share) => share.model).find((one) => itemAt(own, one).has(parameter)) ?? model,
        );
        throw new LayerloomError('BASE_NEEDED', {
          adapter: itemAt(models, model).checkpoint.path,
          reason: `has no ${parameter}, which is averaged with that of ${saves.checkpoint.path}: the base's stands in its place`,
          ...(base === undefined
            ? {}
            : {
                remedy: `${base.checkpoint.path} has none either; merge adapters that save the same modules`,
              }),
        });
      }
    const like = { model: itemAt(shares, 0).model, tensor: parameter };
    const bound = bind({ name: parameter, like }, expression);
    const { shape } = valueAt(itemAt(own, like.model), parameter).reference;
    return {
      reference: { file: 0, begin: 0, end: 0, dtype: bound.dtype, shape },
      operand:
        bound.expression.kind === 'copy'
          ? bound.expression.source
          : computedTensor(bound.dtype, bound.expression),
    };
  };
};
