import { describe, expect, it } from 'vitest';
import { TokenTexts } from '../../src/core/models/tokenizer/files/token-texts.js';
import {
  type ModelTokens,
  makeTokenizer,
  type Spelling,
} from '../../src/core/models/tokenizer/files/tokenizer.js';
import { type TransplantedRows, transplantRows } from '../../src/core/models/tokenizer/transplant.js';

interface Given {
  readonly tokens: readonly string[];
  readonly spelling?: Spelling;
  readonly uses?: ReadonlyArray<readonly [string, string]>;
  /** Default: as many as tokens. */
  readonly rows?: number;
}

const modelOf = (
  name: string,
  { tokens, spelling = 'bytes', uses = [], rows = tokens.length }: Given,
): ModelTokens => ({
  name,
  path: name,
  rows,
  tokenizer: makeTokenizer(
    {
      file: name,
      algorithm: 'BPE',
      spelling,
      vocabulary: new Map(tokens.map((token, id) => [token, id])),
    },
    uses.map(([, content]) => ({ ...settings, content })),
    { decoder: [], special: [], uses },
  ),
});

const settings = { single_word: false, lstrip: false, rstrip: false, normalized: false, special: true };

const matched = (model: Given, donor: Given): Record<string, number | 'lacking'> => {
  const [one, other] = [modelOf('model', model), modelOf('donor', donor)];
  const { own, lacking } = transplantRows(new TokenTexts(one), one, other);
  const rows = own.flatMap(([to, from, count]) =>
    Array.from({ length: count }, (_, index): [string, number] => [
      donor.tokens[to + index] ?? '',
      from + index,
    ]),
  );
  return Object.fromEntries([...rows, ...lacking.map(({ token }) => [token, 'lacking'] as const)]);
};

describe('tokens of two tokenizers', () => {
  it('are the same where their bytes are, whichever way they are spelt', () => {
    const pieces = ['<unk>', '▁the', 'the', '▁▁', '日', 'é', '<0x0A>', '<0xE6>', '▁日本'];
    const bytes = ['Ġthe', 'the', 'ĠĠ', 'æĹ¥', 'Ã©', 'Ċ', 'æ', 'Ġæ', 'The'];
    expect(matched({ tokens: pieces, spelling: 'pieces' }, { tokens: bytes })).toEqual({
      ...{ Ġthe: 1, the: 2, ĠĠ: 3, 'æĹ¥': 4, 'Ã©': 5, Ċ: 6, æ: 7 },
      ...{ Ġæ: 'lacking', The: 'lacking' },
    });
    expect(matched({ tokens: bytes }, { tokens: pieces, spelling: 'pieces' })).toEqual({
      ...{ '<unk>': 'lacking', '▁the': 0, the: 1, '▁▁': 2, 日: 3, é: 4, '<0x0A>': 5, '<0xE6>': 6 },
      '▁日本': 'lacking',
    });
    expect(
      matched({ tokens: ['the', '##the'], spelling: 'words' }, { tokens: ['Ġthe', 'the', 'x'] }),
    ).toEqual({ Ġthe: 0, the: 1, x: 'lacking' });
  });

  it('have the row of a letter before that of the byte that it is', () => {
    const tokens = ['<0x61>', 'a', '<0x62>'];
    expect(
      matched({ tokens, spelling: 'pieces' }, { tokens: ['a', '<0x61>', 'b'], spelling: 'pieces' }),
    ).toEqual({ a: 1, '<0x61>': 1, b: 2 });
  });

  it('are the same where they have one use, if none has the same text', () => {
    const model: Given = {
      tokens: ['a', '<|endoftext|>', '<pad>'],
      uses: [
        ['bos_token', '<|endoftext|>'],
        ['eos_token', '<|endoftext|>'],
        ['pad_token', '<pad>'],
      ],
    };
    const donor: Given = {
      tokens: ['<s>', '</s>', '<pad>', '<mask>'],
      uses: [
        ['bos_token', '<s>'],
        ['eos_token', '</s>'],
        ['mask_token', '<mask>'],
        ['pad_token', '<pad>'],
      ],
    };
    expect(matched(model, donor)).toEqual({ '<s>': 1, '</s>': 1, '<pad>': 2, '<mask>': 'lacking' });
  });
});

describe('rows of a donor’s vocabulary', () => {
  const rowsOf = (model: Given, donor: Given): TransplantedRows => {
    const one = modelOf('model', model);
    return transplantRows(new TokenTexts(one), one, modelOf('donor', donor));
  };

  it('are as many as the donor has, and as its tokens at least', () => {
    const model = { tokens: ['a', 'b'] };
    expect(rowsOf(model, { tokens: ['b', 'c', 'a'], rows: 8 })).toMatchObject({
      ...{ rows: 8, padFrom: 3 },
      own: [
        [0, 1, 1],
        [2, 0, 1],
      ],
      shared: [
        [1, 0, 1],
        [0, 2, 1],
      ],
    });
    // The model has a row of `a` that the donor lacks.
    expect(rowsOf(model, { tokens: ['b', 'c', 'a'], rows: 2 })).toMatchObject({
      ...{ rows: 3, padFrom: 3, shared: [[1, 0, 1]] },
      lacking: [{ id: 1, token: 'c', bytes: 'c' }],
    });
  });

  it('are not those of tokens that have no row in the model', () => {
    expect(matched({ tokens: ['a', 'b'], rows: 1 }, { tokens: ['b', 'a'] })).toEqual({ a: 0, b: 'lacking' });
  });
});
