import { isGiven } from '../../../checkpoint/files/json.js';
import { type Described, type Edits, type Saying, type Section, saysTheSame, Unsaid } from './saying.js';

/** A setting that may differ between layers, such as the kind of attention or feed-forward part. */
export interface Trait {
  /** Possible encodings, in the order in which loaders try them. */
  readonly says: readonly [Saying, ...Saying[]];
  /** The stack that the setting applies to, in encoder–decoder families; default: both. */
  readonly of?: 'encoder' | 'decoder';
  /** True if the configuration may omit the setting. Then all layers are the same. */
  readonly optional?: boolean;
  /** Why layers cannot be reordered. */
  readonly because?: string;
}

export const nameOf = ({ says }: Trait): string => says.flatMap(({ keys }) => keys)[0] ?? 'num_hidden_layers';

/**
 * Returns each layer's value; undefined if the setting is optional and absent.
 *
 * @throws Unsaid
 */
export const readTrait = (trait: Trait, described: Described): readonly unknown[] | undefined => {
  for (const saying of trait.says) {
    const values = saying.read(described);
    if (values !== undefined) return values;
  }
  if (trait.optional) return undefined;
  throw new Unsaid(nameOf(trait), 'is not there, and how loaders derive it is not known');
};

const isThere = ({ keys }: Saying, section: Section): boolean => keys.some((key) => isGiven(section[key]));

export const edited = (section: Section, edits: Edits): Section => {
  const result = { ...section, ...edits };
  for (const [key, value] of Object.entries(edits)) if (value === undefined) delete result[key];
  return result;
};

/**
 * Returns changes that encode these values, if possible with the encodings in use. Removes an encoding in use
 * that cannot express the values, because loaders might read it first.
 *
 * @param described the section before the changes, with the new number of layers
 * @throws Unsaid
 */
export const writeTrait = (trait: Trait, values: readonly unknown[], described: Described): Edits => {
  const { section } = described;
  const { says } = trait;
  const kept: Record<string, unknown> = {};
  for (const saying of says.filter((one) => isThere(one, section))) {
    const gone = says.length > 1 ? Object.fromEntries(saying.keys.map((key) => [key, undefined])) : {};
    Object.assign(kept, saying.write(values, described) ?? gone);
  }
  const ways: Edits[] = [{}];
  for (const saying of says) ways.push(saying.write(values, described) ?? {});
  for (const way of ways) {
    const edits = { ...kept, ...way };
    if (isSaid(trait, values, { ...described, section: edited(section, edits) })) return edits;
  }
  throw new Unsaid(nameOf(trait), trait.because ?? `cannot say ${runs(values)}`);
};

export const isSaid = (trait: Trait, values: readonly unknown[], described: Described): boolean => {
  try {
    const said = readTrait(trait, described);
    return said !== undefined && saysTheSame(said, values);
  } catch (error) {
    if (error instanceof Unsaid) return false;
    throw error;
  }
};

const runs = (values: readonly unknown[], shown = 6): string => {
  const found: { readonly word: string; count: number }[] = [];
  for (const value of values) {
    const word = typeof value === 'string' ? value : JSON.stringify(value);
    const before = found.at(-1);
    if (before?.word === word) before.count += 1;
    else found.push({ word, count: 1 });
  }
  const words = found
    .slice(0, shown)
    .map(({ word, count }) => (count > 1 ? `${word} (${count} layers)` : word));
  return words.join(', ') + (found.length > shown ? ', …' : '');
};
