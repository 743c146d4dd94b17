import { isGiven, isObject } from '../../checkpoint/json.js';
import { otherTower } from '../roles.js';
import type { Edits, Section } from './saying.js';

/** A section of a configuration that may describe a stack of layers. */
export interface FoundSection {
  /** The keys that lead to it; none for the whole configuration. */
  readonly path: readonly string[];
  readonly section: Section;
  /** The keys that say how many layers there are. */
  readonly counts: readonly string[];
}

/** Which half of an encoder–decoder a stack is, by its name. */
export const sideOf = (stack: string): 'encoder' | 'decoder' | undefined =>
  stack.split('.').find((part) => part === 'encoder' || part === 'decoder') as
    | 'encoder'
    | 'decoder'
    | undefined;

const usualCounts = ['num_hidden_layers', 'num_layers', 'n_layer', 'n_layers', 'layers'];

/** The keys of a section that say how many layers a stack has. */
const countsIn = (section: Section, stack: string): string[] => {
  const isThere = (key: string) => typeof section[key] === 'number';
  if (stack.endsWith('single_transformer_blocks')) return ['num_single_layers'].filter(isThere);
  const side = sideOf(stack);
  if (side === undefined) return usualCounts.filter(isThere);
  // T5 has as many layers in its decoder as in its encoder, unless it says otherwise.
  if (stack.endsWith('decoder.block') && isThere('num_layers')) return ['num_decoder_layers'];
  const own = [`${side}_layers`, `num_${side}_layers`, `${side}_num_hidden_layers`].filter(isThere);
  if (own.length === 0) return usualCounts.filter(isThere);
  // BART and its like: another name of the encoder's number, or of the only one's.
  const isAlias = (key: string) => section[key] === section[own[0] ?? ''] && side === 'encoder';
  return [...own, ...usualCounts.filter((key) => isThere(key) && isAlias(key))];
};

/** How many layers a key says, where T5's decoder says none. */
export const countOf = (section: Section, key: string): unknown =>
  isGiven(section[key]) || key !== 'num_decoder_layers' ? section[key] : section['num_layers'];

/** The number of an encoder's layers stays that of the decoder's, where the one is told by the other. */
export const decoderCount = (section: Section, stack: string): Edits =>
  stack.endsWith('encoder.block') && !isGiven(section['num_decoder_layers'])
    ? { num_decoder_layers: section['num_layers'] }
    : {};

/** Most levels of sections in sections: `thinker_config.text_config` has two. */
const deepest = 3;

const inner = (section: Section): [string, Section][] =>
  Object.entries(section).filter(
    (entry): entry is [string, Record<string, unknown>] =>
      isObject(entry[1]) && (/_config$/.test(entry[0]) || ['encoder', 'decoder'].includes(entry[0])),
  );

const isTower = (key: string): boolean =>
  otherTower.test(key) || /(^|_)(codec|talker|token2wav|vq|qformer)/.test(key);

const sectionsIn = (section: Section, stack: string, path: readonly string[] = []): FoundSection[] => {
  if (path.length > deepest) return [];
  const side = sideOf(stack);
  const below = inner(section);
  const ofSide = below.filter(([key]) => side !== undefined && (key === side || key === `${side}_config`));
  const searched = ofSide.length > 0 ? ofSide : below.filter(([key]) => !isTower(key));
  return [
    { path, section, counts: countsIn(section, stack) },
    ...searched.flatMap(([key, found]) => sectionsIn(found, stack, [...path, key])),
  ];
};

/** Returns the sections of a configuration that may describe a stack: the whole, and its language model's. */
export const sectionsOf = (config: Section, stack: string): readonly FoundSection[] =>
  sectionsIn(config, stack);
