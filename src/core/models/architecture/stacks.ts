import { LayerloomError } from '../../base/errors/errors.js';
import { invalidParameter } from '../../base/errors/invalid-parameter.js';
import { type Family, families, usualStacks } from './families.js';
import { otherTower } from './roles.js';

export interface NameInStack {
  /** The part before the number, such as `model.layers`. */
  readonly stack: string;
  readonly layer: number;
  /** The part after the number. */
  readonly module: string;
}

export type LayerName = (name: string) => NameInStack | undefined;

/** Finds stacks by the family's names, then usual names, then any family's; other towers' come last. */
export const findStacks = (
  names: readonly string[],
  family: Family | undefined,
): { readonly stacks: readonly string[]; readonly layerOf: LayerName } => {
  let towers: { readonly stacks: readonly string[]; readonly layerOf: LayerName } | undefined;
  for (const words of [family?.stacks ?? usualStacks, usualStacks, ofFamilies]) {
    const layerOf = layerNames(words);
    const stacks = [...new Set(names.flatMap((name) => layerOf(name)?.stack ?? []))].sort();
    const ofLanguage = stacks.filter((stack) => !otherTower.test(stack));
    if (ofLanguage.length > 0) return { stacks: ofLanguage, layerOf };
    if (stacks.length > 0) towers ??= { stacks, layerOf };
  }
  return towers ?? { stacks: [], layerOf: () => undefined };
};

const ofFamilies: readonly string[] = [...new Set(families.flatMap(({ stacks = [] }) => stacks))];

const layerNames = (words: readonly string[]): LayerName => {
  const pattern = new RegExp(
    `^(?<stack>(?:.*?\\.)?(?:${words.map((word) => word.replaceAll('.', '\\.')).join('|')}))\\.(?<layer>\\d+)\\.(?<module>.+)$`,
  );
  return (name) => {
    const { stack, layer, module } = pattern.exec(name)?.groups ?? {};
    if (stack === undefined || layer === undefined || module === undefined) return undefined;
    return { stack, layer: Number(layer), module };
  };
};

/**
 * Returns the stack that `wanted` selects: a whole prefix, or a part such as `decoder`.
 *
 * @throws INVALID_PARAMETER unless exactly one matches
 */
export const stackNamed = (stacks: readonly string[], wanted: string, model: string): string => {
  const found = stacks.filter((stack) => stack === wanted || stack.split('.').includes(wanted));
  const [only, ...others] = found.includes(wanted) ? [wanted] : found;
  if (only !== undefined && others.length === 0) return only;
  const expected =
    stacks.length === 0
      ? `a stack of ${model}, which has no layers`
      : `one of the stacks of ${model}: ${stacks.map(shortName).join(', ')}`;
  throw invalidParameter('stack', wanted, expected);
};

export const ambiguous = (model: string, stacks: readonly string[]): LayerloomError =>
  new LayerloomError('STACKS_AMBIGUOUS', { model, stacks, choices: stacks.map(shortName) });

const shortName = (stack: string): string =>
  stack.split('.').find((part) => part === 'encoder' || part === 'decoder') ?? stack;
