import { describe, expect, it } from 'vitest';
import { YamlRefused, yamlDocuments, yamlValue } from '../../src/core/texts/yaml.js';

const refusal = (text: string): string => {
  try {
    yamlValue(text, 'none');
  } catch (error) {
    if (!(error instanceof YamlRefused)) throw error;
    return `${error.offset}: ${error.message}`;
  }
  return 'read';
};

describe('YAML from outside', () => {
  it('is a value of objects without a prototype', () => {
    const value = yamlValue('a: 1\nb: &x [true, null, 1e-5]\nc: *x\n__proto__: d\n? e\n', 'none') as object;
    expect(Object.getPrototypeOf(value)).toBeNull();
    expect(Object.entries(value)).toEqual([
      ['a', 1],
      ['b', [true, null, 1e-5]],
      ['c', [true, null, 1e-5]],
      ['__proto__', 'd'],
      ['e', null],
    ]);
    expect(yamlValue('', 'none')).toBeUndefined();
    expect(yamlValue('task: x\nf: !function utils.f\n', 'last')).toEqual({ task: 'x', f: 'utils.f' });
  });

  it('has each key once, or the last as Python does', () => {
    expect(refusal('a: 1\nb: 2\na: 3\n')).toBe('10: this key stands twice in one mapping');
    expect(yamlValue('a: 1\na: 3\n', 'last')).toEqual({ a: 3 });
  });

  it('is refused beyond its limits', () => {
    expect(refusal('a: '.concat('['.repeat(100_000)))).toMatch(/nested more than 64 deep/);
    expect(refusal('- 1\n'.repeat(100_000))).toMatch(/more than 300000 words, marks and lines/);
    expect(refusal(`a: >\n${'  x\n'.repeat(300_000)}`)).toMatch(/more than 300000 words, marks and lines/);
    const bomb = Array.from({ length: 20 }, (_, at) => `a${at + 1}: &a${at + 1} [*a${at},*a${at},*a${at}]`);
    expect(refusal(['a0: &a0 [1]', ...bomb].join('\n'))).toMatch(/aliases stand for more than 10000 values/);
    expect(refusal('a: *b')).toBe('3: no anchor stands before this alias');
    expect(refusal('a: 1\n---\nb: 2\n')).toMatch(/more than 1 documents/);
  });

  it('is read to its first fault, of which it may have one in each character', () => {
    expect(refusal(`a: [${','.repeat(100_000)}`)).toMatch(/^5: not YAML: /);
    expect(() => yamlDocuments('a: !x 1')).toThrow(/^not YAML: Unresolved tag/);
  });
});
