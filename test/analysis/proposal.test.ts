import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { describeAnalysis } from '../../src/cli/text/models/analysis-summary.js';
import { layerProfile } from '../../src/core/measure/analysis/advice/layer-profile.js';
import { proposalOf, proposalsOf } from '../../src/core/measure/analysis/advice/proposal.js';
import { analyze } from '../../src/index.js';
import { proposedSwaps } from '../../src/study/pages/analysis/proposed-swaps.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { writeFamily } from '../fixtures/family.js';
import { constructedVectors } from '../fixtures/mav-vectors.js';
import { publishedProfile } from '../fixtures/published-profile.js';

const withEnds = (bottom: number, top: number, ends: number): number[] => {
  const layers = Array.from({ length: 32 }, (_, layer) => (layer < bottom || layer >= 32 - top ? ends : 1));
  const total = layers.reduce((sum, share) => sum + share, 0);
  return layers.map((share) => share / total);
};

const even = withEnds(0, 0, 1);

describe('the numbers of layers that an analysis proposes', () => {
  // The paper's default is 5 and 2; §4.2 found 3 to 5 and 0 to 2 effective.
  it.each([
    ['4-math-1', '6-swahili-1', [5, 2], [2, 22], [1, 2]],
    ['4-math-1', '7-japanese-1', [5, 2], [2, 18], [1, 2]],
    ['4-math-1', '8-telugu-1', [5, 1], [1, 18], [0, 1]],
    ['4-math-1', '9-bengali-1', [5, 0], [2, 20], [0, 0]],
    ['5-math-2', '6-swahili-1', [5, 1], [2, 27], [0, 1]],
    ['5-math-2', '7-japanese-1', [5, 0], [2, 18], [0, 0]],
    ['5-math-2', '8-telugu-1', [5, 0], [1, 18], [0, 0]],
    ['5-math-2', '9-bengali-1', [5, 0], [2, 20], [0, 0]],
  ] as const)(
    'are in the ranges of the paper for the published figures %s and %s',
    (task, language, [bottom, top], bottomRange, topRange) => {
      const proposal = proposalOf(publishedProfile(task), publishedProfile(language));
      expect(proposal).toMatchObject({ bottom, top, bottomRange, topRange });
      expect(proposal.concerns).toEqual(top === 0 ? ['language in the middle'] : []);
    },
  );

  it('are the default where nothing tells the experts apart, with a warning that both changed the same', () => {
    expect(proposalOf(even, even)).toMatchObject({
      ...{ bottom: 5, top: 2, bottomRange: [0, 32], topRange: [0, 27], concerns: ['same layers'] },
      kept: { task: expect.closeTo(25 / 32), language: expect.closeTo(7 / 32) },
    });
  });

  it('are those of a language expert that changed more layers at its ends, and never those of the task', () => {
    expect(proposalOf(even, withEnds(9, 4, 6))).toMatchObject({ bottom: 9, top: 4, concerns: [] });
    expect(proposalOf(withEnds(29, 0, 3), withEnds(0, 3, 9))).toMatchObject({ bottom: 0, top: 3 });
    expect(proposalOf(withEnds(3, 3, 9), even)).toMatchObject({ bottom: 0, top: 0, concerns: ['no layers'] });
  });

  it('are scaled to the number of layers', () => {
    const eight = Array.from({ length: 8 }, () => 1 / 8);
    expect(proposalOf(eight, eight)).toMatchObject({ bottom: 1, top: 1 });
  });
});

describe('proposals of an analysis', () => {
  const [math, swahili] = [
    constructedVectors('math', { layers: 16, peak: 8 }),
    constructedVectors('swh', { layers: 16, peak: 0 }),
  ];
  const roles = new Map([
    ['math', 'task'],
    ['swh', 'language'],
  ] as const);

  it('are of every pair of a task and a language expert, from the eighth of the rows of the largest MAV', () => {
    const profile = layerProfile(swahili) ?? [];
    expect(profile.reduce((sum, share) => sum + share)).toBeCloseTo(1);
    expect(profile[0]).toBeGreaterThan(2 / 16);
    expect(profile[12]).toBe(0);
    const experts = [math, swahili, constructedVectors('other', { layers: 16, peak: 4 })];
    const [proposal, ...others] = proposalsOf(experts, roles);
    expect(others).toEqual([]);
    expect(proposal).toMatchObject({ task: 'math', language: 'swh', concerns: [] });
    expect(proposal?.bottom).toBeGreaterThanOrEqual(3);
    expect(proposal?.kept.language).toBeGreaterThan(0.6);
  });

  it('leave out an expert that changed nothing', () => {
    const still = {
      ...swahili,
      vectors: new Map([...swahili.vectors].map(([name, { length }]) => [name, new Float32Array(length)])),
    };
    expect(proposalsOf([math, still], roles)).toEqual([]);
  });

  it('say in words why one is to be doubted', () => {
    const twins = [math, { ...math, name: 'swh' }];
    expect(proposedSwaps(twins, roles)[0]?.warnings).toEqual([
      expect.stringMatching(
        /^math & swh: most of swh's changes lie in the middle; the \d layers taken from it have/,
      ),
      'math & swh: both changed the same layers (100.0 % of their largest changes), so any swap loses much of one',
    ]);
  });

  it('are in the result, in proposals.json and in the text with the command, and only where roles are given', async () => {
    const { root, base, a, b } = writeFamily();
    const of = { base, experts: [a, `swh=${b}`], bottom: 2, top: 1 };
    const out = join(root, 'analysis');
    const result = await analyze({ ...of, task: ['a'], language: ['swh'] }, { out });
    const [proposal] = result.proposals;
    expect(proposal).toMatchObject({ task: 'a', language: 'swh' });
    expect(proposal?.command).toBe(
      `layerloom swap --task ${a} --lang swh=${b} --bottom ${proposal?.bottom} --top ${proposal?.top} -o merged-a-swh`,
    );
    expect(JSON.parse(readFileSync(join(out, 'proposals.json'), 'utf8'))).toEqual(result.proposals);
    expect(describeAnalysis(result, 2, 1).split('\n')).toContain(proposal?.command);

    const without = await analyze({ ...of, task: ['a'] }, { out });
    expect(without.proposals).toEqual([]);
    expect(existsSync(join(out, 'proposals.json'))).toBe(false);
    expect(describeAnalysis(without, 2, 1)).not.toContain('Proposed');
    await expect(
      analyze({ base, experts: [`proposals=${a}`] }, { out: join(temporaryDirectory(), 'out') }),
    ).rejects.toThrow(/proposals\.json is reserved for another file/);
  });
});
