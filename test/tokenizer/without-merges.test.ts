import fc from 'fast-check';
import { expect, it } from 'vitest';
import { withoutMerges } from '../../src/core/models/tokenizer/files/without-merges.js';

// Brackets, quotes and escapes, which may mislead a search for the end of the list.
const token = fc.string({ unit: fc.constantFrom('[', ']', '"', '\\', ':', ',', 'a', 'ä', 'Ġ', '\n', '𝕏') });
const merge = fc.oneof(token, fc.tuple(token, token));

it('leaves nothing out but merges, whatever tokens are', () => {
  fc.assert(
    fc.property(
      fc.array(token),
      fc.array(merge),
      fc.constantFrom(undefined, 1, '\t'),
      (tokens, merges, indent) => {
        const vocab = Object.fromEntries(
          [...tokens, 'merges', '"merges":[', 'merges": ['].map((text, id) => [text, id]),
        );
        const text = JSON.stringify({ model: { vocab, merges, type: 'BPE' }, more: tokens }, null, indent);
        const left = withoutMerges(Buffer.from(text));
        expect(JSON.parse(left)).toEqual({ model: { vocab, merges: [], type: 'BPE' }, more: tokens });
        for (const end of [text.length >> 1, text.length - 1])
          expect(() => JSON.parse(withoutMerges(Buffer.from(text.slice(0, end))))).toThrow(SyntaxError);
      },
    ),
  );
});

it.each(['{"merges": null}', '{"model": {}}', '', '{"merges"'])('returns %s as it is', (text) => {
  expect(withoutMerges(Buffer.from(text))).toBe(text);
});
