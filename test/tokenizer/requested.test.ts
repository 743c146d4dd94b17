import { describe, expect, it } from 'vitest';
import { mergeVocabularies } from '../../src/core/models/tokenizer/merge-vocabularies.js';
import type { TokenizerRequest } from '../../src/core/models/tokenizer/vocabulary.js';
import { abc, added, bpe, fileOf, merged, model, request, rowsBy, unigram } from './fixtures.js';

const pad = added(3, '<pad>');

describe('strict', () => {
  it('refuses tokens, ids or rows that differ', async () => {
    const first = await model('a', 3, bpe(abc));
    for (const [other, said] of [
      [await model('b', 3, bpe(abc, [pad])), '"<pad>" 3 against absent'],
      [await model('b', 3, bpe({ a: 1, b: 0, c: 2 })), '"a" 1 against 0'],
      [await model('b', 4, bpe(abc)), 'embeddings of 4 rows against 3'],
    ] as const)
      await expect(mergeVocabularies([first, other], request('strict'))).rejects.toMatchObject({
        code: 'TOKENIZER_MISMATCH',
        message: expect.stringContaining(said),
      });
  });
});

describe('rows by their numbers', () => {
  it('are taken as they are, and tokens that differ are said', async () => {
    const models = [await model('a', 3, bpe(abc)), await model('b', 3, bpe({ a: 1, b: 0, c: 2 }))];
    const vocabulary = await merged(models, 'rows');
    expect(vocabulary).toMatchObject({
      rows: 3,
      donor: 0,
      files: [],
      models: [
        { own: [[0, 0, 3]], fills: [] },
        { own: [[0, 0, 3]], fills: [] },
      ],
    });
    expect(vocabulary.warnings).toEqual([
      'b and a number 2 tokens differently ("a" 0 against 1, …); rows are merged by their numbers',
    ]);
  });

  it('are left to the plan where models have other numbers of them', async () => {
    const models = [await model('a', 3, bpe(abc)), await model('b', 4, bpe(abc))];
    expect(await mergeVocabularies(models, request('rows'))).toBeUndefined();
  });

  it('take no further tokens', async () => {
    const models = [await model('a', 3, bpe(abc)), await model('b', 3, bpe(abc))];
    await expect(mergeVocabularies(models, request('rows', { padToMultipleOf: 8 }))).rejects.toMatchObject({
      code: 'INVALID_PARAMETER',
    });
  });
});

describe('the union', () => {
  it('numbers tokens as the base does, then those of other vocabularies by id, then added ones', async () => {
    const models = [
      await model('a', 5, bpe({ z: 0, b: 1, y: 2 }, [added(3, '<x>'), added(4, 'c', { rstrip: true })])),
      await model('b', 4, bpe(abc, [pad])),
    ];
    const vocabulary = await merged(models, 'union', { base: 1 });
    expect(fileOf(vocabulary, 'tokenizer.json')['added_tokens']).toEqual([
      added(2, 'c', { rstrip: true }),
      pad,
      added(4, 'z', { special: false, normalized: true }),
      added(5, 'y', { special: false, normalized: true }),
      added(6, '<x>'),
    ]);
    expect(vocabulary).toMatchObject({ rows: 7, donor: 1 });
    expect(rowsBy(vocabulary)).toEqual([
      [[100], [1], [4], [103], [0], [2], [3]],
      [[100], [101], [102], [103], [0], [2], [3]],
    ]);
  });

  it('has as many rows as tokens, whatever the models have', async () => {
    const models = [await model('a', 8, bpe(abc)), await model('b', 8, bpe(abc))];
    expect(await merged(models, 'union')).toMatchObject({
      rows: 3,
      files: [],
      models: [{ own: [[0, 0, 3]] }, { own: [[0, 0, 3]] }],
    });
  });

  it('takes another kind of tokenizer, whose tokens are added', async () => {
    const models = [await model('a', 3, bpe(abc)), await model('b', 2, unigram(['a', 'é']))];
    const vocabulary = await merged(models, 'union');
    expect(rowsBy(vocabulary)).toEqual([
      [[0], [1], [2], [101]],
      [[100], [1], [2], [101]],
    ]);
  });

  it('leaves out tokens of the base without a row, and merges that make or take them', async () => {
    const vocab = { ...abc, ab: 3, abc: 4 };
    const merges = ['a b', ['ab', 'c']];
    const models = [
      await model('a', 4, bpe(vocab, [added(5, '<x>')], merges)),
      await model('b', 3, bpe(abc)),
    ];
    const vocabulary = await merged(models, 'union');
    expect(fileOf(vocabulary, 'tokenizer.json')).toMatchObject({
      added_tokens: [],
      model: { vocab: { ...abc, ab: 3 }, merges: ['a b'] },
    });
    expect(vocabulary.warnings).toContain(
      'a has 4 rows, and none for 2 tokens ("abc", "<x>"): left out of its tokenizer',
    );
  });

  it('leaves them out of GPT-2’s files too', async () => {
    const files = {
      'vocab.json': JSON.stringify({ ...abc, ab: 3, abc: 4 }),
      'merges.txt': '#version: 0.2\na b\nab c\n',
    };
    const models = [await model('a', 4, files), await model('b', 3, bpe(abc))];
    expect((await merged(models, 'base')).files).toEqual([
      { name: 'vocab.json', text: '{"a":0,"b":1,"c":2,"ab":3}' },
      { name: 'merges.txt', text: '#version: 0.2\na b\n' },
      { name: 'added_tokens.json', text: '{}\n' },
    ]);
  });

  it('says which tokens of other models have no row', async () => {
    const models = [await model('a', 3, bpe(abc)), await model('b', 3, bpe(abc, [pad]))];
    const vocabulary = await merged(models, 'union');
    expect(vocabulary).toMatchObject({ rows: 3, files: [], models: [{ own: [[0, 0, 3]] }, {}] });
    expect(vocabulary.warnings).toEqual(['b has 3 rows, and none for 1 token ("<pad>")']);
  });

  it('keeps special tokens without a row, which transformers would add again', async () => {
    const files = {
      'tokenizer.json': unigram(['a', 'b']),
      'tokenizer_config.json': JSON.stringify({ pad_token: '<pad>' }),
    };
    const models = [await model('a', 2, files), await model('b', 3, unigram(['a', 'b'], [added(2, '<x>')]))];
    const vocabulary = await merged(models, 'union');
    expect(fileOf(vocabulary, 'tokenizer.json')['added_tokens']).toEqual([
      added(2, '<pad>'),
      added(3, '<x>'),
    ]);
    expect(rowsBy(vocabulary)[0]).toEqual([[0], [1], [], [102]]);
    expect(vocabulary.warnings).toContain('no model has rows for 1 token ("<pad>"): they are 0');
  });

  it('is refused where tokens of a base that is not BPE have no row', async () => {
    const models = [await model('a', 2, unigram(['a', 'b', 'c'])), await model('b', 3, bpe(abc))];
    await expect(mergeVocabularies(models, request('union'))).rejects.toMatchObject({
      code: 'TOKENIZER_UNSUPPORTED',
      message: expect.stringContaining('1 token ("c")'),
    });
  });

  it('is refused where new ids would be those of other tokens', async () => {
    const models = [
      await model('a', 5, bpe({ a: 0, b: 1, c: 4 })),
      await model('b', 5, bpe(abc, [pad, added(4, '<x>')])),
    ];
    await expect(mergeVocabularies(models, request('union'))).rejects.toMatchObject({
      code: 'TOKENIZER_UNSUPPORTED',
      message: expect.stringContaining('1 token ("<x>") would get the ids of other tokens'),
    });
  });
});

