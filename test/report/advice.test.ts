import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { analyze } from '../../src/index.js';
import { advice } from '../../src/study/pages/analysis/advice.js';
import { writeFamily } from '../fixtures/family.js';

const sharesOf = (name: string, ends: number, middle: number) => {
  const layers = [ends, ends, middle, middle, middle, middle, middle, ends];
  return { name, bottom: 2 * ends, middle: 5 * middle, top: ends, outside: 0, layers };
};

const said = (ends: number, middle: number, role?: 'task' | 'language') =>
  advice(
    {
      shares: [sharesOf('x', ends, middle)],
      overlaps: [],
      roles: new Map(role === undefined ? [] : [['x', role]]),
    },
    2,
    1,
  )[0];

describe('advice', () => {
  it('says without a role where an expert changed, and nothing of what to take', () => {
    expect(said(0.05, 0.17)).toBe(
      'x changed its first 2 and last 1 layers less than the others (15.0 % of the change in 37.5 % of the layers).',
    );
    for (const sentence of [said(0.05, 0.17), said(0.2, 0.08), said(0.125, 0.125)])
      expect(sentence).not.toMatch(/swap|tak|replace|another/);
  });

  it.each([
    [0.05, 0.17, 'task', /less than .*: a swap replaces these by the language expert's, and keeps/],
    [0.2, 0.08, 'task', /more than .*: a swap replaces these .* and with them much of what was learnt/],
    [
      0.125,
      0.125,
      'task',
      /as much as .*: a swap replaces these by the language expert's \(of the whole change it keeps 62\.5 %, drops 37\.5 % and averages 0\.0 %\)\.$/,
    ],
    [0.05, 0.17, 'language', /less than .*: a swap takes these, and leaves out the layers/],
    [0.2, 0.08, 'language', /more than .*: a swap takes these, which hold much/],
    [
      0.125,
      0.125,
      'language',
      /as much as .*: a swap takes these \(of the whole change it keeps 37\.5 %, drops 62\.5 % and averages 0\.0 %\)\.$/,
    ],
  ] as const)(
    'says for %d at the ends, %d between of a %s expert what a swap does',
    (ends, middle, role, text) => {
      expect(said(ends, middle, role)).toMatch(text);
      expect(said(ends, middle, role)).toContain(`x (${role} expert) changed`);
    },
  );
});

describe('roles of an analysis', () => {
  it('go by name, and are checked before weights are read', async () => {
    const { root, base, a, b } = writeFamily();
    const out = join(root, 'analysis');
    const of = { base, experts: [a, `swh=${b}`], bottom: 2, top: 1 };
    const { advice: sentences } = await analyze({ ...of, task: ['a'], language: ['swh'] }, { out });
    expect(sentences[0]).toMatch(/^a \(task expert\) changed/);
    expect(sentences[1]).toMatch(/^swh \(language expert\) changed/);
    const refused = (roles: object) =>
      expect(analyze({ ...of, ...roles }, { out: join(root, 'none') })).rejects;
    await refused({ task: ['b'] }).toThrow(/task: expected the name of an expert: a, swh/);
    await refused({ task: ['a'], language: ['a'] }).toThrow(/one role for an expert; a is given as/);
  });
});
