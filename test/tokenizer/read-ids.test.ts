import fc from 'fast-check';
import { expect, it } from 'vitest';
import { readIds } from '../../src/core/models/tokenizer/files/read-ids.js';

const token = fc.oneof(
  fc.string({
    unit: fc.constantFrom('"', '\\', ':', ',', '{', '}', '1', 'a', 'ä', 'Ġ', '\n', '\u0001', '𝕏'),
  }),
  fc.constantFrom('__proto__', '17', ''),
);
const number = fc.oneof(fc.nat(), fc.constantFrom(0, 999_999_999));
const indent = fc.constantFrom(undefined, 1, '\t');

it('reads the ids that JSON has, in the order of the text', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(token, number), { minLength: 1 }), indent, (entries, space) => {
      const wanted = new Map(entries.map(([text, id]) => [text, id % 1_000_000_000]));
      const between = space === undefined ? ',' : ', \n\t';
      const text = `{${[...wanted].map(([key, id]) => `${JSON.stringify(key)} : ${id}`).join(between)}} `;
      expect([...(readIds(text) ?? [])]).toEqual([...wanted]);
    }),
  );
});

it('has the last of two ids of one token, as JSON has', () => {
  expect(readIds('{"a":1,"b":2,"a":3}')).toEqual(new Map(Object.entries(JSON.parse('{"a":1,"b":2,"a":3}'))));
});

it('reads no text that JSON does not', () => {
  const parts = fc.constantFrom(
    '{',
    '}',
    '"a"',
    '"',
    '\\',
    ':',
    ',',
    '1',
    '0',
    '01',
    '-1',
    '1.5',
    '1e2',
    ' ',
    'null',
  );
  fc.assert(
    fc.property(fc.array(parts, { maxLength: 12 }), (list) => {
      const text = list.join('');
      const ids = readIds(text);
      if (ids !== undefined) expect(Object.fromEntries(ids)).toEqual(JSON.parse(text));
    }),
    { numRuns: 2000 },
  );
});

it.each([
  '{"a": 1',
  '{"a": 1,}',
  '{,"a": 1}',
  '{"a": 01}',
  '{"a": 1}}',
  '{"a\n": 1}',
  '{"a": 1.}',
  '{"a": 1 2}',
  '{"a":1\u000b}',
  '[]',
  '',
])('leaves %j to JSON', (text) => {
  expect(readIds(text)).toBeUndefined();
});

it('has one order, however numbers are spelt', () => {
  for (const spelt of ['2', '2.0', '2e0', '0.2e1'])
    expect([...(readIds(`{"x": 2, "0": ${spelt}, "a": -0}`) ?? [])]).toEqual([
      ['x', 2],
      ['0', 2],
      ['a', -0],
    ]);
});
