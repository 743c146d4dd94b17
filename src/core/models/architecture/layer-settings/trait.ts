import { isGiven } from '../../checkpoint/json.js';
import { type Described, type Edits, type Saying, type Section, saysTheSame, Unsaid } from './saying.js';

/** A setting of each layer of a stack in a family's configuration: its attention, or its feed-forward part. */
export interface Trait {
  /** The ways in which it may be said, in the order in which loaders look for them. */
  readonly says: readonly [Saying, ...Saying[]];
  /** The stack that it is said of, in families that have two; default both. */
  readonly of?: 'encoder' | 'decoder';
  /** True where layers are all alike unless the configuration says it. */
  readonly optional?: boolean;
  /** Why its key cannot say another order, where no order can be said. */
  readonly because?: string;
}

/** Returns the first key that says a trait, for messages. */
export const nameOf = ({ says }: Trait): string => says.flatMap(({ keys }) => keys)[0] ?? 'num_hidden_layers';

/**
 * Returns what a section says of each layer; undefined where the trait is optional and the section does not say it.
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

/** Returns a section with edits. */
export const edited = (section: Section, edits: Edits): Section => {
  const result = { ...section, ...edits };
  for (const [key, value] of Object.entries(edits)) if (value === undefined) delete result[key];
  return result;
};

/**
 * Returns the edits by which a section says these values: in the ways in which it says a trait already, as far as they can
 * say them, and else in another that can. Of several ways one that cannot goes, for loaders look at the others first.
 *
 * @param described the section before, and the number of layers after
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

/** True if a section says these values. */
export const isSaid = (trait: Trait, values: readonly unknown[], described: Described): boolean => {
  try {
    const said = readTrait(trait, described);
    return said !== undefined && saysTheSame(said, values);
  } catch (error) {
    if (error instanceof Unsaid) return false;
    throw error;
  }
};

/** Returns values in words, equal neighbours as one: `dense, sparse (3 layers), dense`. */
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
