import { isGiven } from '../../checkpoint/json.js';
import { common, type LayerSettings } from './families.js';
import { type Section, Unsaid } from './saying.js';
import { countOf, type FoundSection, sectionsOf, sideOf } from './sections.js';
import type { Trait } from './trait.js';
import { isAlike, settingsOf, typeOf } from './types.js';

/** A model with the stack of layers that is meant. */
export interface ModelOfLayers {
  /** The `config.json`; undefined if there is none. */
  readonly config: Section | undefined;
  /** The part of names before the numbers of layers: `model.layers`. */
  readonly stack: string;
  readonly layers: number;
}

/** A section of a configuration that describes a stack of layers. */
export interface DescribingSection {
  /** The keys that lead to it; none for the whole configuration. */
  readonly path: readonly string[];
  readonly section: Section;
  /** Keys of the number of layers, each with the number that a layer counts for. */
  readonly counts: Readonly<Record<string, number>>;
  readonly type: string | undefined;
  readonly traits: readonly Trait[];
  /** Keys that its family is known to say something by, of this stack or of another. */
  readonly known: ReadonlySet<string>;
  /** False for a family whose settings by layer are not known. */
  readonly isKnown: boolean;
}

/**
 * Returns the sections that describe a model's stack. Several say the same of it: a `text_config`, and the copy of it beside
 * it in older files.
 *
 * @throws Unsaid where no key says how many layers there are, or one says another number
 */
export const describingSections = (
  config: Section,
  { stack, layers }: Pick<ModelOfLayers, 'stack' | 'layers'>,
): DescribingSection[] => {
  const found = sectionsOf(config, stack).map((one) => {
    const type = typeOf(config, one.path, one.section);
    return { ...one, type, settings: settingsOf(type) };
  });
  const right = found.flatMap((one) => {
    const counts = countsThatSay(one, layers);
    return counts === undefined ? [] : [{ ...one, counts }];
  });
  const deep = right.find(({ path }) => path.at(-1) === 'text_config') ?? right[0];
  if (deep === undefined) throw noCount(found, stack, layers);
  const { type, settings } = deep;
  const isKnown = settings !== undefined || isAlike(type);
  return right
    .filter(({ path }) => path.every((key, level) => deep.path[level] === key))
    .map(({ path, section, counts }) => ({
      ...{ path, section, counts, type, isKnown },
      traits: traitsOf(settings, stack),
      known: new Set([...keysOf([...(settings?.traits ?? []), ...common]), ...Object.keys(counts)]),
    }));
};

const noCount = (found: readonly FoundSection[], stack: string, layers: number): Unsaid => {
  const wrong = found.find(({ counts }) => counts.length > 0);
  const [key] = wrong?.counts ?? [];
  return wrong === undefined || key === undefined
    ? new Unsaid('num_hidden_layers', `is not there, and no other key says how many layers ${stack} has`)
    : new Unsaid(key, `is ${JSON.stringify(countOf(wrong.section, key))}, and ${stack} has ${layers} layers`);
};

/** The keys by which a section says a number of layers; undefined where it does not. */
const countsThatSay = (
  { section, counts, settings }: FoundSection & { readonly settings: LayerSettings | undefined },
  layers: number,
): Readonly<Record<string, number>> | undefined => {
  const each = settings?.counts ?? Object.fromEntries(counts.map((key) => [key, 1]));
  if (settings?.countsByList === true)
    return Object.fromEntries(Object.entries(each).filter(([key]) => isGiven(section[key])));
  const right = Object.entries(each).filter(([key, times]) => countOf(section, key) === layers * times);
  return right.length > 0 ? Object.fromEntries(right) : undefined;
};

/** Returns the settings by layer of a family's stack, and those of any configuration. */
const traitsOf = (settings: LayerSettings | undefined, stack: string): readonly Trait[] => {
  const own = settings?.traits ?? [];
  const side = sideOf(stack);
  const said = keysOf(own);
  return [
    ...own.filter(({ of }) => of === undefined || of === side),
    ...common.filter(({ says }) => !says.some(({ keys }) => keys.some((key) => said.has(key)))),
  ];
};

/** All keys that say some traits. */
const keysOf = (traits: readonly Trait[]): ReadonlySet<string> =>
  new Set(traits.flatMap(({ says }) => says.flatMap(({ keys }) => keys)));

/**
 * Refuses families whose layers depend on each other, by the key that says so.
 *
 * @throws Unsaid
 */
export const refuseDependent = (config: Section, sections: readonly DescribingSection[]): void => {
  for (const type of [typeOf(config, [], config), ...sections.map((section) => section.type)]) {
    const refused = settingsOf(type)?.refused;
    if (refused !== undefined) throw new Unsaid(...refused);
  }
};
