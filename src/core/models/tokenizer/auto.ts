import { LayerloomError } from '../../base/errors/errors.js';
import { itemAt } from '../../base/errors/lookup.js';
import { optionName } from '../../base/errors/option-name.js';
import type { ModelTokens } from './files/tokenizer.js';
import { quote } from './files/words.js';
import { type OutputTokens, plainTokensWithout, uniteTokens } from './unite.js';

const remedy = () =>
  `Give ${optionName('tokenizer', 'union')}, \`base\` or a model to say whose vocabulary the output has, or merge experts of one tokenizer`;

/**
 * Returns the union of compatible vocabularies. Shared tokens must have equal ids, and one model's
 * vocabulary, without added tokens, must contain all others. Otherwise tokens that BPE merges form would
 * become added tokens, which also match inside words.
 *
 * @param reference the model whose ids are preferred
 * @throws TOKENIZER_MISMATCH, TOKENIZER_UNSUPPORTED
 */
export const autoTokens = (
  models: readonly ModelTokens[],
  reference: number,
  wanted: Iterable<string>,
): { readonly donor: number; readonly tokens: OutputTokens } => {
  checkSharedIds(models);
  const candidates = [reference, ...models.keys()];
  const donor = candidates.find((model) => plainTokensWithout(models, model).size === 0);
  if (donor === undefined) {
    const first = itemAt(models, reference);
    const lacking = plainTokensWithout(models, reference);
    const other = models.find(({ tokenizer }) =>
      [...lacking].some((token) => tokenizer.vocabulary.has(token)),
    );
    throw new LayerloomError('TOKENIZER_MISMATCH', {
      first: first.path,
      other: (other ?? first).path,
      tokens: [...lacking].map(
        (token) => `${quote(token)} ${other?.tokenizer.ids.get(token) ?? 'elsewhere'} against absent`,
      ),
      remedy: remedy(),
    });
  }
  return { donor, tokens: uniteTokens(models, donor, wanted) };
};

/** @throws TOKENIZER_MISMATCH if a token with rows in two models has two ids */
const checkSharedIds = (models: readonly ModelTokens[]): void => {
  for (const [index, other] of models.entries())
    for (const first of models.slice(0, index)) {
      if (first.tokenizer === other.tokenizer) continue;
      const [a, b] = [first.tokenizer, other.tokenizer];
      const tokens = a.algorithm === b.algorithm ? [] : [`${b.algorithm} against ${a.algorithm}`];
      const compare = (id: number, token: string): void => {
        const known = a.ids.get(token);
        if (known !== undefined && known !== id && known < first.rows && id < other.rows)
          tokens.push(`${quote(token)} ${id} against ${known}`);
      };
      if (a.vocabulary === b.vocabulary) for (const { id, token } of b.added) compare(id, token.content);
      else b.ids.forEach(compare);
      if (tokens.length > 0)
        throw new LayerloomError('TOKENIZER_MISMATCH', {
          first: first.path,
          other: other.path,
          tokens,
          remedy: remedy(),
        });
    }
};
