import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { editJson, SpeltNumber } from '../../src/core/texts/edit-json.js';

const edited = (text: string, edits: Record<string, unknown>): string =>
  editJson(
    text,
    Object.entries(edits).map(([key, value]) => {
      const [outer = '', inner] = key.split('/');
      return { path: inner === undefined ? [outer] : [outer, inner], value };
    }),
  );

const config = `{
  "a": 1e-05,
  "b": [
    1,
    2
  ],
  "c": {
    "d": 10000.0,
    "e": "x"
  }
}
`;

describe('a changed text of JSON', () => {
  it('differs in the places that change alone', () => {
    expect(edited(config, { 'c/e': 'y', b: 3 })).toBe(
      config.replace('"x"', '"y"').replace(/\[[^\]]*\]/, '3'),
    );
    expect(edited(config, {})).toBe(config);
    expect(edited(config, { a: undefined })).toBe(config.replace('  "a": 1e-05,\n', ''));
    expect(edited(config, { c: undefined })).toBe(config.replace(/,\n {2}"c"[^}]*}/, ''));
    expect(edited(config, { nothing: undefined, 'nothing/at': 1, 'a/b': 1 })).toBe(config);
  });

  it('gets new keys behind the others, in its own style', () => {
    expect(edited(config, { 'c/f': [7], g: new SpeltNumber('0.0') })).toBe(
      config.replace('"x"\n  }', '"x",\n    "f": [\n      7\n    ]\n  },\n  "g": 0.0'),
    );
    expect(edited('{"a": 1, "b": 2}', { c: [1, { d: 2 }] })).toBe('{"a": 1, "b": 2, "c": [1,{"d":2}]}');
    expect(edited('{"a":1}', { b: 2 })).toBe('{"a":1,"b":2}');
    expect(edited('{}', { b: 2 })).toBe('{"b":2}');
    expect(edited('{\r\n\t"a": 1\r\n}', { b: [2] })).toBe('{\r\n\t"a": 1,\r\n\t"b": [\r\n\t\t2\r\n\t]\r\n}');
  });

  it('keeps what Python writes, and what looks like a mark of ours', () => {
    const text = '{"a": NaN, "b": "\\u0000float 1, \\"c\\": 2"}';
    expect(edited(text, { d: 1 })).toBe(text.replace('}', ', "d": 1}'));
  });

  it('has the values of the object that was changed the same', () => {
    const key = fc.constantFrom('a', 'b', 'c', '__proto__', '0', 'x"y\\');
    const objects = fc.dictionary(key, fc.oneof(fc.jsonValue(), fc.dictionary(key, fc.nat())));
    const changes = fc.uniqueArray(fc.tuple(key, fc.option(key), fc.option(fc.jsonValue())), {
      selector: ([outer]) => outer,
    });
    fc.assert(
      fc.property(objects, changes, fc.constantFrom('', '  ', '\t'), (object, list, indent) => {
        const wanted = new Map<string, unknown>(Object.entries(JSON.parse(JSON.stringify(object)) as object));
        for (const [outer, inner, value] of list) {
          const within = wanted.get(outer);
          if (inner === null && value === null) wanted.delete(outer);
          else if (inner === null) wanted.set(outer, value);
          else if (typeof within === 'object' && within !== null && !Array.isArray(within)) {
            const entries = new Map<string, unknown>(Object.entries(within));
            if (value === null) entries.delete(inner);
            else entries.set(inner, value);
            wanted.set(outer, Object.fromEntries(entries));
          }
        }
        const found = editJson(
          JSON.stringify(object, null, indent),
          list.map(([outer, inner, value]) => ({
            path: inner === null ? [outer] : [outer, inner],
            value: value ?? undefined,
          })),
        );
        expect(JSON.parse(found)).toEqual(JSON.parse(JSON.stringify(Object.fromEntries(wanted))));
      }),
      { numRuns: 500 },
    );
  });
});
