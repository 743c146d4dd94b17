import { itemAt } from '../../../base/errors/lookup.js';
import { isObject } from '../../checkpoint/files/json.js';
import {
  type DescribingSection,
  describingSections,
  type ModelOfLayers,
  refuseDependent,
} from './describing.js';
import { refuseDifferent } from './traits/of-all-layers.js';
import { type Described, type Edits, type Section, saysTheSame, Unsaid } from './traits/saying.js';
import { decoderCount } from './traits/sections.js';
import { edited, isSaid, nameOf, readTrait, type Trait, writeTrait } from './traits/trait.js';
import { refuseLists, refuseSuspicions } from './traits/unknown.js';

export interface LayerOf {
  readonly model: number;
  readonly layer: number;
}

/** The source of an output layer, and the layers combined with it. */
export interface Origin extends LayerOf {
  readonly with?: readonly LayerOf[];
}

export interface StackedConfig {
  readonly edits: Edits;
  readonly warnings: readonly string[];
}

/**
 * Returns changes that make the first model's configuration describe a new stack: the number of layers, and
 * each layer's settings from its own model.
 *
 * @param hasDrafts false if multi-token prediction layers are left out
 * @throws Unsaid for a key that cannot describe these layers in this order
 */
export const stackedConfig = (
  models: readonly ModelOfLayers[],
  origins: readonly Origin[],
  hasDrafts: boolean,
): StackedConfig => {
  const { config: root, stack, layers } = itemAt(models, 0);
  if (root === undefined || isUnchanged(layers, origins)) return { edits: {}, warnings: [] };
  const sections = describingSections(root, { stack, layers });
  refuseDependent(root, sections);
  const used = [
    ...new Set(origins.flatMap((origin) => [origin, ...(origin.with ?? [])]).map(({ model }) => model)),
  ];
  let config = root;
  for (const { path, section, counts, traits } of sections) {
    const sources = new Map(
      used.map((model) => [model, inModel(model, () => sourceOf(itemAt(models, model), path))]),
    );
    const base = {
      ...Object.fromEntries(Object.entries(counts).map(([key, each]) => [key, origins.length * each])),
      ...decoderCount(section, stack),
      ...(hasDrafts || !('num_nextn_predict_layers' in section) ? {} : { num_nextn_predict_layers: 0 }),
    };
    const described = { section: edited(section, base), layers: origins.length, root };
    for (const [model, source] of sources)
      if (source !== undefined) inModel(model, () => refuseDifferent(described, source));
    const edits = sayLayers(traits, described, sources, origins);
    config = withSection(config, path, { ...base, ...edits });
  }
  return {
    edits: differing(root, config),
    warnings: sections
      .filter(({ isKnown }) => !isKnown)
      .slice(0, 1)
      .map(unknownFamily),
  };
};

const isUnchanged = (layers: number, origins: readonly Origin[]): boolean =>
  origins.length === layers &&
  origins.every((origin, index) => origin.model === 0 && origin.layer === index && origin.with === undefined);

const unknownFamily = ({ type }: DescribingSection): string =>
  `layerloom does not know how ${type ?? 'a model without model_type'} tells layers apart: no key of config.json seems to, but its code may`;

const inModel = <T>(model: number, call: () => T): T => {
  try {
    return call();
  } catch (error) {
    if (error instanceof Unsaid) error.model = model;
    throw error;
  }
};

const sourceOf = (
  { config, stack, layers }: ModelOfLayers,
  path: readonly string[],
): Described | undefined => {
  if (config === undefined) return undefined;
  const sections = describingSections(config, { stack, layers });
  const found =
    sections.find((one) => one.path.join() === path.join()) ?? itemAt(sections, sections.length - 1);
  if (!found.isKnown) refuseSuspicions(found.section, found.known);
  refuseLists(found.section, layers, found.known);
  if (found.section !== config) refuseLists(onlyLists(config), layers, found.known);
  return { section: found.section, layers, root: config };
};

const onlyLists = (section: Section): Section =>
  Object.fromEntries(Object.entries(section).filter(([, value]) => Array.isArray(value)));

const sayLayers = (
  traits: readonly Trait[],
  described: Described,
  sources: ReadonlyMap<number, Described | undefined>,
  origins: readonly Origin[],
): Edits => {
  let { section } = described;
  const wanted: (readonly [Trait, readonly unknown[]])[] = [];
  for (const trait of traits) {
    const values = valuesOf(trait, sources, origins);
    if (values === undefined) continue;
    wanted.push([trait, values]);
    section = edited(section, writeTrait(trait, values, { ...described, section }));
  }
  for (const [trait, values] of wanted)
    if (!isSaid(trait, values, { ...described, section }))
      throw new Unsaid(nameOf(trait), 'cannot say it beside what other keys say');
  return differing(described.section, section);
};

/**
 * Returns each output layer's value; undefined if no model gives values.
 *
 * @throws Unsaid if combined layers have different values
 */
const valuesOf = (
  trait: Trait,
  sources: ReadonlyMap<number, Described | undefined>,
  origins: readonly Origin[],
): readonly unknown[] | undefined => {
  const said = new Map(
    [...sources].map(([model, source]) => [
      model,
      source === undefined ? undefined : inModel(model, () => readTrait(trait, source)),
    ]),
  );
  const ofLayer = ({ model, layer }: LayerOf): unknown => said.get(model)?.[layer];
  const values = origins.map(ofLayer);
  for (const [index, { with: others = [] }] of origins.entries())
    for (const other of others)
      if (!saysTheSame([ofLayer(other)], [values[index]]))
        throw new Unsaid(
          nameOf(trait),
          `says different things of the layers that layer ${index} is made of: ${JSON.stringify(values[index])} and ${JSON.stringify(ofLayer(other))}`,
        );
  if (values.every((value) => value === undefined)) return undefined;
  if (values.includes(undefined))
    throw new Unsaid(nameOf(trait), 'is not in the configuration of every model');
  return values;
};

const differing = (before: Section, after: Section): Edits => {
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return Object.fromEntries(
    [...keys].flatMap((key) => (before[key] === after[key] ? [] : [[key, after[key]] as const])),
  );
};

const withSection = (config: Section, [key, ...rest]: readonly string[], edits: Edits): Section => {
  if (key === undefined) return edited(config, edits);
  const below = config[key];
  return { ...config, [key]: withSection(isObject(below) ? below : {}, rest, edits) };
};
