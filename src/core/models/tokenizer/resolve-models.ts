import { LayerloomError } from '../../base/errors/errors.js';
import { itemAt } from '../../base/errors/lookup.js';
import type { CheckpointIndex } from '../checkpoint/checkpoint.js';
import type { TokenizerFiles, TokenizerReader } from './files/read-tokenizer.js';
import type { ModelTokens, Tokenizer } from './files/tokenizer.js';

export interface VocabularyModel {
  readonly checkpoint: CheckpointIndex;
  readonly rows: number;
}

/**
 * Reads the models' tokenizers, equal files once. A model without a tokenizer is assumed to have the tokenizer of
 * `models[options.reference]`, if it has as many rows.
 *
 * @param options.assumes also assume this for models without a text tokenizer
 * @throws TOKENIZER_UNSUPPORTED, READ_FAILED, CONFIG_INVALID
 */
export const resolveModels = async (
  models: readonly VocabularyModel[],
  { reference, assumes }: { readonly reference: number; readonly assumes: boolean },
  tokenizers: TokenizerReader,
): Promise<{ readonly models: readonly ModelTokens[]; readonly warnings: readonly string[] }> => {
  const first = itemAt(models, reference);
  const warnings: string[] = [];
  const byHash = new Map<string, Tokenizer>();
  const read = async (checkpoint: CheckpointIndex, found: TokenizerFiles): Promise<Tokenizer> => {
    const tokenizer = byHash.get(found.hash) ?? (await tokenizers.read(checkpoint, found));
    byHash.set(found.hash, tokenizer);
    return tokenizer;
  };
  const files = await tokenizers.filesOf(first.checkpoint);
  if (files === undefined) throw withoutTokenizer(first.checkpoint.path);
  const assumed = await read(first.checkpoint, files);
  const resolved: ModelTokens[] = [];
  for (const { checkpoint, rows } of models) {
    const { name, path } = checkpoint;
    const found = await tokenizers.filesOf(checkpoint);
    const isAssumed =
      found === undefined || (found.form === 'tokenizer.model' && assumes && rows === first.rows);
    if (isAssumed) {
      if (rows !== first.rows)
        throw without(
          path,
          `and its embeddings have ${rows} rows against ${first.rows} of ${first.checkpoint.path}`,
        );
      warnings.push(
        `${name} has no ${found === undefined ? 'tokenizer files' : 'tokenizer.json'}: its tokens are taken to be those of ${first.checkpoint.name}`,
      );
    }
    resolved.push({ name, path, rows, tokenizer: isAssumed ? assumed : await read(checkpoint, found) });
  }
  return { models: resolved, warnings };
};

const without = (directory: string, reason: string): LayerloomError =>
  new LayerloomError('TOKENIZER_UNSUPPORTED', {
    directory,
    reason: `has no tokenizer files, ${reason}; put its tokenizer.json beside the weights`,
  });

export const withoutTokenizer = (directory: string): LayerloomError =>
  without(directory, 'to make the output’s tokenizer from');
