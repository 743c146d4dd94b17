import { type Formula, operandsOf } from '../operations/expression.js';
import {
  distinctSources,
  isSource,
  type Operand,
  type PlannedExpression,
  type StoredTensor,
  sourcesOfOperand,
} from './plan.js';

/** A reading of a tensor's inputs before the tensor is computed, to find what its expression needs to know of whole tensors. */
export interface Pass {
  /** What is found: `Gram matrices`. */
  readonly what: string;
  readonly sources: readonly StoredTensor[];
}

/**
 * What is measured for an expression, those of nested recipes first. One pass for each statistic: finding a magnitude may take another, or a
 * sample first.
 */
export const passesOf = (expression: PlannedExpression): readonly Pass[] => {
  if (expression.kind === 'copy' || expression.kind === 'same') return [];
  const nested = operandsOf(expression).flatMap((operand) =>
    isSource(operand) ? [] : passesOf(operand.expression),
  );
  return [...nested, ...ownPasses(expression)];
};

const passOf = (what: string, operands: readonly Operand[]): Pass => ({
  what,
  sources: distinctSources(operands.flatMap(sourcesOfOperand)),
});

const ownPasses = (formula: Formula<Operand>): readonly Pass[] => {
  const all = operandsOf(formula);
  switch (formula.kind) {
    case 'gram':
      return [passOf('Gram matrices', all)];
    case 'consensus': {
      const { base, terms } = formula;
      const found = (what: string, of: (term: (typeof terms)[number]) => boolean) => {
        const wanted = terms.filter(of).map(({ source }) => source);
        return wanted.length === 0 ? [] : [passOf(what, [base, ...wanted])];
      };
      return [
        ...found('thresholds', ({ pruning }) =>
          ['magnitude', 'outliers'].includes(pruning?.sparsifier.by ?? ''),
        ),
        ...found('norms', ({ pruning }) => pruning?.rescale === 'norm'),
      ];
    }
    case 'sce':
      return formula.share < 1
        ? [passOf('variances', all), passOf('thresholds', all), passOf('Gram matrices', all)]
        : [passOf('Gram matrices', all)];
    case 'fusion':
      return [passOf('divergences', all), passOf('quantiles', all)];
    default:
      return [];
  }
};
