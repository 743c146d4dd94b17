import { LayerloomError } from '../../base/errors.js';
import { itemAt } from '../../base/lookup.js';
import type { CheckpointIndex } from '../../checkpoint/checkpoint.js';
import { expertNamesOf, nameInFiles } from '../experts/family.js';
import type { Adapter } from './adapter.js';
import { hasParameter } from './experts.js';
import { embeddingOf, headOf, isTied } from './tied.js';

/**
 * Ways in which the names of a model as it was trained differ from those of its files, as versions of transformers
 * have moved the language model of a larger one, or leave out the prefix of the base model.
 */
const spellings: readonly ((name: string) => string)[] = [
  (name) => name,
  (name) => name.replace(/^transformer\./, ''),
  (name) => name.replace(/^(?=(h|wte|wpe|ln_f)\.)/, 'transformer.'),
  (name) => name.replace(/^model\.(?!language_model\.)/, 'model.language_model.'),
  (name) =>
    name
      .replace(/^model\.(?!language_model\.)/, 'language_model.model.')
      .replace(/^lm_head\./, 'language_model.lm_head.'),
  (name) =>
    name
      .replace(/^model\.language_model\./, 'language_model.model.')
      .replace(/^lm_head\./, 'language_model.lm_head.'),
  (name) => name.replace(/^model\.language_model\./, 'model.'),
  (name) =>
    name
      .replace(/^language_model\.model\./, 'model.language_model.')
      .replace(/^language_model\.lm_head\./, 'lm_head.'),
  (name) => name.replace(/^language_model\./, ''),
  (name) => name.replace(/^model\./, ''),
];

/**
 * Returns an adapter with its parameters named as the base's files name them: in the first spelling in which the base
 * has all of them, else in its own. Refuses low-rank changes of embeddings that are tied to the head.
 *
 * @throws LayerloomError ADAPTER_UNSUPPORTED
 */
export const asInBase = (base: CheckpointIndex, adapter: Adapter): Adapter => {
  const { pairs, replaced, added } = adapter;
  const head = headOf(base);
  const names = [...pairs.keys(), ...replaced.keys(), ...added.keys()];
  const isHere = (name: string) => hasParameter(base, name) || name === head;
  const ofExperts = expertNamesOf(base);
  const inFiles = (name: string) => nameInFiles(ofExperts, name);
  const spelling =
    [...spellings, ...spellings.map((spell) => (name: string) => inFiles(spell(name)))].find((spell) =>
      names.every((name) => isHere(spell(name))),
    ) ?? ((name) => name);
  const renamed = <V>(map: ReadonlyMap<string, V>): Map<string, V> =>
    new Map([...map].map(([name, value]) => [spelling(name), value]));
  const found = { ...adapter, pairs: renamed(pairs), replaced: renamed(replaced), added: renamed(added) };
  const tied = isTied(base)
    ? [embeddingOf(base), head].find((name) => found.pairs.has(name ?? ''))
    : undefined;
  if (tied !== undefined)
    throw new LayerloomError('ADAPTER_UNSUPPORTED', {
      file: itemAt(adapter.checkpoint.files, 0).path,
      what: `LoRA on ${tied}`,
      reason: `changes one of the two uses of ${base.path}'s tied embeddings`,
      remedy: 'untie the base first (tie_word_embeddings: false, lm_head.weight written), and give that',
    });
  return found;
};
