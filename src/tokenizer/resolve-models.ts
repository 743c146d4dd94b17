import type { CheckpointIndex } from '../checkpoint/checkpoint.js';
import { LayerloomError } from '../errors.js';
import { itemAt } from '../lookup.js';
import { readTokenizer, type TokenizerFiles, tokenizerFilesOf } from './read-tokenizer.js';
import type { ModelTokens, Tokenizer } from './tokenizer.js';

/** A model of a merge whose vocabularies may differ. */
export interface VocabularyModel {
  readonly checkpoint: CheckpointIndex;
  /** Rows of its embeddings. */
  readonly rows: number;
}

/**
 * Reads the tokenizers of models, equal ones once. A model without one that can be read is taken to have the
 * one of `models[reference]`, if it has as many rows.
 *
 * @throws LayerloomError TOKENIZER_UNSUPPORTED, READ_FAILED, CONFIG_INVALID
 */
export const resolveModels = async (
  models: readonly VocabularyModel[],
  reference: number,
): Promise<{ readonly models: readonly ModelTokens[]; readonly warnings: readonly string[] }> => {
  const first = itemAt(models, reference);
  const warnings: string[] = [];
  const byHash = new Map<string, Tokenizer>();
  const read = async (checkpoint: CheckpointIndex, found: TokenizerFiles): Promise<Tokenizer> => {
    const tokenizer = byHash.get(found.hash) ?? (await readTokenizer(checkpoint, found));
    byHash.set(found.hash, tokenizer);
    return tokenizer;
  };
  const files = await tokenizerFilesOf(first.checkpoint);
  if (files === undefined) throw without(first.checkpoint.path, 'and the output’s is to be made of it');
  const assumed = await read(first.checkpoint, files);
  const resolved: ModelTokens[] = [];
  for (const { checkpoint, rows } of models) {
    const { name, path } = checkpoint;
    const found = await tokenizerFilesOf(checkpoint);
    const isReadable = found !== undefined && (found.form !== 'tokenizer.model' || rows !== first.rows);
    if (!isReadable) {
      if (rows !== first.rows)
        throw without(
          path,
          `and ${rows} rows of embeddings against ${first.rows} of ${first.checkpoint.path}`,
        );
      warnings.push(
        `${name} has no ${found === undefined ? 'tokenizer files' : 'tokenizer.json'}: its tokens are taken to be those of ${first.checkpoint.name}`,
      );
    }
    resolved.push({ name, path, rows, tokenizer: isReadable ? await read(checkpoint, found) : assumed });
  }
  return { models: resolved, warnings };
};

const without = (directory: string, reason: string): LayerloomError =>
  new LayerloomError('TOKENIZER_UNSUPPORTED', {
    directory,
    reason: `has no tokenizer files, ${reason}; put its tokenizer.json beside the weights`,
  });
