import { LayerloomError } from '../../base/errors/errors.js';
import { itemAt } from '../../base/errors/lookup.js';
import { byCanonicalName, canonicalName, prefixOf } from '../architecture/canonical-names.js';
import { embeddingOf, headOf, isAlwaysTied, isTied } from '../architecture/ties.js';
import type { CheckpointIndex } from '../checkpoint/checkpoint.js';
import { expertNamesOf, nameInFiles } from '../experts/family.js';
import type { Adapter } from './adapter.js';
import { hasParameter } from './experts.js';
import type { ParameterChange } from './kinds/tuner.js';

/**
 * Returns an adapter with parameters named as in the base's files; unknown ones keep their names. Refuses
 * changes of tied embeddings that cannot be untied.
 *
 * @throws ADAPTER_UNSUPPORTED
 */
export const asInBase = (base: CheckpointIndex, adapter: Adapter): Adapter => {
  const { pairs, changes, replaced, added } = adapter;
  const head = headOf(base);
  const spell = spellingIn(base, (name) => hasParameter(base, name) || name === head);
  const renamed = <V>(map: ReadonlyMap<string, V>): Map<string, V> =>
    new Map([...map].map(([name, value]) => [spell(name), value]));
  const found = {
    ...adapter,
    pairs: renamed(pairs),
    changes: renamed(changes),
    replaced: renamed(replaced),
    added: renamed(added),
  };
  if (isTied(base)) dropTwins(found, embeddingOf(base) ?? '', head);
  const isOneUse = (name = ''): boolean => {
    const change = found.changes.get(name);
    const isPair =
      found.pairs.has(name) && (isAlwaysTied(base.config) || (adapter.config.keepsTie && name === head));
    return isPair || (change !== undefined && (change.tied === undefined || name === head));
  };
  const tied = isTied(base) ? [embeddingOf(base), head].find(isOneUse) : undefined;
  if (tied !== undefined)
    throw new LayerloomError('ADAPTER_UNSUPPORTED', {
      file: itemAt(adapter.checkpoint.files, 0).path,
      what: `${adapter.config.title} on ${tied}`,
      reason: `changes one of the two uses of ${base.path}'s tied embeddings`,
      remedy: 'untie the base first (tie_word_embeddings: false, lm_head.weight written), and give that',
    });
  return found;
};

interface RenamedAdapter {
  readonly config: Adapter['config'];
  readonly pairs: Map<string, unknown>;
  readonly changes: Map<string, ParameterChange>;
  readonly replaced: Map<string, unknown>;
}

/** Removes a tied head's changes that the file repeats: PEFT applies the embeddings' changes to both tensors. */
const dropTwins = (
  { config, pairs, changes, replaced }: RenamedAdapter,
  embedding: string,
  head: string,
): void => {
  const tokens = changes.get(head)?.tied;
  if (tokens !== undefined && tokens === changes.get(embedding)?.tied) changes.delete(head);
  for (const map of config.keepsTie ? [pairs, replaced] : []) if (map.has(embedding)) map.delete(head);
};

/** Returns a function from a parameter's name in any transformers version to the base's name. */
const spellingIn = (base: CheckpointIndex, isHere: (name: string) => boolean): ((name: string) => string) => {
  const known = byCanonicalName(base.tensors.keys());
  // Prefixes before canonical names, such as `model.language_model.`.
  const prefixes = new Set([...known].flatMap(([plain, name]) => prefixOf(name, plain) ?? []));
  const ofExperts = expertNamesOf(base);
  return (name) => {
    const plain = canonicalName(name);
    const spellings = [name, known.get(plain) ?? name, ...[...prefixes].map((prefix) => prefix + plain)];
    const inFiles = spellings.map((spelt) => nameInFiles(ofExperts, spelt));
    return [...spellings, ...inFiles].find(isHere) ?? name;
  };
};
