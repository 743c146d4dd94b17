import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { describeAnalysis } from '../../src/cli/text/models/analysis-summary.js';
import { topOverlapsOf } from '../../src/core/measure/analysis/advice/top-overlap.js';
import type { MavVectors } from '../../src/core/measure/analysis/analysis.js';
import { readVectors } from '../../src/core/measure/analysis/vectors-file.js';
import { type AnalyzeParameters, analyze } from '../../src/index.js';
import type { PageAnalysis } from '../../src/study/pages/components/data/data.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { writeFamily } from '../fixtures/family.js';
import { constructedVectors } from '../fixtures/mav-vectors.js';

const run = (parameters: AnalyzeParameters) =>
  analyze(parameters, { out: join(temporaryDirectory(), 'analysis') });

/** Rows in both tops, by ranks: a row is in a top if fewer than `count` rows rank before it. */
const commonRows = (a: Float32Array, b: Float32Array, count: number): number => {
  const isTop = (vector: Float32Array, row: number) => {
    const own = vector[row] ?? 0;
    const before = [...vector].filter((mav, other) => mav > own || (mav === own && other < row)).length;
    return own > 0 && before < count;
  };
  return [...a.keys()].filter((row) => isTop(a, row) && isTop(b, row)).length;
};

/** A layer with a single matrix. */
const vectorsOf = (name: string, mavs: readonly number[]): MavVectors => {
  const made = constructedVectors(name, { layers: 1, peak: 0 });
  const tensor = 'model.layers.0.self_attn.q_proj.weight';
  const facts = made.tensors[tensor];
  if (facts === undefined) throw new Error('no such matrix');
  const nonFiniteRows = mavs.filter(Number.isNaN).length;
  return {
    ...made,
    tensors: { [tensor]: { ...facts, rows: mavs.length, nonFiniteRows } },
    vectors: new Map([[tensor, Float32Array.from(mavs)]]),
  };
};

const ofOne = (a: readonly number[], b: readonly number[], share: number) =>
  topOverlapsOf([vectorsOf('a', a), vectorsOf('b', b)], share)[0]?.whole;

