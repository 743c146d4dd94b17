import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { MavVectors } from '../../src/core/measure/analysis/analysis.js';
import { sharesOf as measuredShares } from '../../src/core/measure/analysis/shares.js';
import { type AnalyzeParameters, analyze } from '../../src/index.js';
import { advice } from '../../src/study/pages/analysis/advice.js';
import { type Family, writeFamily } from '../fixtures/family.js';

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
      'x changed its first 2 and last 1 layers less than the others (37.5 % of the layers, 15.0 % of the change in layers).',
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
    [0.05, 0.17, 'language', /less than .*: a swap takes these, but leaves out the layers/],
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

describe('advice on modules', () => {
  it.each([
    [1.9e-5, 1e-5, /^x changed attention more than feed-forward .*: 1\.9e-5 against 1\.0e-5\)\.$/],
    [1e-5, 1.9e-5, /attention less than feed-forward/],
    [1e-5, 1.05e-5, /attention as much as feed-forward/],
  ])('compares rows of %d in attention with %d', (attention, feedForward, sentence) => {
    const shares = [{ ...sharesOf('x', 0.05, 0.17), modules: { attention, feedForward } }];
    const found = advice({ shares, overlaps: [], roles: new Map() }, 2, 1);
    expect(found[1]).toMatch(sentence);
  });

  it('are measured over the finite rows of matrices in the layers', () => {
    const rows = (module: string, meanMav: number, more: object = {}) => ({
      ...{ rows: 4, parametersPerRow: 4, layer: 0, module, meanMav, nonFiniteRows: 0 },
      ...more,
    });
    const tensors = {
      q: rows('self_attn.q_proj.weight', 3),
      o: rows('self_attn.o_proj.weight', 1, { rows: 12, nonFiniteRows: 8 }),
      up: rows('mlp.up_proj.weight', 5),
      bias: rows('self_attn.q_proj.bias', 100, { rows: 1 }),
      head: rows('lm_head.weight', 100, { layer: null }),
    };
    expect(measuredShares({ tensors, layers: 1 } as unknown as MavVectors, 1, 0).modules).toEqual({
      attention: 2,
      feedForward: 5,
    });
    const { up: _up, ...attention } = tensors;
    expect(
      measuredShares({ tensors: attention, layers: 1 } as unknown as MavVectors, 1, 0),
    ).not.toHaveProperty('modules');
  });
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

  it('are given by models too, as in a swap, with the same result', async () => {
    const { root, base, a, b, c } = writeFamily();
    const of = { base, bottom: 2, top: 1 };
    const analysed = async (name: string, parameters: Partial<AnalyzeParameters>) => {
      const { experts, proposals } = await analyze({ ...of, ...parameters }, { out: join(root, name) });
      const pairs = proposals.map(({ task, language, bottom, top }) => ({ task, language, bottom, top }));
      return { names: experts.map(({ name }) => name), pairs };
    };
    const byName = await analysed('by-name', { experts: [a, `swh=${b}`], task: ['a'], language: ['swh'] });
    expect(byName.pairs).toHaveLength(1);
    const ways: Partial<AnalyzeParameters>[] = [
      { task: [a], language: [`swh=${b}`] },
      { experts: [], task: [`a=${a}`], language: [`swh=${b}`] },
      { experts: [a], task: [a], language: [`swh=${b}`] },
      { experts: [a, `swh=${b}`], task: [`${a}/`], language: [b] },
      { experts: [a, `swh=${b}`], task: [join(a, '..', 'a')], language: ['swh'] },
    ];
    for (const [index, way] of ways.entries())
      expect(await analysed(`way-${index}`, way), JSON.stringify(way)).toEqual(byName);
    const further = await analysed('further', { experts: [c], task: [a], language: [b] });
    expect(further.names).toEqual(['c', 'a', 'b']);
    expect(further.pairs).toMatchObject([{ task: 'a', language: 'b' }]);
  });

  it('take a text for the name of an expert before they take it for a model', async () => {
    const { root, base, a, b } = writeFamily();
    const named = { base, experts: [`b=${a}`, `a=${b}`], task: ['b'], language: ['a'], bottom: 2, top: 1 };
    const { experts, proposals } = await analyze(named, { out: join(root, 'named') });
    expect(experts).toHaveLength(2);
    expect(proposals).toMatchObject([{ task: 'b', language: 'a' }]);
  });

  it.each<[string, (family: Family) => Partial<AnalyzeParameters>, RegExp | { code: string }]>([
    ['a missing model', ({ root }) => ({ task: [join(root, 'none')] }), { code: 'MODEL_NOT_FOUND' }],
    ['a word without experts', () => ({ task: ['none'] }), { code: 'MODEL_NOT_FOUND' }],
    [
      'a model of both roles',
      ({ a }) => ({ task: [a], language: [`${a}/`] }),
      /one role for an expert; a is/,
    ],
    [
      'another model of one name',
      ({ a, b }) => ({ experts: [`x=${a}`], task: [`x=${b}`] }),
      { code: 'NAME_CLASH' },
    ],
  ])('refuse %s, and write nothing', async (_, of, expected) => {
    const family = writeFamily();
    const out = join(family.root, 'none');
    const refused = expect(analyze({ base: family.base, bottom: 2, top: 1, ...of(family) }, { out })).rejects;
    await (expected instanceof RegExp ? refused.toThrow(expected) : refused.toMatchObject(expected));
    expect(existsSync(out)).toBe(false);
  });
});