describe('the vocabulary of one model', () => {
  it('is the base’s', async () => {
    const models = [await model('a', 4, bpe(abc, [pad])), await model('b', 3, bpe({ c: 0, b: 1, x: 2 }))];
    const vocabulary = await merged(models, 'base', { base: 1 });
    expect(vocabulary).toMatchObject({ rows: 3, donor: 1, files: [] });
    expect(rowsBy(vocabulary)).toEqual([
      [[2], [1], [102]],
      [[100], [101], [102]],
    ]);
  });

  it('is any model’s', async () => {
    const models = [await model('a', 3, bpe(abc)), await model('b', 4, bpe(abc, [pad]))];
    expect(await merged(models, 1)).toMatchObject({ rows: 4, donor: 1, files: [] });
  });
});

describe('rules for tokens', () => {
  const ask = async (tokens: [string, { source?: unknown; force?: boolean }][], more = {}) =>
    merged([await model('a', 3, bpe(abc)), await model('b', 4, bpe(abc, [pad]))], 'union', {
      tokens: new Map(
        tokens.map(([token, rule]) => [token, { force: false, ...rule }]),
      ) as TokenizerRequest['tokens'],
      ...more,
    });

  it('say where a token that a model lacks comes from', async () => {
    const zero = await ask([['<pad>', { source: { kind: 'zero' } }]]);
    expect(rowsBy(zero).map((rows) => rows[3])).toEqual([[], [103]]);
    const other = await ask([['<pad>', { source: { kind: 'token', model: 0, token: 'b' } }]]);
    expect(rowsBy(other).map((rows) => rows[3])).toEqual([[1], [103]]);
  });

  it('hold for models that have the token where they are forced', async () => {
    const zero = await ask([['<pad>', { source: { kind: 'zero' }, force: true }]]);
    expect(rowsBy(zero).map((rows) => rows[3])).toEqual([[], []]);
    const same = await ask([['b', { source: { kind: 'model', model: 1 }, force: true }]]);
    expect(rowsBy(same).map((rows) => rows[1])).toEqual([[101], [101]]);
  });

  it('add tokens that no model has', async () => {
    const vocabulary = await ask([
      ['<new>', { source: { kind: 'token', model: 1, token: 2 } }],
      ['<zero>', {}],
    ]);
    expect(rowsBy(vocabulary)[0]?.slice(4)).toEqual([[102], []]);
    expect(fileOf(vocabulary, 'tokenizer.json')['added_tokens']).toEqual([
      pad,
      added(4, '<new>', { special: false, normalized: true }),
      added(5, '<zero>', { special: false, normalized: true }),
    ]);
  });

  it.each([
    [{ kind: 'model', model: 0 }, 'a token that has a row in the model’s embeddings, got "<pad> of a"'],
    [{ kind: 'token', model: 0, token: '<none>' }, 'got "<none> of a"'],
    [{ kind: 'token', model: 0, token: 3 }, 'expected an id below 3, got "3 of a"'],
  ])('are refused where the model has no such row: %j', async (source, said) => {
    await expect(ask([['<pad>', { source }]])).rejects.toMatchObject({
      code: 'INVALID_PARAMETER',
      message: expect.stringMatching(`^the source of token "<pad>": .*${said}$`),
    });
  });

  it('leave room for a multiple of rows', async () => {
    expect(await ask([], { padToMultipleOf: 64 })).toMatchObject({ rows: 64, padFrom: 4 });
  });
});