describe('the overlap of the largest changes', () => {
  it('is the number of rows of the largest MAV that both experts have, matrix by matrix', async () => {
    const { base, a, b, c } = writeFamily({ hidden: 64, layers: 3 });
    const { out, topOverlaps } = await run({ base, experts: [a, b, c], topShare: 0.2 });
    expect(topOverlaps.map(({ experts }) => experts.join())).toEqual(['a,b', 'a,c', 'b,c']);
    const vectors = await Promise.all(
      ['a', 'b', 'c'].map(
        async (name) => [name, await readVectors(join(out, `${name}.mav.safetensors`))] as const,
      ),
    );
    const of = new Map(vectors);
    for (const { experts, parts, whole } of topOverlaps) {
      const [one, two] = experts.map((name) => of.get(name));
      let [all, common, expected] = [0, 0, 0];
      for (const { layer, rows, inBoth, shared, chance } of parts) {
        let [count, both, byChance] = [0, 0, 0];
        for (const [name, { rows: n, parametersPerRow, layer: at }] of Object.entries(one?.tensors ?? {})) {
          if (at !== layer || n === 1 || parametersPerRow === 1) continue;
          const top = Math.max(1, Math.round(0.2 * n));
          count += top;
          both += commonRows(
            one?.vectors.get(name) ?? new Float32Array(),
            two?.vectors.get(name) ?? new Float32Array(),
            top,
          );
          byChance += (top * top) / n;
        }
        expect([rows, inBoth]).toEqual([count, both]);
        expect(shared).toBe(both / count);
        expect(chance).toBeCloseTo(byChance / count, 12);
        [all, common, expected] = [all + count, common + both, expected + byChance];
      }
      expect(whole).toEqual({
        layer: null,
        rows: all,
        inBoth: common,
        shared: common / all,
        chance: expect.closeTo(expected / all, 12),
      });
    }
  });

  it('is all of them for one expert twice, and none where the experts changed other rows', () => {
    const rising = Array.from({ length: 20 }, (_, row) => row + 1);
    expect(ofOne(rising, rising, 0.25)).toMatchObject({ rows: 5, inBoth: 5, shared: 1, chance: 0.25 });
    expect(ofOne(rising, rising.toReversed(), 0.25)).toMatchObject({ inBoth: 0, shared: 0 });
  });

  it('counts rows that did not change in no top, and takes the first of equal ones', () => {
    expect(ofOne([1, 0, 0, 0], [1, 1, 1, 1], 0.5)).toMatchObject({ rows: 1, inBoth: 1, chance: 0.5 });
    expect(ofOne([0, 0, 0, 0], [1, 2, 3, 4], 0.5)).toMatchObject({ rows: 0, shared: null, chance: null });
    expect(ofOne([1, 1, 1, 1], [2, 1, 0, 0], 0.5)).toMatchObject({ rows: 2, inBoth: 2 });
  });

  it('is of the rows that are finite in both', () => {
    expect(ofOne([9, Number.NaN, 1, 2], [9, 9, Number.NaN, 1], 0.5)).toMatchObject({
      rows: 1,
      inBoth: 1,
      chance: 0.5,
    });
  });

  it('is in files, text and page, the same from saved vectors, and absent where it was not asked for', async () => {
    const { base, a, b } = writeFamily();
    const result = await run({ base, experts: [a, b], topShare: 0.1 });
    const [overlap] = result.topOverlaps;
    const text = (name: string) => readFileSync(join(result.out, name), 'utf8');
    expect(JSON.parse(text('top-overlap.json'))).toEqual(result.topOverlaps);
    const lines = text('top-overlap.csv').trim().split('\n');
    expect(lines[0]).toBe('expert,other_expert,top_share,layer,rows,in_both,shared,chance');
    expect(lines).toHaveLength(2 + (overlap?.parts.length ?? 0));
    expect(lines.at(-1)).toBe(
      `a,b,0.1,all,${overlap?.whole.rows},${overlap?.whole.inBoth},${overlap?.whole.shared},${overlap?.whole.chance}`,
    );
    expect(text('a+b.top-overlap.svg')).toContain('overlap of the largest 10 % of changed rows, by layer');
    expect(describeAnalysis(result, 5, 2)).toMatch(
      /Largest changes: the 10 % of the input rows .*\n.*\n+ +pair +rows +in both +share +by chance\n +a & b/,
    );
    const data: PageAnalysis = JSON.parse(
      /<script type="application\/json" id="data">(?<json>.*?)<\/script>/s.exec(text('index.html'))?.groups?.[
        'json'
      ] ?? '',
    );
    expect(data.topOverlaps).toEqual(result.topOverlaps);
    expect(text('index.html')).toContain('Overlap of the largest changes');

    const from = ['a', 'b'].map((name) => join(result.out, `${name}.mav.safetensors`));
    expect((await run({ from, topShare: 0.1 })).topOverlaps).toEqual(result.topOverlaps);
    const without = await run({ from });
    expect(without.topOverlaps).toEqual([]);
    expect(existsSync(join(without.out, 'top-overlap.json'))).toBe(false);
  });

  it.each([0, 1, -0.1, 10, Number.NaN])('is refused for a share of %d', async (topShare) => {
    const { base, a, b } = writeFamily();
    await expect(run({ base, experts: [a, b], topShare })).rejects.toMatchObject({
      code: 'INVALID_PARAMETER',
      message: expect.stringContaining('top-share: expected a number between 0 and 1'),
    });
  });

  it('is refused for one expert', async () => {
    const { base, a } = writeFamily();
    await expect(run({ base, experts: [a], topShare: 0.1 })).rejects.toThrow(/two experts at least/);
  });
});
