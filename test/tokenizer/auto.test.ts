import { describe, expect, it } from 'vitest';
import { mergeVocabularies } from '../../src/core/models/tokenizer/merge-vocabularies.js';
import { abc, added, bpe, fileOf, merged, model, request, rowsBy, unigram } from './fixtures.js';

const pad = added(3, '<pad>');

describe('vocabularies by default', () => {
  it('are left alone, and not parsed, where files and rows are equal', async () => {
    const models = [await model('a', 3, 'no JSON'), await model('b', 3, 'no JSON')];
    expect(await mergeVocabularies(models, request('auto'))).toBeUndefined();
    expect(await mergeVocabularies(models, request('strict'))).toBeUndefined();
    expect(await mergeVocabularies(models, request('rows'))).toBeUndefined();
  });

  it('are not parsed where models differ in the use of their tokens', async () => {
    const files = (token: string) => ({
      'tokenizer.json': '"<a>" "<b>" no JSON',
      'tokenizer_config.json': JSON.stringify({ pad_token: token }),
    });
    const models = [await model('a', 3, files('<a>')), await model('b', 3, files('<b>'))];
    expect(await mergeVocabularies(models, request('auto'))).toBeUndefined();
  });

  it('are left alone where files differ and tokens do not', async () => {
    const models = [await model('a', 3, bpe(abc)), await model('b', 3, `${bpe(abc)}\n`)];
    expect(await mergeVocabularies(models, request('auto'))).toBeUndefined();
  });

  it('gain a token that one model has added, with the row of that model', async () => {
    const models = [await model('a', 3, bpe(abc)), await model('b', 4, bpe(abc, [pad]))];
    const vocabulary = await merged(models, 'auto');
    expect(vocabulary).toMatchObject({ rows: 4, padFrom: 4, donor: 0 });
    expect(rowsBy(vocabulary)).toEqual([
      [[0], [1], [2], [103]],
      [[100], [101], [102], [103]],
    ]);
    expect(vocabulary.models[0]?.own).toEqual([[0, 0, 3]]);
    expect(fileOf(vocabulary, 'tokenizer.json')).toMatchObject({ added_tokens: [pad], version: '1.0' });
    expect(vocabulary.warnings).toEqual([
      'the output’s embeddings have 4 rows (3 in a, 4 in b)',
      'a lacks 1 token that b has ("<pad>"): its row comes from b',
    ]);
  });

  it('name a base that is merged too once', async () => {
    const [a, b] = [await model('a', 3, bpe(abc)), await model('b', 4, bpe(abc, [pad]))];
    expect((await merged([a, b, a], 'auto', { base: 2 })).warnings).toEqual([
      'the output’s embeddings have 4 rows (3 in a, 4 in b)',
      'a lacks 1 token that b has ("<pad>"): its row comes from b',
    ]);
  });

  it('take the mean of those that have a token, or the base’s row', async () => {
    const models = [
      await model('a', 4, bpe(abc, [pad])),
      await model('b', 4, bpe(abc, [pad])),
      await model('c', 3, bpe(abc)),
    ];
    const mean = await merged(models, 'auto');
    expect(rowsBy(mean)[2]?.[3]).toEqual([3, 103]);
    expect(mean.warnings).toContain(
      'c lacks 1 token that a and b have ("<pad>"): its row is the mean of theirs',
    );
    expect(rowsBy(await merged(models, 'auto', { base: 1 }))[2]?.[3]).toEqual([103]);
    expect(rowsBy(await merged(models, 'auto', { base: 2 }))[2]?.[3]).toEqual([3, 103]);
  });

  it('give a new id to the second of two tokens that were added under one', async () => {
    const models = [
      await model('a', 4, bpe(abc, [pad])),
      await model('b', 4, bpe(abc, [added(3, '<think>')])),
    ];
    const vocabulary = await merged(models, 'auto');
    expect(rowsBy(vocabulary)).toEqual([
      [[0], [1], [2], [3], [103]],
      [[100], [101], [102], [3], [103]],
    ]);
    expect(vocabulary.warnings).toContain('1 token ("<think>") of b has another id in the output');
  });

  it('have as many rows as the largest model, those without a token its own', async () => {
    const models = [await model('a', 8, bpe(abc, [pad])), await model('b', 6, bpe(abc, []))];
    expect(rowsBy(await merged(models, 'auto'))).toEqual([
      [[0], [1], [2], [3], [4], [5], [6], [7]],
      [[100], [101], [102], [3], [104], [105], [6], [7]],
    ]);
  });

  it('move the rows of added tokens along with their ids, and pad behind them', async () => {
    const models = [await model('a', 8, bpe(abc)), await model('b', 5, bpe(abc, [pad, added(4, '<x>')]))];
    // The union gives ids 3 and 4 to <pad> and <x>; if the first model has a token of its own, b's ids move
    // by one.
    const first = await model('a', 8, bpe(abc, [added(3, '<a>')]));
    expect(rowsBy(await merged(models, 'auto'))[1]?.slice(3, 6)).toEqual([[103], [104], [5]]);
    expect(rowsBy(await merged([first, ...models.slice(1)], 'auto'))[1]?.slice(3)).toEqual([
      [3],
      [103],
      [104],
      [6],
      [7],
    ]);
  });

  it('do not count tokens of a model for which its embeddings have no row', async () => {
    const models = [await model('a', 3, bpe(abc, [pad])), await model('b', 4, bpe({ ...abc, d: 3 }))];
    const vocabulary = await merged(models, 'auto');
    expect(vocabulary).toMatchObject({ rows: 4, donor: 1, files: [] });
    expect(rowsBy(vocabulary)[0]).toEqual([[0], [1], [2], [103]]);
  });

  it('keep the tokenizer of the model whose merges make all tokens', async () => {
    const models = [
      await model('a', 4, bpe(abc, [pad])),
      await model('b', 4, bpe({ ...abc, ab: 3 }, [], ['a b'])),
    ];
    const vocabulary = await merged(models, 'auto');
    expect(vocabulary).toMatchObject({ rows: 5, donor: 1 });
    expect(rowsBy(vocabulary)).toEqual([
      [[0], [1], [2], [103], [3]],
      [[100], [101], [102], [103], [3]],
    ]);
  });

  it('are refused where each has merges that the other lacks, naming the tokens', async () => {
    const models = [await model('a', 4, bpe({ ...abc, ab: 3 })), await model('b', 4, bpe({ ...abc, bc: 3 }))];
    await expect(mergeVocabularies(models, request('auto'))).rejects.toMatchObject({
      code: 'TOKENIZER_MISMATCH',
      message: expect.stringMatching(/"bc" 3 against absent.*`tokenizer: 'union'`/),
    });
  });

  it('are refused where a shared token has two ids, naming both', async () => {
    const models = [await model('a', 3, bpe(abc)), await model('b', 3, bpe({ a: 0, b: 2, c: 1 }))];
    await expect(mergeVocabularies(models, request('auto'))).rejects.toMatchObject({
      code: 'TOKENIZER_MISMATCH',
      message: expect.stringMatching(/"b" 2 against 1, "c" 1 against 2\. Give `tokenizer: 'union'`/),
    });
  });

  it('are refused where tokenizers are of two kinds', async () => {
    const models = [await model('a', 3, bpe(abc)), await model('b', 3, unigram(['a', 'b', 'c']))];
    await expect(mergeVocabularies(models, request('auto'))).rejects.toMatchObject({
      message: expect.stringContaining('Unigram against BPE'),
    });
  });

  it('keep the settings of the first model that has a token, and say that others differ', async () => {
    const models = [
      await model('a', 4, bpe(abc, [pad])),
      await model('b', 4, bpe(abc, [added(3, '<pad>', { lstrip: true })])),
    ];
    const vocabulary = await merged(models, 'auto');
    expect(vocabulary.files).toEqual([]);
    expect(vocabulary.warnings).toEqual([
      'models have other settings for 1 token ("<pad>"); those of the first that has the token are kept',
    ]);
  });
});

