import { isGiven, isObject } from '../../../checkpoint/files/json.js';
import { otherTower } from '../../roles.js';
import type { Edits, Section } from './saying.js';

export interface FoundSection {
  readonly path: readonly string[];
  readonly section: Section;
  readonly counts: readonly string[];
}

export const sideOf = (stack: string): 'encoder' | 'decoder' | undefined =>
  stack.split('.').find((part) => part === 'encoder' || part === 'decoder') as
    | 'encoder'
    | 'decoder'
    | undefined;

const usualCounts = ['num_hidden_layers', 'num_layers', 'n_layer', 'n_layers', 'layers'];

const countsIn = (section: Section, stack: string): string[] => {
  const isThere = (key: string) => typeof section[key] === 'number';
  if (stack.endsWith('single_transformer_blocks')) return ['num_single_layers'].filter(isThere);
  const side = sideOf(stack);
  if (side === undefined) return usualCounts.filter(isThere);
  // By default, T5's decoder has the encoder's number of layers.
  if (stack.endsWith('decoder.block') && isThere('num_layers')) return ['num_decoder_layers'];
  const own = [`${side}_layers`, `num_${side}_layers`, `${side}_num_hidden_layers`].filter(isThere);
  if (own.length === 0) return usualCounts.filter(isThere);
  // In configurations like BART's, another key repeats the encoder's number of layers.
  const isAlias = (key: string) => section[key] === section[own[0] ?? ''] && side === 'encoder';
  return [...own, ...usualCounts.filter((key) => isThere(key) && isAlias(key))];
};

/** Returns a key's number of layers; for T5's decoder, the encoder's by default. */
export const countOf = (section: Section, key: string): unknown =>
  isGiven(section[key]) || key !== 'num_decoder_layers' ? section[key] : section['num_layers'];

/** Writes the decoder's number of layers if absent, because it would follow the encoder's. */
export const decoderCount = (section: Section, stack: string): Edits =>
  stack.endsWith('encoder.block') && !isGiven(section['num_decoder_layers'])
    ? { num_decoder_layers: section['num_layers'] }
    : {};

/** Maximum nesting of sections; `thinker_config.text_config` has two levels. */
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

export const sectionsOf = (config: Section, stack: string): readonly FoundSection[] =>
  sectionsIn(config, stack);
