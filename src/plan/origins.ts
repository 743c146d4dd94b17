import { itemAt } from '../lookup.js';
import { describe } from './operands.js';
import type { PlannedExpression, PlannedInput, PlannedTensor } from './plan.js';

/** The origin of a run of layers, or of the tensors outside the layers: a summary of a merge for people. */
export interface Origin {
  /** First and last layer, or null for the tensors outside the layers. */
  readonly layers: readonly [number, number] | null;
  /** The distinct expressions in words, that of the most bytes first: `jpn-1`, `0.5 math-1 + 0.5 jpn-1`. */
  readonly from: readonly string[];
}

/** Returns an expression in words, with the models' names as operands. */
export const describeExpression = (expression: PlannedExpression, inputs: readonly PlannedInput[]): string =>
  describe(expression, ({ input }) => itemAt(inputs, input).name);

/**
 * Returns the origins of all layers, from the bottom, joining neighbours of equal origin, and then of the
 * tensors outside them.
 */
export const describeOrigins = (
  tensors: readonly PlannedTensor[],
  inputs: readonly PlannedInput[],
): Origin[] => {
  const bytes = new Map<number | null, Map<string, number>>();
  for (const { layer, expression, begin, end } of tensors) {
    const ofLayer = bytes.get(layer) ?? new Map<string, number>();
    const words = describeExpression(expression, inputs);
    bytes.set(layer, ofLayer.set(words, (ofLayer.get(words) ?? 0) + end - begin));
  }
  const outside = bytes.get(null);
  bytes.delete(null);
  const origins: Origin[] = [];
  for (const [layer, ofLayer] of [...bytes].sort(([a], [b]) => Number(a) - Number(b))) {
    const from = inOrder(ofLayer);
    const last = origins.at(-1);
    const at = Number(layer);
    if (last?.layers?.[1] === at - 1 && last.from.join() === from.join())
      origins[origins.length - 1] = { layers: [last.layers[0], at], from };
    else origins.push({ layers: [at, at], from });
  }
  return outside === undefined ? origins : [...origins, { layers: null, from: inOrder(outside) }];
};

const inOrder = (bytes: ReadonlyMap<string, number>): string[] =>
  [...bytes].sort(([, a], [, b]) => b - a).map(([words]) => words);
