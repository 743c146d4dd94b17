import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { describeSearch } from '../../src/cli/text/studies/search-text.js';
import { itemAt } from '../../src/core/base/errors/lookup.js';
import { searchExperiment } from '../../src/index.js';
import { prepareSearch } from '../../src/study/search/prepare-search.js';
import type { Scorer } from '../../src/study/search/space/experiment-landscape.js';
import type { Rows } from '../../src/study/search/space/landscape.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { experimentText, recordIn, writeExperiment } from '../fixtures/experiment.js';
import { constructedResult, seeded } from '../fixtures/scored.js';

const merges = `
  - {name: default, method: layer_swap, bottom: 2, top: 1}
  - {name: grid, method: layer_swap, bottom: [1, 2, 3], top: [0, 1, 2]}
`;

/** Scores merges: grid/b1-u0 solves 80 % of the problems, others 15 % less for each step. */
const constructedScorer = (): { score: Scorer; asked: { merges: readonly string[]; rows: Rows }[] } => {
  const asked: { merges: readonly string[]; rows: Rows }[] = [];
  return {
    asked,
    score: async (names, rows) => {
      asked.push({ merges: names, rows });
      return new Map(
        names.map((name) => {
          const groups = /\/b(?<bottom>\d)-u(?<top>\d)$/.exec(name)?.groups ?? { bottom: '2', top: '1' };
          const share = 0.8 - 0.15 * (Number(groups['bottom']) - 1 + Number(groups['top']));
          const [from, to] = rows;
          const outcomes = Array.from({ length: to - from }, (_, at) =>
            seeded(from + at)() < share ? 1 : 0,
          );
          const result = constructedResult({ model: name, scores: outcomes });
          const problems = result.problems.map((problem, at) => ({
            ...problem,
            id: from + at,
            document: `document ${from + at}`,
            prompt: `prompt ${from + at}`,
            target: `target ${from + at}`,
          }));
          return [name, { ...result, rows, problems }];
        }),
      );
    },
  };
};

const options = { task: 'mgsm_direct_sw', problems: 60, holdOut: 20, budget: '60%' } as const;

