import { describe, expect, it } from 'vitest';
import { TokenizerReader } from '../../src/core/models/tokenizer/files/read-tokenizer.js';
import { abc, added, bpe, fileOf, merged, model, unigram } from './fixtures.js';

const ids = async (files: string | Readonly<Record<string, string>>) =>
  Object.fromEntries(await new TokenizerReader().idsOf((await model('a', 1, files)).checkpoint));

describe('tokens are read', () => {
  it('of BPE, and of Unigram in the order of its list', async () => {
    expect(await ids(bpe(abc))).toEqual(abc);
    expect(await ids(unigram(['<unk>', 'a'], [added(2, '<x>')]))).toEqual({ '<unk>': 0, a: 1, '<x>': 2 });
  });

  it('with ids of added tokens as the tokenizers library gives them, by their order', async () => {
    expect(await ids(bpe(abc, [added(7, '<x>'), added(2, 'c'), added(5, '<y>')]))).toEqual({
      ...abc,
      '<x>': 3,
      '<y>': 4,
    });
  });

  it('of GPT-2’s files', async () => {
    const files = { 'vocab.json': JSON.stringify(abc), 'added_tokens.json': '{"<y>": 4, "<x>": 3}' };
    expect(await ids(files)).toEqual({ ...abc, '<x>': 3, '<y>': 4 });
  });

  it('with those that transformers adds', async () => {
    const config = {
      added_tokens_decoder: { 4: added(4, '<y>'), 3: added(3, '<x>') },
      pad_token: { content: '<pad>' },
      additional_special_tokens: ['<x>', '<more>'],
    };
    const files = { 'tokenizer.json': bpe(abc), 'tokenizer_config.json': JSON.stringify(config) };
    expect(await ids(files)).toEqual({ ...abc, '<x>': 3, '<y>': 4, '<pad>': 5, '<more>': 6 });
  });

  it('by any name that JSON takes', async () => {
    expect(await ids('{"model": {"vocab": {"__proto__": 0, "1": 1}}}')).toEqual(
      Object.fromEntries([
        ['__proto__', 0],
        ['1', 1],
      ]),
    );
  });

  it('once, where the vocabulary has all of them', async () => {
    const tokens = async (files: string) => {
      const { checkpoint } = await model('a', 1, files);
      const reader = new TokenizerReader();
      const found = await reader.filesOf(checkpoint);
      return found && (await reader.read(checkpoint, found));
    };
    const plain = await tokens(bpe(abc, [added(1, 'b')]));
    expect(plain?.ids).toBe(plain?.vocabulary);
    const more = await tokens(bpe(abc, [added(3, '<x>')]));
    expect([more?.ids.get('<x>'), more?.vocabulary.get('<x>')]).toEqual([3, undefined]);
  });

  it('of files that are no larger than millions of tokens make them', async () => {
    const large = bpe(abc).replace('{', `{"note": "${'x'.repeat(40_000_000)}",`);
    await expect(ids(large)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringMatching(/tokenizer\.json:? has more than 40000000 characters beside its merges/),
    });
  });

  it.each([
    ['{', 'is not JSON'],
    ['[]', 'is not a JSON object'],
    ['{}', 'has no valid `model`'],
    ['{"model": {"vocab": {"a": "0"}}}', 'has no valid `vocab`'],
    ['{"model": {"vocab": null}, "vocab": {"a": 0}}', 'has no valid `vocab`'],
    ['{"model": {"vocab": {"a": -1}}}', 'has no valid `vocab`'],
    ['{"model": {"vocab": {"a": 0, "b": 0, "c": 0}}}', 'has no valid `vocab`'],
    ['{"model": {"vocab": {"a": 9007199254740991}}}', 'has no valid `vocab`'],
    ['{"model": {"vocab": {}}, "added_tokens": [{"id": 1}]}', 'has no valid `added_tokens`'],
  ])('or refused: %s %s', async (text, reason) => {
    await expect(ids(text)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringMatching(new RegExp(`/a/tokenizer.json:? ${reason}`)),
    });
  });
});

