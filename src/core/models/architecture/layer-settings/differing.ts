import { short } from '../../checkpoint/containers/short-name.js';
import { describingSections } from './describing.js';
import { type Section, saysTheSame, Unsaid } from './traits/saying.js';
import { countOf, sectionsOf } from './traits/sections.js';
import { nameOf, readTrait } from './traits/trait.js';

/**
 * Describes where two configurations set up the same layer differently, which experts of one base never do.
 * Skips a configuration that contradicts itself.
 *
 * @param layers number of layers; default: the configuration's
 */
export const layerDifferences = (
  a: Section,
  b: Section,
  stack: string,
  layers: number | undefined,
): readonly string[] => {
  const ofOther = saidOf(b, stack, layers);
  return [...saidOf(a, stack, layers)].flatMap(([key, values]) => {
    const others = ofOther.get(key);
    const layer =
      others === undefined ? -1 : values.findIndex((value, at) => !saysTheSame([value], [others[at]]));
    return layer < 0
      ? []
      : [`${key} ${written(values[layer])} against ${written(others?.[layer])} of layer ${layer}`];
  });
};

const written = (value: unknown): string => short(JSON.stringify(value) ?? 'nothing');

const saidOf = (
  root: Section,
  stack: string,
  given: number | undefined,
): ReadonlyMap<string, readonly unknown[]> => {
  const said = new Map<string, readonly unknown[]>();
  const layers = given ?? countIn(root, stack);
  if (layers === undefined || layers > mostLayers) return said;
  try {
    const { section, traits } = describingSections(root, { stack, layers }).at(-1) ?? {
      section: root,
      traits: [],
    };
    for (const trait of traits) {
      const values = readTrait(trait, { section, layers, root });
      if (values !== undefined) said.set(nameOf(trait), values);
    }
  } catch (error) {
    if (!(error instanceof Unsaid)) throw error;
  }
  return said;
};

const mostLayers = 10_000;

const countIn = (root: Section, stack: string): number | undefined => {
  const found = sectionsOf(root, stack).flatMap(({ section, counts }) =>
    counts.map((key) => countOf(section, key)),
  );
  return found.find(
    (count): count is number => Number.isInteger(count) && Number(count) >= 0 && Number(count) <= mostLayers,
  );
};
