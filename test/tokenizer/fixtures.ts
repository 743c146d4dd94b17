import { join } from 'node:path';
import { openModel as openCheckpoint } from '../../src/core/models/reading/read-model.js';
import {
  mergeVocabularies,
  type VocabularyModel,
} from '../../src/core/models/tokenizer/merge-vocabularies.js';
import type { MergedVocabulary, TokenizerRequest } from '../../src/core/models/tokenizer/vocabulary.js';
import { fill, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';

export const added = (id: number, content: string, settings: Record<string, boolean> = {}) => ({
  id,
  content,
  single_word: false,
  lstrip: false,
  rstrip: false,
  normalized: false,
  special: true,
  ...settings,
});

export const abc = { a: 0, b: 1, c: 2 };

export const bpe = (
  vocab: Readonly<Record<string, number>>,
  tokens: readonly object[] = [],
  merges: readonly unknown[] = [],
): string =>
  JSON.stringify(
    { version: '1.0', added_tokens: tokens, normalizer: null, model: { type: 'BPE', vocab, merges } },
    null,
    2,
  );

export const unigram = (tokens: readonly string[], more: readonly object[] = []): string =>
  JSON.stringify({
    version: '1.0',
    added_tokens: more,
    model: { type: 'Unigram', unk_id: 0, vocab: tokens.map((token) => [token, -1.5]) },
  });

export const model = async (
  name: string,
  rows: number,
  files: string | Readonly<Record<string, string>>,
): Promise<VocabularyModel> => {
  const directory = writeCheckpoint(join(temporaryDirectory(), name), {
    tensors: fill({ 'model.embed_tokens.weight': [rows, 1] }, 'F32', 1),
    files: typeof files === 'string' ? { 'tokenizer.json': files } : files,
  });
  return { checkpoint: await openCheckpoint(directory), rows };
};

export const request = (
  source: TokenizerRequest['source'],
  more: Partial<TokenizerRequest> = {},
): TokenizerRequest => ({ source, base: undefined, tokens: new Map(), ...more });

export const merged = async (
  models: readonly VocabularyModel[],
  source: TokenizerRequest['source'],
  more: Partial<TokenizerRequest> = {},
): Promise<MergedVocabulary> => {
  const vocabulary = await mergeVocabularies(models, request(source, more));
  if (vocabulary === undefined) throw new Error('nothing to rebuild');
  return vocabulary;
};

/** The rows of each model as numbers `100 * model + row`; several for a mean, and none for a row of zeros. */
export const rowsBy = ({ rows, models }: MergedVocabulary): number[][][] =>
  models.map(({ own, fills }, index) => {
    const result: number[][] = Array.from({ length: rows }, () => []);
    for (const [to, from, count] of own)
      for (let row = 0; row < count; row++) result[to + row]?.push(100 * index + from + row);
    for (const { from } of fills)
      for (const { model: other, runs } of from)
        for (const [to, begin, count] of runs)
          for (let row = 0; row < count; row++) result[to + row]?.push(100 * other + begin + row);
    return result;
  });

/** A file that a merge rewrites, parsed. */
export const fileOf = ({ files }: MergedVocabulary, name: string): Record<string, unknown> => {
  const file = files.find((one) => one.name === name);
  if (file === undefined) throw new Error(`${name} is not written`);
  return JSON.parse(file.text) as Record<string, unknown>;
};