describe('tokenizer files', () => {
  const pad = added(3, '<pad>');

  it('change in their added tokens alone', async () => {
    const text = bpe({ ...abc, '"added_tokens": [': 3 }, [added(0, 'a')]).replace('"b": 1', '"b":   1');
    const models = [await model('a', 4, text), await model('b', 5, bpe(abc, [pad]))];
    const { files } = await merged(models, 'union');
    expect(files).toEqual([
      {
        name: 'tokenizer.json',
        text: text.replace(
          /"added_tokens": \[[\s\S]*?\n {2}\]/,
          `"added_tokens": ${JSON.stringify([added(0, 'a'), added(4, '<pad>')], null, 2).replaceAll('\n', '\n  ')}`,
        ),
      },
    ]);
    expect(files[0]?.text).toContain('"b":   1');
  });

  it('stay on one line where they are', async () => {
    const models = [
      await model('a', 2, unigram(['a', 'b'])),
      await model('b', 3, unigram(['a', 'b'], [added(2, '<x>')])),
    ];
    const { files } = await merged(models, 'auto');
    expect(files[0]?.text).toBe(unigram(['a', 'b'], [added(2, '<x>')]));
  });

  it('agree where there are several', async () => {
    const { id: _, ...settings } = pad;
    const files = {
      'tokenizer.json': bpe(abc, [added(0, 'a')]),
      'tokenizer_config.json':
        '{\n  "added_tokens_decoder": {\n    "0": {"content": "a"}\n  },\n  "model_max_length": 1000000000000000019884624838656\n}\n',
      'added_tokens.json': '{"a": 0}',
    };
    const models = [await model('a', 3, files), await model('b', 4, bpe(abc, [pad]))];
    const vocabulary = await merged(models, 'auto');
    expect(fileOf(vocabulary, 'tokenizer_config.json')).toMatchObject({
      added_tokens_decoder: { 0: { content: 'a' }, 3: settings },
    });
    expect(vocabulary.files.map(({ text }) => text).join()).toContain(
      '"model_max_length": 1000000000000000019884624838656\n}\n',
    );
    expect(fileOf(vocabulary, 'added_tokens.json')).toEqual({ a: 0, '<pad>': 3 });
  });

  it('are GPT-2’s where there is no tokenizer.json', async () => {
    const files = (tokens: object) => ({
      'vocab.json': JSON.stringify(abc),
      'merges.txt': '',
      ...(Object.keys(tokens).length === 0 ? {} : { 'added_tokens.json': JSON.stringify(tokens) }),
    });
    const models = [await model('a', 3, files({})), await model('b', 4, files({ '<pad>': 3 }))];
    expect((await merged(models, 'auto')).files).toEqual([
      { name: 'added_tokens.json', text: '{\n  "<pad>": 3\n}\n' },
    ]);
  });

  it('say which tokens are special where only a list of special tokens does', async () => {
    const files = (tokens: readonly string[]) => ({
      'vocab.json': JSON.stringify(abc),
      'added_tokens.json': JSON.stringify(Object.fromEntries(tokens.map((token, at) => [token, 3 + at]))),
      'special_tokens_map.json': JSON.stringify({ eos_token: 'c', additional_special_tokens: tokens }),
    });
    const models = [await model('a', 4, files(['<x>'])), await model('b', 5, files(['<x>', '<y>']))];
    const vocabulary = await merged(models, 'auto');
    expect(fileOf(vocabulary, 'added_tokens.json')).toMatchObject({ '<x>': 3, '<y>': 4 });
    expect(fileOf(vocabulary, 'special_tokens_map.json')).toEqual({
      eos_token: 'c',
      additional_special_tokens: ['<x>', '<y>'],
    });
  });
});
