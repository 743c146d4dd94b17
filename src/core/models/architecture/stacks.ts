import { LayerloomError } from '../../base/errors.js';
import { invalidParameter } from '../../base/invalid-parameter.js';
import { type Family, families, usualStacks } from './families.js';
import { otherTower } from './roles.js';

/** A name with the number of a layer, taken apart. */
export interface NameInStack {
  /** What stands before the number: `model.layers`. */
  readonly stack: string;
  readonly layer: number;
  /** What stands after it. */
  readonly module: string;
}

/** Takes a name apart; undefined for one without a layer's number. */
export type LayerName = (name: string) => NameInStack | undefined;

/**
 * Finds the stacks of layers among a model's names: those of its family, or those of usual names, or, where there are
 * none, those of any other family. Stacks of other towers count only where there are no others.
 */
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
 * Returns the one of a model's stacks that is meant: by its whole prefix, or a part of it, such as `decoder` for
 * `model.decoder.layers`.
 *
 * @throws LayerloomError INVALID_PARAMETER where none is meant, or several
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

/** Returns the error of a model whose stack of layers must be chosen. */
export const ambiguous = (model: string, stacks: readonly string[]): LayerloomError =>
  new LayerloomError('STACKS_AMBIGUOUS', { model, stacks, choices: stacks.map(shortName) });

/** Returns the shortest text that means a stack: `decoder` for `model.decoder.layers`. */
const shortName = (stack: string): string =>
  stack.split('.').find((part) => part === 'encoder' || part === 'decoder') ?? stack;
