import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { LayerloomError } from '../../src/core/base/errors/errors.js';
import { parseDocuments } from '../../src/core/methods/recipe/document/document.js';
import { locate, toPlain } from '../../src/core/methods/recipe/document/tree.js';
import { yaml } from './recipes.js';

const parse = (text: string): unknown[] => parseDocuments(text, 'a.yaml').map((root) => toPlain(root));

const refusal = (text: string): string => {
  try {
    parse(text);
  } catch (error) {
    if (error instanceof LayerloomError) return `${error.exitCode} ${error.message}`;
    throw error;
  }
  return 'accepted';
};

describe('a document', () => {
  it('is read by YAML 1.2, in which scientific numbers are numbers', () => {
    expect(
      parse('{a: 1e-5, b: -2.5E+3, c: 0x1F, d: yes, e: "1", f: ~, g: True, h: .5, i: [00, 08, "010"]}'),
    ).toEqual([{ a: 1e-5, b: -2500, c: 31, d: 'yes', e: '1', f: null, g: true, h: 0.5, i: [0, 8, '010'] }]);
  });

  it('may be one of several, of which empty ones do not count', () => {
    expect(parse('---\n# nothing\n---\na: 1\n...\n---\nb: 2\n---\n')).toEqual([{ a: 1 }, { b: 2 }]);
  });

  it('may name values once and use them again', () => {
    const text = yaml`
      all: &all {weight: 1, density: 0.5}
      list: [*all, *all]
      one: {<<: *all, density: 1}
      several: {<<: [{a: 1}, {a: 2, b: 2}], c: 3}
      text: {"<<": 1}
    `;
    expect(parse(text)).toEqual([
      {
        all: { weight: 1, density: 0.5 },
        list: [
          { weight: 1, density: 0.5 },
          { weight: 1, density: 0.5 },
        ],
        one: { density: 1, weight: 1 },
        several: { c: 3, a: 1, b: 2 },
        text: { '<<': 1 },
      },
    ]);
  });

  it('keeps keys that are no text as they are written, and any name at all', () => {
    const [value] = parse('{1.50: a, true: b, __proto__: c, constructor: d}');
    expect(Object.entries(value as object)).toEqual([
      ['1.50', 'a'],
      ['true', 'b'],
      ['__proto__', 'c'],
      ['constructor', 'd'],
    ]);
  });

  it.each<[string, string, string]>([
    ['nothing', '', '1:1: the file is empty; expected a recipe\n  \n  ^'],
    ['a comment', '# a: 1\n', '1:1: the file is empty; expected a recipe\n  # a: 1\n  ^'],
    [
      'a list',
      '# models\n- a\n',
      '2:1: this is a list; expected a mapping with method (or merge_method, as mergekit has it)\n  - a\n  ^',
    ],
    [
      'text',
      'models',
      '1:1: this is one value; expected a mapping with method (or merge_method, as mergekit has it)\n  models\n  ^',
    ],
    ['what is not YAML', 'a: 1\nb: "c\n', '3:1: not YAML: Missing closing "quote\n  \n  ^'],
    ['a tab', 'a:\n\tb: 1\n', '2:1: not YAML: Tabs are not allowed as indentation\n   b: 1\n  ^'],
    [
      'a key twice',
      'a:\n  b: 1\n  c: 2\n  b: 3\n',
      '4:3: b: this key stands twice in one mapping\n    b: 3\n    ^',
    ],
    ['a key that is a list', 'a: 1\n? [b]\n: c\n', '2:3: a key must be text\n  ? [b]\n    ^'],
    ['a tag', 'a: !secret b\n', '1:4: not YAML: Unresolved tag: !secret\n  a: !secret b\n     ^'],
    ['no such anchor', 'a: [1, *b]\n', '1:8: *b: no anchor &b stands before it\n  a: [1, *b]\n         ^'],
    [
      'an anchor in itself',
      'a: &b [*b]\n',
      '1:8: *b: no anchor &b stands before it\n  a: &b [*b]\n         ^',
    ],
    [
      'a merge of text',
      'a: {<<: b}\n',
      '1:9: b: cannot be merged by <<; expected a mapping or a list of mappings\n  a: {<<: b}\n          ^',
    ],
    [
      'a number that YAML 1.1 reads otherwise',
      'a: [00, 07, 08, 010]\n',
      '1:17: 010: 8 in YAML 1.1, 10 in YAML 1.2; expected a number without leading zeros\n  a: [00, 07, 08, 010]\n                  ^',
    ],
  ])('that is or holds %s is refused with its place', (_, text, expected) => {
    expect(refusal(text)).toBe(`2 a.yaml:${expected}`);
  });

  it('whose aliases stand for billions of values is refused', () => {
    const lines = Array.from({ length: 12 }, (_, i) => `a${i + 1}: &a${i + 1} [${`*a${i}, `.repeat(9)}]`);
    expect(refusal(`a0: &a0 [1]\n${lines.join('\n')}`)).toMatch(
      /^2 a\.yaml:5:\d+: \*a3: the aliases of the file stand for more than 10000 values\n/,
    );
  });

  it.each(['[', '{a: ', '- ', '? ', 'a: '])('nested without end by %j is refused', (open) => {
    expect(refusal(`a: ${open.repeat(50_000)}`)).toMatch(/^2 a\.yaml:1:\d+: (values are nested|not YAML)/);
  });

  it('shows of a long line what stands about the column, and no control characters', () => {
    const message = refusal(`a: "${'x'.repeat(500)}", \u001b[31m`);
    expect(message).not.toMatch(/[^\P{Cc}\n]/u);
    const [, line = '', caret = ''] = message.split('\n');
    expect(line.length).toBeLessThan(130);
    expect(caret).toMatch(/^ +\^$/);
    expect(line[caret.length - 1]).toBe(',');
  });

  it('knows where each value and each key stands', () => {
    const [root] = parseDocuments('\uFEFFa: 1\r\nb:\r\n  - c: x\r\n    d: [5,  6]\r\ne:\r\n', 'a.yaml');
    const at = (path: (string | number)[], part?: 'key' | 'value') => {
      const { line, column } = locate(root, path, part);
      return [line, column];
    };
    expect(at([])).toEqual([1, 1]);
    expect(at(['a'])).toEqual([1, 4]);
    expect(at(['a'], 'key')).toEqual([1, 1]);
    expect(at(['b'])).toEqual([3, 3]);
    expect(at(['b', 0])).toEqual([3, 5]);
    expect(at(['b', 0, 'd'], 'key')).toEqual([4, 5]);
    expect(at(['b', 0, 'd', 1])).toEqual([4, 13]);
    // A missing value is at its key; a path that is too long is where its known beginning leads.
    expect(at(['e'])).toEqual([5, 1]);
    expect(at(['b', 0, 'd', 7, 'x'])).toEqual([4, 8]);
    expect(at(['b', 0, 'nothing'])).toEqual([3, 5]);
    expect(at(['nothing', 1])).toEqual([1, 1]);
  });

  it('of any text is read or refused', () => {
    const pieces = fc.constantFrom(
      ...[
        'a',
        ': ',
        '- ',
        '\n',
        '  ',
        '[',
        ']',
        '{',
        '}',
        ', ',
        '&x ',
        '*x',
        '"',
        "'",
        '---\n',
        '<<',
        '!t ',
        '#',
        '|\n',
      ],
    );
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.array(pieces).map((all) => all.join('')),
    );
    fc.assert(
      fc.property(text, (any) => {
        expect(refusal(any)).toMatch(/^(accepted$|2 a\.yaml:\d+:\d+: )/);
      }),
      { numRuns: 2000 },
    );
  });

  it('has the value that was written', () => {
    const value = fc.letrec((tie) => ({
      any: fc.oneof({ depthSize: 'small' }, tie('scalar'), tie('list'), tie('mapping')),
      scalar: fc.oneof(fc.string(), fc.double({ noNaN: true }), fc.boolean(), fc.constant(null)),
      list: fc.array(tie('any'), { maxLength: 4 }),
      mapping: fc.dictionary(
        fc.string({ maxLength: 8 }).filter((key) => key !== '<<'),
        tie('any'),
        { maxKeys: 4, noNullPrototype: true },
      ),
    })).mapping;
    fc.assert(
      fc.property(value, (written) => {
        fc.pre(Object.keys(written as object).length > 0);
        // A path with `~` is refused.
        fc.pre(!JSON.stringify(written).includes('~'));
        expect(parse(stringify(written, { aliasDuplicateObjects: false }))).toEqual([written]);
      }),
    );
  });
});
