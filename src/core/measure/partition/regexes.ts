import { groupBy, valueAt } from '../../base/errors/lookup.js';
import { type Partition, partNames } from './partition.js';

interface LayerName {
  readonly layer: number;
  readonly rest: string;
}

/** Returns a function that splits a name into layer and rest. Undefined for names outside the layers. */
export const splitterOf = ({
  stack,
  layers,
}: Pick<Partition, 'stack' | 'layers'>): ((name: string) => LayerName | undefined) => {
  const prefix = `${stack}.`;
  return (name) => {
    if (!name.startsWith(prefix)) return undefined;
    const [, digits, rest] = /^(\d+)\.(.+)$/.exec(name.slice(prefix.length)) ?? [];
    const layer = Number(digits);
    // Draft layers for multi-token prediction have numbers from L on. They count as outside.
    return rest === undefined || layer >= layers ? undefined : { layer, rest };
  };
};

/** Escapes a name for a regular expression, except dots if `isDotLiteral`. */
const escaped = (name: string, isDotLiteral: boolean): string =>
  name.replace(isDotLiteral ? /[\\^$*+?()[\]{}|]/g : /[\\^$.*+?()[\]{}|]/g, '\\$&');

const anyOf = (choices: readonly (string | number)[]): string =>
  choices.length === 1 ? String(choices[0]) : `(${choices.join('|')})`;

/**
 * Returns anchored patterns for Python and JavaScript that match exactly these parameters:
 * `^model\.layers\.(0|1|30|31)\.` for whole layers, `^…$` for names.
 *
 * @param isDotLiteral true if the reader takes dots literally (axolotl)
 */
export const patternsOf = (
  partition: Partition,
  names: readonly string[],
  isDotLiteral = false,
): readonly string[] => {
  const split = splitterOf(partition);
  const sizes = new Map<number, number>();
  for (const { layer } of partNames.flatMap((part) =>
    partition.parts[part].flatMap((name) => split(name) ?? []),
  ))
    sizes.set(layer, (sizes.get(layer) ?? 0) + 1);
  const inside = names.flatMap((name) => split(name) ?? []);
  const byLayer = groupBy(inside, ({ layer }) => layer);
  const whole = [...byLayer]
    .filter(([layer, members]) => members.length === valueAt(sizes, layer))
    .map(([layer]) => layer)
    .sort((a, b) => a - b);
  const ofWhole = new Set(whole);
  const dot = isDotLiteral ? '.' : '\\.';
  const stack = escaped(partition.stack, isDotLiteral);
  const single = names.filter((name) => split(name) === undefined);
  return [
    ...single.map((name) => `^${escaped(name, isDotLiteral)}$`),
    ...(whole.length === 0 ? [] : [`^${stack}${dot}${anyOf(whole)}${dot}`]),
    ...grouped(inside.filter(({ layer }) => !ofWhole.has(layer))).map(
      ({ layers, rests }) =>
        `^${stack}${dot}${anyOf(layers)}${dot}${anyOf(rests.map((rest) => escaped(rest, isDotLiteral)))}$`,
    ),
  ];
};

/** Returns a pattern that matches exactly these names (`re.fullmatch`). */
export const wholePattern = (partition: Partition, names: readonly string[]): string => {
  const split = splitterOf(partition);
  const stack = escaped(partition.stack, false);
  return grouped(names.flatMap((name) => split(name) ?? []))
    .map(
      ({ layers, rests }) =>
        `${stack}\\.${anyOf(layers)}\\.${anyOf(rests.map((rest) => escaped(rest, false)))}`,
    )
    .join('|');
};

const grouped = (
  names: readonly LayerName[],
): { readonly layers: readonly number[]; readonly rests: readonly string[] }[] => {
  const layersOf = [...groupBy(names, ({ rest }) => rest)].map(([rest, members]) => ({
    rest,
    layers: members.map(({ layer }) => layer).sort((a, b) => a - b),
  }));
  return [...groupBy(layersOf, ({ layers }) => layers.join())].map(([, members]) => ({
    layers: members[0]?.layers ?? [],
    rests: members.map(({ rest }) => rest),
  }));
};
