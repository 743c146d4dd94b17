import { isGiven } from '../../checkpoint/files/json.js';
import { common, type LayerSettings } from './families.js';
import { type Section, Unsaid } from './traits/saying.js';
import { countOf, type FoundSection, sectionsOf, sideOf } from './traits/sections.js';
import type { Trait } from './traits/trait.js';
import { isAlike, settingsOf, typeOf } from './types.js';

export interface ModelOfLayers {
  readonly config: Section | undefined;
  readonly stack: string;
  readonly layers: number;
}

export interface DescribingSection {
  readonly path: readonly string[];
  readonly section: Section;
  /** Keys that give the number of layers; n if the key's value is n times that number. */
  readonly counts: Readonly<Record<string, number>>;
  readonly type: string | undefined;
  readonly traits: readonly Trait[];
  /** Keys by which the family configures layers of any stack. */
  readonly known: ReadonlySet<string>;
  readonly isKnown: boolean;
}

/**
 * Returns the sections that describe a stack; older files repeat `text_config` at the top level.
 *
 * @throws Unsaid if no key gives the number of layers; OtherCount if a key contradicts it
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

/** A key states a different number of layers. */
export class OtherCount extends Unsaid {}

const noCount = (found: readonly FoundSection[], stack: string, layers: number): Unsaid => {
  const wrong = found.find(({ counts }) => counts.length > 0);
  const [key] = wrong?.counts ?? [];
  if (wrong === undefined || key === undefined)
    return new Unsaid(
      'num_hidden_layers',
      `is not there, and no other key says how many layers ${stack} has`,
    );
  const stated = JSON.stringify(countOf(wrong.section, key));
  return new OtherCount(key, `is ${stated}, and ${stack} has ${layers} layers`);
};

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

const traitsOf = (settings: LayerSettings | undefined, stack: string): readonly Trait[] => {
  const own = settings?.traits ?? [];
  const side = sideOf(stack);
  const said = keysOf(own);
  return [
    ...own.filter(({ of }) => of === undefined || of === side),
    ...common.filter(({ says }) => !says.some(({ keys }) => keys.some((key) => said.has(key)))),
  ];
};

const keysOf = (traits: readonly Trait[]): ReadonlySet<string> =>
  new Set(traits.flatMap(({ says }) => says.flatMap(({ keys }) => keys)));

/**
 * Refuses families whose layers depend on each other.
 *
 * @throws Unsaid with the key that causes the dependence
 */
export const refuseDependent = (config: Section, sections: readonly DescribingSection[]): void => {
  for (const type of [typeOf(config, [], config), ...sections.map((section) => section.type)]) {
    const refused = settingsOf(type)?.refused;
    if (refused !== undefined) throw new Unsaid(...refused);
  }
};
