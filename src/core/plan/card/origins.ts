import { itemAt, valueAt } from '../../base/errors/lookup.js';
import type { Role } from '../../models/architecture/role.js';
import { roleInside } from '../../models/architecture/roles.js';
import { isObject } from '../../models/checkpoint/files/json.js';
import { describe } from '../operands.js';
import type { MergePlan, PlannedExpression, PlannedInput, PlannedTensor } from '../plan.js';

export interface Origin {
  /** First and last layer; null outside the layers. */
  readonly layers: readonly [number, number] | null;
  /** Distinct expressions, largest in bytes first: `jpn-1`, `0.5 math-1 + 0.5 jpn-1`. */
  readonly from: readonly string[];
  /** Tensors of each expression: names of a few tensors outside the layers, otherwise kinds of modules. */
  readonly tensors?: readonly (readonly string[])[];
  /** First and last layer in the source models, if layers are stacked. */
  readonly sourceLayers?: readonly [number, number];
}

/** Maximum number of tensors outside the layers to name. */
const mostNamed = 3;

const kinds: Partial<Record<Role, string>> = {
  attention: 'attention',
  feedForward: 'feed-forward',
  blockNorm: 'norms',
};

/** Describes an origin: `jpn-1 (its layers 8–23)`, or `embed_tokens: math-1; norm, lm_head: jpn-1`. */
export const wordsOf = ({ from, tensors, sourceLayers }: Origin): string =>
  `${from.map((words, index) => (tensors === undefined ? words : `${itemAt(tensors, index).join(', ')}: ${words}`)).join('; ')}${sourceLayers === undefined ? '' : ` (its ${sourceLayers[0] === sourceLayers[1] ? 'layer' : 'layers'} ${rangeText(sourceLayers)})`}`;

/** Formats a range as `3–7`, or `3` for a single layer. */
export const rangeText = ([first, last]: readonly [number, number]): string =>
  first === last ? `${first}` : `${first}–${last}`;

export const describeExpression = (expression: PlannedExpression, inputs: readonly PlannedInput[]): string =>
  describe(expression, ({ input }) => itemAt(inputs, input).name);

/**
 * Describes the layers from the bottom, then other tensors. Joins neighbours of equal origin.
 *
 * @param recipe the plan's, whose `slices` tell which layers are stacked
 */
export const describeOrigins = (
  tensors: readonly PlannedTensor[],
  inputs: readonly PlannedInput[],
  recipe: MergePlan['recipe'] = {},
): Origin[] => {
  const source = sourceLayersOf(recipe);
  const isStacked = source.some((from, layer) => from !== layer);
  const bytes = new Map<number | null, Map<string, number>>();
  const modules = new Map<number | null, Map<string, Set<string>>>();
  for (const { name, layer, expression, begin, end } of tensors) {
    const ofLayer = bytes.get(layer) ?? new Map<string, number>();
    const words = describeExpression(expression, inputs);
    bytes.set(layer, ofLayer.set(words, (ofLayer.get(words) ?? 0) + end - begin));
    const inLayer = modules.get(layer) ?? new Map<string, Set<string>>();
    modules.set(layer, inLayer.set(words, (inLayer.get(words) ?? new Set()).add(kindOf(name, layer))));
  }
  const outside = bytes.get(null);
  bytes.delete(null);
  const origins: Origin[] = [];
  for (const [layer, ofLayer] of [...bytes].sort(([a], [b]) => Number(a) - Number(b))) {
    const from = inOrder(ofLayer);
    const named = kindsOf(from, valueAt(modules, layer));
    const last = origins.at(-1);
    const at = Number(layer);
    const own = isStacked ? source[at] : undefined;
    const isSame = last?.from.join() === from.join() && `${last.tensors}` === `${named}`;
    const isNext = last?.layers?.[1] === at - 1 && isSame;
    if (isNext && last?.layers && (own === undefined || last.sourceLayers?.[1] === own - 1)) {
      const sourceLayers =
        last.sourceLayers && own !== undefined ? ([last.sourceLayers[0], own] as const) : undefined;
      origins[origins.length - 1] = {
        layers: [last.layers[0], at],
        from,
        ...(named && { tensors: named }),
        ...(sourceLayers && { sourceLayers }),
      };
    } else
      origins.push({
        layers: [at, at],
        from,
        ...(named && { tensors: named }),
        ...(own === undefined ? {} : { sourceLayers: [own, own] }),
      });
  }
  if (outside === undefined) return origins;
  const from = inOrder(outside);
  const named = tensors.filter(({ layer }) => layer === null);
  if (from.length === 1 || named.length > mostNamed) return [...origins, { layers: null, from }];
  const namesOf = (words: string) =>
    named
      .filter(({ expression }) => describeExpression(expression, inputs) === words)
      .map(({ name }) => lastName(name));
  return [...origins, { layers: null, from, tensors: from.map((words) => [...new Set(namesOf(words))]) }];
};

const kindOf = (tensor: string, layer: number | null): string => {
  const at = tensor.indexOf(`.${layer}.`);
  const module = at === -1 ? tensor : tensor.slice(at + `.${layer}.`.length);
  return kinds[roleInside(undefined, module)] ?? module;
};

const kindsOf = (
  from: readonly string[],
  found: ReadonlyMap<string, ReadonlySet<string>>,
): (readonly string[])[] | undefined => {
  if (from.length === 1) return undefined;
  const named = from.map((words) => [...valueAt(found, words)].sort());
  const all = named.flat();
  return new Set(all).size === all.length ? named : undefined;
};

const lastName = (tensor: string): string => {
  const parts = tensor.replace(/(\.lora_(embedding_)?[AB])?(\.(weight|bias))?$/, '').split('.');
  return itemAt(parts, parts.length - 1);
};

const sourceLayersOf = ({ slices }: MergePlan['recipe']): number[] =>
  (Array.isArray(slices) ? slices : []).flatMap((slice: unknown) => {
    const sources = isObject(slice) ? slice['sources'] : undefined;
    const first: unknown = Array.isArray(sources) ? sources[0] : undefined;
    const range = isObject(first) ? first['layer_range'] : undefined;
    if (!Array.isArray(range)) return [];
    const [begin, end] = range.map(Number) as [number, number];
    return Array.from({ length: Math.max(0, end - begin) }, (_, index) => begin + index);
  });

const inOrder = (bytes: ReadonlyMap<string, number>): string[] =>
  [...bytes].sort(([, a], [, b]) => b - a).map(([words]) => words);
