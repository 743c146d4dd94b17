import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { moduleNames, randomPatterns, writtenPatterns } from '../fixtures/module-patterns.js';
import { chosenKeys } from '../fixtures/pattern-choice.js';

const { LAYERLOOM_PYTHON: python = '' } = process.env;
const hasPython = python !== '' && spawnSync(python, ['-c', 'import re']).status === 0;
const script = fileURLToPath(new URL('adapters/patterns.py', import.meta.url));

type Chosen = readonly (number | null)[] | string;

const inPython = (configurations: readonly (readonly string[])[]): Chosen[] =>
  execFileSync(python, [script], {
    input: JSON.stringify({ names: moduleNames, configurations }),
    maxBuffer: 2 ** 28,
  })
    .toString()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Chosen);

/** True if Python gave this answer, or none in time. */
const isAnswer = (chosen: readonly (number | null)[], there: Chosen | undefined): boolean =>
  there === 'too long' || JSON.stringify(chosen) === JSON.stringify(there);

describe.skipIf(!hasPython)('patterns of PEFT’s configurations and Python’s re (LAYERLOOM_PYTHON)', () => {
  const patterns = randomPatterns(2_000, Number(process.env['LAYERLOOM_SEED'] ?? 1));

  it('choose the same key for each module, or the adapter is refused', () => {
    const configurations = patterns.map((key) => [key]);
    const there = inPython(configurations);
    const here = configurations.map((keys) => chosenKeys(keys, moduleNames));
    const silent = here.flatMap((chosen, index) =>
      typeof chosen === 'string' || isAnswer(chosen, there[index])
        ? []
        : [{ key: patterns[index], here: chosen, there: there[index] }],
    );
    expect(silent).toEqual([]);
    const accepted = here.filter((chosen) => typeof chosen !== 'string').length;
    const valid = there.filter((chosen) => typeof chosen !== 'string').length;
    const tooLong = there.filter((chosen) => chosen === 'too long').length;
    const matching = here.filter(
      (chosen) => typeof chosen !== 'string' && chosen.some((key) => key !== null),
    );
    console.log({
      patterns: patterns.length,
      validInPython: valid,
      tooLong,
      accepted,
      matching: matching.length,
    });
    expect(tooLong).toBeLessThan(0.05 * patterns.length);
    expect(accepted).toBeGreaterThanOrEqual(0.8 * patterns.length);
  });

  it('agree on the goldens of the ordinary tests (LAYERLOOM_WRITE_GOLDENS makes them)', () => {
    const file = new URL('../adapter/patterns.json', import.meta.url);
    const answers = (keys: readonly string[]): [key: string, answer: string][] =>
      inPython(keys.map((key) => [key])).map((chosen, index) => [
        keys[index] ?? '',
        typeof chosen === 'string' ? chosen : chosen.map((one) => (one === null ? '.' : 'x')).join(''),
      ]);
    if (process.env['LAYERLOOM_WRITE_GOLDENS'] !== undefined) {
      const matched = answers([...writtenPatterns, ...randomPatterns(400, 7)]).filter(
        ([, answer]) => answer !== 'too long',
      );
      const goldens = { by: 'test/peers/adapter-patterns.test.ts', names: moduleNames, matched };
      writeFileSync(file, `${JSON.stringify(goldens)}\n`);
    }
    const { matched } = JSON.parse(readFileSync(file, 'utf8')) as { matched: [string, string][] };
    const there = new Map(answers(matched.map(([key]) => key)).filter(([, answer]) => answer !== 'too long'));
    expect(matched.filter(([key, answer]) => (there.get(key) ?? answer) !== answer)).toEqual([]);
  });

  it('choose the first of several keys in the order of the file', () => {
    const accepted = patterns.filter((key) => typeof chosenKeys([key], moduleNames) !== 'string');
    const configurations = accepted.map((key, index) =>
      [key, accepted[(index * 7 + 1) % accepted.length] ?? '', String(index % 12), '.*'].sort((a, b) =>
        [...a].reverse().join('') < [...b].reverse().join('') ? -1 : 1,
      ),
    );
    const distinct = configurations.map((keys) => [...new Set(keys)]);
    const there = inPython(distinct);
    const here = distinct.map((keys, index) =>
      there[index] === 'too long' ? 'too long' : chosenKeys(keys, moduleNames),
    );
    expect(here).toEqual(there);
  });
});