describe('a model without a tokenizer', () => {
  it('is taken to have the first’s tokens if it has as many rows', async () => {
    const models = [
      await model('a', 3, bpe(abc)),
      await model('b', 3, {}),
      await model('c', 4, bpe(abc, [pad])),
    ];
    const vocabulary = await merged(models, 'auto');
    expect(rowsBy(vocabulary)[1]).toEqual([[100], [101], [102], [203]]);
    expect(vocabulary.warnings).toContain('b has no tokenizer files: its tokens are taken to be those of a');
  });

  it('is refused if it has other rows', async () => {
    const models = [await model('a', 3, bpe(abc)), await model('b', 4, {})];
    await expect(mergeVocabularies(models, request('auto'))).rejects.toMatchObject({
      code: 'TOKENIZER_UNSUPPORTED',
      message: expect.stringMatching(/\/b: has no tokenizer files, and its embeddings have 4 rows against 3/),
    });
  });

  it('is refused as the one whose vocabulary the output is to have', async () => {
    const models = [await model('a', 3, bpe(abc)), await model('b', 3, {})];
    for (const asked of [request(1), request('base', { base: 1 })])
      await expect(mergeVocabularies(models, asked)).rejects.toMatchObject({
        code: 'TOKENIZER_UNSUPPORTED',
      });
  });
});

describe('a SentencePiece file alone', () => {
  const spm = { 'tokenizer.model': 'binary' };

  it('is enough where all models have the same and as many rows', async () => {
    const models = [await model('a', 3, spm), await model('b', 3, spm)];
    expect(await mergeVocabularies(models, request('auto'))).toBeUndefined();
    expect(await mergeVocabularies(models, request('union'))).toBeUndefined();
  });

  it('is refused where models differ, with the way to a tokenizer.json', async () => {
    const other = { 'tokenizer.model': 'other' };
    for (const models of [
      [await model('a', 3, spm), await model('b', 3, other)],
      [await model('a', 3, spm), await model('b', 4, spm)],
      [await model('a', 3, bpe(abc)), await model('b', 4, spm)],
    ])
      await expect(mergeVocabularies(models, request('auto'))).rejects.toMatchObject({
        code: 'TOKENIZER_UNSUPPORTED',
        message: expect.stringContaining('save_pretrained'),
      });
  });
});