describe('a search of an experiment', { timeout: 120_000 }, () => {
  it('makes and scores what it asks for, and compares the choice on problems that it has not used', async () => {
    const { file, out } = writeExperiment(merges);
    const { score, asked } = constructedScorer();
    const result = await searchExperiment(file, { ...options, out, score });
    expect(result).toMatchObject({
      choice: 'grid/b1-u0',
      // The entry `default` is the same configuration as this one in the grid.
      default: 'grid/b2-u1',
      configurations: 9,
      language: 'swahili',
      metric: 'exact_match,flexible-extract',
      pairs: ['math-1+swh-1', 'math-1+swh-2', 'math-2+swh-1', 'math-2+swh-2'],
      rows: [0, 40],
      grid: 9 * 60 * 4,
      configuration: { method: 'layer_swap', bottom: 1, top: 0 },
      heldOut: { rows: [40, 60], n: 20, test: 't' },
    });
    expect(result.spent).toBe(
      asked.reduce((sum, { merges: of, rows: [from, to] }) => sum + of.length * (to - from), 0),
    );
    expect(result.spent).toBeLessThanOrEqual(0.6 * result.grid);
    const last = itemAt(asked, asked.length - 1);
    expect(last.merges).toHaveLength(8);
    for (const { rows } of asked.slice(0, -1)) expect(rows[1]).toBeLessThanOrEqual(40);
    for (const name of result.merges) expect(existsSync(join(out, name, 'layerloom.json'))).toBe(true);
    const { out: _out, warnings, ...record } = result;
    expect(warnings).toEqual([]);
    expect(JSON.parse(readFileSync(join(out, 'search.json'), 'utf8'))).toEqual(
      JSON.parse(JSON.stringify(record)),
    );
    expect(readFileSync(join(out, 'search.svg'), 'utf8')).toMatch(
      /^<svg [^>]*><title>[^<]*<\/title><desc>grid\/b1-u0 was chosen/,
    );
  });

  it('makes only the merges that it needs', async () => {
    const { file, out } = writeExperiment(merges);
    const { score } = constructedScorer();
    // 8 rows of 9 configurations exceed this budget even without the final comparison: the first rung omits
    // some.
    const {
      steps,
      default: standard,
      leftOut,
    } = await searchExperiment(file, {
      ...{ ...options, out, score, holdOut: 10 },
      pairs: ['math-1+swh-1'],
      budget: 90,
    });
    const asked = new Set([
      standard,
      ...steps.flatMap(({ candidates }) => candidates.map(({ name }) => name)),
    ]);
    expect(asked.size).toBeLessThan(9);
    expect(leftOut).toHaveLength(9 - asked.size);
    expect(
      recordIn(out)
        .merges.map(({ name }: { name: string }) => name)
        .sort(),
    ).toEqual([...asked].map((name) => `swahili/math-1+swh-1/${name}`).sort());
  });

  it('continues a search that was cut off, along the same path', async () => {
    const whole = writeExperiment(merges);
    const { out: _, ...expected } = await searchExperiment(whole.file, {
      ...{ ...options, out: whole.out },
      score: constructedScorer().score,
    });
    const { file, out } = writeExperiment(merges);
    for (const cut of [1, 2]) {
      const { score } = constructedScorer();
      let calls = 0;
      const failing: Scorer = (names, rows) => {
        calls += 1;
        if (calls > cut) throw new Error('cut off');
        return score(names, rows);
      };
      await expect(
        searchExperiment(file, { ...options, out, score: failing, resume: cut > 1 }),
      ).rejects.toThrow('cut off');
      expect(existsSync(join(out, 'search.json'))).toBe(false);
    }
    const { score } = constructedScorer();
    await expect(searchExperiment(file, { ...options, out, score })).rejects.toThrow('`resume`');
    const { out: __, ...resumed } = await searchExperiment(file, { ...options, out, score, resume: true });
    expect(resumed).toEqual(expected);
  });

  it('leaves out a configuration with a merge that has no score, and says so', async () => {
    const { file, out } = writeExperiment(merges);
    const { score } = constructedScorer();
    const lacking: Scorer = async (names, rows) => {
      const results = new Map(await score(names, rows));
      results.delete('swahili/math-2+swh-1/grid/b1-u0');
      return results;
    };
    const { failed, choice, warnings } = await searchExperiment(file, { ...options, out, score: lacking });
    expect(failed).toEqual(['grid/b1-u0']);
    expect(['grid/b1-u1', 'grid/b2-u0']).toContain(choice);
    expect(warnings).toEqual(['grid/b1-u0 is left out: swahili/math-2+swh-1/grid/b1-u0 has no score']);
  });

  /** An analysis by which a swap of 3 bottom and no top layers keeps everything. */
  const writeAnalysis = (root: string): string => {
    const analysis = join(root, 'analysis');
    mkdirSync(analysis);
    // The task experts changed layers 3 to 5 only, the language experts 0 to 2: bottom 3 and top 0 keep
    // everything.
    for (const [name, layers] of [
      ['math-1', [0, 0, 0, 0.3, 0.3, 0.4]],
      ['math-2', [0, 0, 0, 0.4, 0.3, 0.3]],
      ['swh-1', [0.3, 0.3, 0.4, 0, 0, 0]],
      ['swh-2', [0.4, 0.3, 0.3, 0, 0, 0]],
    ] as const)
      writeFileSync(join(analysis, `${name}.json`), JSON.stringify({ shares: { layers } }));
    return analysis;
  };

  it('takes the name of a strategy of earlier versions, with a warning', async () => {
    const { file, out } = writeExperiment(merges);
    const { score } = constructedScorer();
    const given = { ...options, out, score, pairs: ['math-1+swh-1'] };
    const { strategy, warnings } = await searchExperiment(file, { ...given, strategy: 'descent' });
    expect(strategy).toBe('halving');
    expect(warnings).toEqual([expect.stringContaining('strategy descent')]);
  });

  it('tries first what keeps most of the experts’ changes', async () => {
    const { file, root, out } = writeExperiment(merges);
    const analysis = writeAnalysis(root);
    const { score, asked } = constructedScorer();
    const { startedFromAnalysis, proposal } = await searchExperiment(file, {
      ...options,
      ...{ out, score, analysis },
    });
    expect(startedFromAnalysis).toBe(true);
    expect(proposal).toBeNull();
    expect(itemAt(itemAt(asked, 0).merges, 0)).toMatch(/\/grid\/b3-u0$/);
  });

  it('tries first the swap that the analysis proposes for the most pairs', async () => {
    const { file, root, out } = writeExperiment(merges);
    const analysis = writeAnalysis(root);
    const proposed = (task: string, language: string, bottom: number, top: number) => ({
      ...{ task, language, bottom, top },
    });
    writeFileSync(
      join(analysis, 'proposals.json'),
      JSON.stringify([
        proposed('math-1', 'swh-1', 3, 2),
        proposed('math-1', 'swh-2', 2, 2),
        proposed('math-2', 'swh-1', 2, 2),
        proposed('math-2', 'swh-2', 9, 9),
      ]),
    );
    const { score, asked } = constructedScorer();
    const search = await searchExperiment(file, { ...options, out, score, analysis });
    expect(search.proposal).toEqual({ name: 'grid/b2-u2', pairs: 2 });
    expect(itemAt(itemAt(asked, 0).merges, 0)).toMatch(/\/grid\/b2-u2$/);
    expect(describeSearch(search)).toContain(
      `first: grid/b2-u2, which the analysis proposes for 2 of ${search.pairs.length} pairs`,
    );
    expect(JSON.parse(readFileSync(join(out, 'search.json'), 'utf8')).proposal).toEqual(search.proposal);
  });

  it('refuses proposals that are none, and those that it cannot read', async () => {
    const { file, root, out } = writeExperiment(merges);
    const analysis = writeAnalysis(root);
    const proposals = join(analysis, 'proposals.json');
    writeFileSync(proposals, '[{"task": "math-1", "bottom": -1}]');
    await expect(searchExperiment(file, { ...options, out, analysis })).rejects.toMatchObject({
      code: 'ANALYSIS_MISMATCH',
      message: expect.stringContaining('proposals.json'),
    });
    rmSync(proposals);
    symlinkSync(proposals, proposals);
    await expect(searchExperiment(file, { ...options, out, analysis })).rejects.toMatchObject({
      code: 'READ_FAILED',
      details: { file: proposals },
    });
  });

  it.each([
    [
      { language: 'telugu' },
      'telugu is not a language of the experiment; choose one with `language`: swahili',
    ],
    [
      { default: 'grid/b1-u3' },
      'grid/b1-u3 is not a configuration of the experiment; did you mean grid/b1-u',
    ],
    [{ entries: ['default'] }, 'there is only one configuration'],
    [{ pairs: ['math-9+swh-1'] }, 'the experiment has no merges with this language, pair and entries'],
    [{ budget: 'half' }, 'budget: expected a number of problem-evaluations, or a share such as 25%'],
    [{ budget: 200 }, 'problem-evaluations for the search, but two configurations need'],
    [{ holdOut: 60 }, 'hold-out: expected a whole number from 1 to 59'],
    [{ task: undefined }, 'the experiment has no task of swahili; name it under evaluate'],
  ])('refuses %j', async (given, message) => {
    const { file, out } = writeExperiment(merges);
    const { score } = constructedScorer();
    await expect(searchExperiment(file, { ...options, out, score, ...given })).rejects.toThrow(message);
  });

  it('holds out a third of the problems, also of few', async () => {
    const { file, out } = writeExperiment(merges);
    const { score } = constructedScorer();
    const few = { ...options, out, score, problems: 24, holdOut: undefined, budget: '100%' };
    expect((await searchExperiment(file, few)).rows).toEqual([0, 16]);
  });

  it('takes its settings from the experiment, and checks them', async () => {
    const folder = temporaryDirectory();
    const file = join(folder, 'experiment.yaml');
    const of = (search: string) => writeFileSync(file, `${experimentText(merges)}search: ${search}\n`);
    const out = join(folder, 'out');
    of('{strategie: halving}');
    await expect(searchExperiment(file, { ...options, out })).rejects.toThrow(
      /experiment\.yaml:\d+:\d+.*strategie: unknown key of search.*did you mean strategy/s,
    );
    of('{budget: some}');
    await expect(searchExperiment(file, { ...options, out })).rejects.toThrow(/budget/);
    of('{problems: 60, hold_out: 60}');
    await expect(searchExperiment(file, { out, task: 'mgsm_direct_sw' })).rejects.toThrow(
      'hold-out: expected',
    );
  });

  it('judges by the metric of a benchmark of one’s own', async () => {
    const own = { tasks: ['riddles_sw'], metric: 'acc_norm,none' };
    const file = join(temporaryDirectory(), 'experiment.yaml');
    const evaluate = { tasks: { swahili: 'riddles_sw' }, benchmarks: { Riddles: own } };
    writeFileSync(file, `${experimentText(merges)}evaluate: ${JSON.stringify(evaluate)}\n`);
    const { task, settings } = await prepareSearch(file, {});
    expect([task, settings.metric]).toEqual(['riddles_sw', 'acc_norm,none']);
    expect((await prepareSearch(file, { metric: 'acc,none' })).settings.metric).toBe('acc,none');
  });
});
