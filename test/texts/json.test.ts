import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonOrNone, parseJson } from '../../src/core/texts/json.js';

const refusal = (source: string | Uint8Array, python = false): string => {
  try {
    parseJson(source, { python });
  } catch (error) {
    return (error as Error).message;
  }
  return 'read';
};

const own = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** A JSON text with a few characters replaced, removed or added. */
const damaged = fc
  .tuple(
    fc.jsonValue(),
    fc.array(fc.tuple(fc.nat(), fc.constantFrom(...' \n\t,:[]{}"\\/-+.0123eEuNatrl\u00e9\u0001'), fc.nat(2))),
    fc.nat(2),
  )
  .map(([value, changes, indent]) => {
    let text = JSON.stringify(value, null, indent);
    for (const [at, character, length] of changes.slice(0, 3)) {
      const place = at % (text.length + 1);
      text = text.slice(0, place) + character + text.slice(place + length);
    }
    return text;
  });

describe('JSON from outside', () => {
  it('is what JavaScript’s own parser takes, with the same value', () => {
    fc.assert(
      fc.property(damaged, (text) => {
        const wanted = own(text);
        const found = refusal(text);
        if (found.startsWith('has a key twice')) return;
        expect(found === 'read').toBe(wanted !== undefined);
        expect(jsonOrNone(text)).toStrictEqual(wanted);
      }),
      { numRuns: 2000 },
    );
  });

  it('may have Python’s numbers, which become texts, where Python writes it', () => {
    const text = '{"a": NaN, "b": [Infinity, -Infinity, -1], "c": "NaN, -Infinity", "N": "I"}';
    expect(parseJson(text, { python: true })).toEqual({
      ...{ a: 'NaN', b: ['Infinity', '-Infinity', -1] },
      ...{ c: 'NaN, -Infinity', N: 'I' },
    });
    expect(refusal(text)).toBe('is not JSON (line 1, column 7)');
    for (const word of ['nan', 'NaN1', '-NaN', 'Infinit', 'inf', '+Infinity', 'N', 'I'])
      expect(refusal(`[${word}]`, true), word).toMatch(/^is not JSON/);
  });

  it('is refused with a place, and with nothing of its content', () => {
    const secret = 'hf_secret';
    expect(refusal(secret)).toBe('is not JSON (line 1, column 1)');
    expect(refusal(`{\n  "a": "${secret}",\n  ${secret}\n}`)).toBe('is not JSON (line 3, column 3)');
    expect(refusal('')).toBe('is not JSON (line 1, column 1)');
    expect(refusal('\ufeff{}')).toBe('is not JSON (line 1, column 1)');
    expect(refusal('{"a": "\t"}')).toBe('is not JSON (line 1, column 8)');
    expect(refusal(Buffer.from([0x22, 0xff, 0x22]))).toBe('is not UTF-8');
    expect(refusal(`{"${secret}": 1, "b": 2,\n "${secret}": 3}`)).toBe('has a key twice (line 2, column 2)');
  });

  it('has each key once, however it is spelt and whatever it is', () => {
    for (const text of ['{"a":1,"\\u0061":2}', '[{"b":{"__proto__":1,"__proto__":1}}]', '{"0":1,"0":1}'])
      expect(refusal(text), text).toMatch(/^has a key twice/);
    const value = parseJson('{"__proto__": {"x": 1}, "toString": 2}') as object;
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(Object.keys(value)).toEqual(['__proto__', 'toString']);
  });

  it('is refused beyond its limits before it takes their memory', () => {
    const deep = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
    expect(refusal(deep(1000))).toBe('read');
    expect(refusal(deep(1001))).toBe('is nested more than 1000 deep');
    expect(refusal('['.repeat(10_000_000))).toBe('is nested more than 1000 deep');
    expect(refusal('{"a":'.repeat(100_000))).toBe('is nested more than 1000 deep');
    expect(() => parseJson('[1,2,3]', { mostValues: 3 })).toThrow('has more than 3 values');
    expect(parseJson('[1,2,3]', { mostValues: 4 })).toEqual([1, 2, 3]);
    expect(() => parseJson('{"a":1,"b":2}', { mostValues: 6 })).toThrow('has more than 1 keys');
    expect(parseJson('{"a":1,"b":2}', { mostValues: 7 })).toEqual({ a: 1, b: 2 });
  });
});
