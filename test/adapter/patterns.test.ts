import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseAdapterConfig } from '../../src/core/models/adapters/peft-config.js';
import { chosenKeys } from '../fixtures/pattern-choice.js';

/**
 * The names that match each key by PEFT's get_pattern_key in Python 3.11, or Python's error; made by
 * test/peers.
 */
const { names, matched } = JSON.parse(readFileSync(new URL('patterns.json', import.meta.url), 'utf8')) as {
  names: string[];
  matched: [key: string, answer: string][];
};

const accepts = (key: string): boolean => typeof chosenKeys([key], names) !== 'string';

const parse = (pattern: string) =>
  parseAdapterConfig(`{"peft_type": "LORA", "lora_alpha": 8, "alpha_pattern": ${pattern}}`, 'a.json');

describe('the keys of rank_pattern and alpha_pattern', () => {
  it('match the modules that Python finds, or are refused', () => {
    const ours = matched.map(([key, answer]) => {
      const chosen = chosenKeys([key], names);
      return [
        key,
        typeof chosen === 'string' ? answer : chosen.map((one) => (one === null ? '.' : 'x')).join(''),
      ];
    });
    expect(ours).toEqual(matched);
    expect(matched.filter(([key]) => accepts(key)).length).toBeGreaterThan(0.8 * matched.length);
  });

  it('may be names, escaped or not, numbers, sets, alternatives, anchors and anything', () => {
    const usual = [
      'q_proj',
      'self_attn\\.q_proj',
      '.*\\.q_proj',
      'model\\.layers\\.\\d+\\.mlp\\..*',
      '(q|v)_proj',
    ];
    const more = [
      '[qv]_proj',
      '[^.]+',
      'layers.[0-9]{1,2}.mlp',
      '^lm_head$',
      '\\Alm_head\\Z',
      '(?P<x>q)_proj',
      'a{,2}',
    ];
    for (const key of [...usual, ...more]) expect([key, accepts(key)]).toEqual([key, true]);
  });

  it('are refused, with their file, where Python means something else or nothing', () => {
    for (const [key, reason] of [
      ['(?i)Q_PROJ', /"\(\?i\)Q_PROJ".*which is not understood/],
      ['(?<x>q_proj)', /not understood/],
      ['(?!v).*', /not understood/],
      ['(q)\\1', /not understood/],
      ['q++', /not understood/],
      ['[z-a]', /not understood/],
      ['q)|(v', /a bracket too many/],
      ['(q', /a group without an end/],
      ['(?P<x>q)(?P<x>v)', /two groups named x/],
      ['é', /outside of printable ASCII/],
      ['a{2000}', /not understood/],
      ['a'.repeat(1001), /more than 1000 characters/],
    ] as const) {
      const refused = chosenKeys([key], names);
      expect(refused).toMatch(/^adapter_config\.json: key ".*" of alpha_pattern has /);
      expect(refused).toMatch(reason);
    }
    expect(() => parse('{"q_proj": 4}').alphaOf('x.é')).toThrow(/not in ASCII/);
    expect(parse('{}').alphaOf('x.é')).toBe(8);
  });

  it('are tried in the order of the file, numbers too', () => {
    expect(parse('{".*": 1, "0": 2}').alphaOf('mlp.0')).toBe(1);
    expect(parse('{"0": 2, ".*": 1}').alphaOf('mlp.0')).toBe(2);
    expect(parse('{"10": 4, "..": 1, "9": 2}').alphaOf('mlp.10')).toBe(4);
    expect(parse('{"..": 7, "10": 3}, "auto_mapping": {"alpha_pattern": {"10": 1}}').alphaOf('mlp.10')).toBe(
      7,
    );
    expect(() => parse('{"..": 1, "10": 3}, "other": NaN').alphaOf('mlp.10')).toThrow(/other is set/);
  });

  it('stand once', () => {
    for (const pattern of ['{"..": 1, "10": 3, "..": 5}', '{"q": 1}, "alpha_pattern": {"q": 2}'])
      expect(() => parse(pattern)).toThrow(/^a\.json: has a key twice \(line 1, column \d+\)/);
  });

  it('take a number that is a module’s whole name, as PEFT looks it up', () => {
    expect(parse('{"a[0]": 3}').alphaOf('a[0]')).toBe(3);
  });

  it('must have numbers', () => {
    for (const pattern of ['{"q": "8"}', '{"__proto__": "8"}', '[8]', '{"q": null}'])
      expect(() => parse(pattern)).toThrow(/alpha_pattern: expected a number for each key/);
  });

  it('end in linear time, whatever they are', { timeout: 60_000 }, () => {
    const module = `model.${'layers.0.'.repeat(20)}self_attn.q_proj`;
    expect(parse('{"([a-z0-9_.]+)*X": 64, "(\\\\w+\\\\.?)+Z": 3}').alphaOf(module)).toBe(8);
    const many = Array.from({ length: 300_000 }, (_, index) => `"m${index}": ${index}`).join(', ');
    const { alphaOf } = parse(`{${many}}`);
    for (let layer = 0; layer < 1_000; layer += 1) expect(alphaOf(`layers.${layer}.m777`)).toBe(777);
    const large = Array.from({ length: 2_000 }, (_, index) => `"(a|b){${index % 1000}}.*x${index}": 1`).join(
      ', ',
    );
    expect(() => parse(`{${large}}`)).toThrow(/patterns that take too long to match/);
    expect(() => parse('{"(((((a{9}){999}){999}){999}){999})": 1}')).toThrow(/take too long/);
    expect(parse('{"(((((){999}){999}){999}){999})q_proj": 1}').alphaOf('q_proj')).toBe(1);
    const slow = parse('{"(a|b|.)*(a|b|.)*(a|b|.){500}x": 1}');
    expect(() => {
      for (let count = 0; count < 1e6; count += 1) slow.alphaOf('ab'.repeat(5_000));
    }).toThrow(/a\.json: alpha_pattern has patterns that take too long/);
  });
});
