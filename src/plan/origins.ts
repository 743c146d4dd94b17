import {
  isSource,
  type Operand,
  type PlannedExpression,
  type PlannedInput,
  type PlannedTensor,
} from './plan.js';

/** Where a stretch of the model comes from: what one reads to know what a merge did. */
export interface Origin {
  /** First and last layer, or null for what is outside the layers. */
  readonly layers: readonly [number, number] | null;
  /** The expressions in it in words, the one with most bytes first: `jpn-1`, `0.5 math-1 + 0.5 jpn-1`. */
  readonly from: readonly string[];
}

const decimals = (weight: number): string => String(Number(weight.toPrecision(4)));

/** An expression in words, over the models' names. */
export const describeExpression = (
  expression: PlannedExpression,
  inputs: readonly PlannedInput[],
): string => {
  const nameOf = (operand: Operand): string => {
    if (isSource(operand)) return inputs[operand.input]?.name ?? '';
    const inner = describeExpression(operand.expression, inputs);
    return inner.includes(' ') ? `(${inner})` : inner;
  };
  switch (expression.kind) {
    case 'copy':
      return nameOf(expression.source);
    case 'same':
      return expression.sources[0] === undefined ? '' : nameOf(expression.sources[0]);
    case 'linear':
      return describeSum(expression.terms.map(({ source, weight }) => [weight, nameOf(source)]));
    case 'rowSelect':
      return `${nameOf(expression.source)} in part, else ${nameOf(expression.base)}`;
    case 'gram':
      return `${expression.rule} of ${expression.sources.map(nameOf).join(', ')}${expression.origin === null ? '' : ` from ${nameOf(expression.origin)}`}`;
    case 'consensus':
      return `${nameOf(expression.base)} + ${describeChanges(expression, nameOf)}`;
    case 'sce':
      return `${nameOf(expression.base)} + changes of ${expression.sources.map(nameOf).join(', ')}, the ${decimals(expression.share)} that vary most`;
    case 'nearSwap':
      return `${nameOf(expression.base)} towards ${nameOf(expression.source)} by ${expression.t}`;
    case 'fusion':
      return `${nameOf(expression.source)} where it matters, else ${nameOf(expression.base)}`;
  }
};

const describeSum = (terms: readonly (readonly [number, string])[]): string => {
  const [only, more] = terms;
  if (only !== undefined && more === undefined && only[0] === 1) return only[1];
  return terms
    .map(([weight, name]) => `${decimals(weight)} ${name}`)
    .join(' + ')
    .replaceAll('+ -', '− ');
};

const describeChanges = (
  { terms, election, scale }: Extract<PlannedExpression, { kind: 'consensus' }>,
  nameOf: (operand: Operand) => string,
): string => {
  const changes = terms.map(({ source, weight, pruning }): readonly [number, string] => {
    const sparsifier = pruning?.sparsifier;
    const kept =
      sparsifier === undefined
        ? ''
        : 'density' in sparsifier
          ? ` (${decimals(100 * sparsifier.density)} % by ${sparsifier.by})`
          : ` (from ${sparsifier.atLeast.toPrecision(4)} on)`;
    return [weight, `Δ${nameOf(source)}${kept}`];
  });
  const factor = scale === 1 ? '' : `${decimals(scale)} · `;
  return `${factor}[${describeSum(changes)}]${election === null ? '' : elected[election.tie]}`;
};

/** Elections end ties in favour of + but for TIES' authors. */
const elected = { positive: ' of one sign', negative: ' of one sign, − where they cancel' };

/** What each layer is made of, bottom first and neighbours alike joined, then what is outside the layers. */
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
