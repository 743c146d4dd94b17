import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { describeSelection } from '../../src/cli/text/studies/selection-text.js';
import { type SelectParameters, selectCheckpoints, selectFromFiles } from '../../src/index.js';
import { ResultFiles } from '../../src/study/evaluation/result-files.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { cli } from '../fixtures/cli.js';
import { constructedResult, exactMatch } from '../fixtures/scored.js';

const candidates = [
  { name: 'a', scores: { mgsm: 4 } },
  { name: 'b', scores: { mgsm: 3 } },
  { name: 'c', scores: { mgsm: 2 } },
  { name: 'd', scores: { mgsm: 1 } },
];
const distances = [
  { pair: ['a', 'b'], distance: 0 },
  { pair: ['c', 'a'], distance: 0.5 },
  { pair: ['a', 'd'], distance: 1 },
  { pair: ['b', 'c'], distance: 0.5 },
  { pair: ['b', 'd'], distance: 1 },
  { pair: ['c', 'd'], distance: 0.6 },
] as const;

const namesOf = (...input: Parameters<typeof selectCheckpoints>) =>
  selectCheckpoints(...input).chosen.map(({ name }) => name);

describe('selecting checkpoints', () => {
  // By hand: scores have mean 2.5 and deviation √1.25 = 1.118, so they are 1.342, 0.447, −0.447, −1.342.
  // Distances have mean 0.6 and deviation √(0.70/6) = 0.34157. Second: b 0.447 − 1.757 = −1.309, c −0.447 −
  // 0.293 = −0.740, d −1.342 + 1.171 = −0.171. Third, nearest to a or d: b still −1.309, c (0.5 to a) still
  // −0.740.
  it('takes the best, then what balances score and distance to the nearest one chosen', () => {
    const { chosen } = selectCheckpoints({ candidates, distances });
    expect(chosen.map(({ name }) => name)).toEqual(['a', 'd', 'c']);
    expect(chosen.map(({ value }) => value)).toEqual([
      expect.closeTo(1.342, 3),
      expect.closeTo(-0.171, 3),
      expect.closeTo(-0.74, 3),
    ]);
    expect(chosen.map(({ distance }) => distance)).toEqual([null, 1, 0.5]);
    expect(chosen[1]?.next).toEqual({ name: 'c', value: expect.closeTo(-0.74, 3) });
  });

  it('takes the best scores with balance 0, and the farthest with a large one', () => {
    expect(namesOf({ candidates, distances, balance: 0 })).toEqual(['a', 'b', 'c']);
    expect(namesOf({ candidates, distances, balance: 100, count: 2 })).toEqual(['a', 'd']);
  });

  it('gives each benchmark the same weight, whatever its scale', () => {
    const scored = (name: string, mgsm: number, bleu: number) => ({ name, scores: { mgsm, bleu } });
    const of = (factor: number) => [
      scored('a', 0.2, 30 * factor),
      scored('b', 0.3, 10 * factor),
      scored('c', 0.31, 28 * factor),
    ];
    const pairs = [
      { pair: ['a', 'b'], distance: 1 },
      { pair: ['a', 'c'], distance: 1 },
      { pair: ['b', 'c'], distance: 1 },
    ] as const;
    expect(namesOf({ candidates: of(1), distances: pairs })).toEqual(['c', 'a', 'b']);
    expect(selectCheckpoints({ candidates: of(1000), distances: pairs }).scores[0]?.score).toBeCloseTo(
      selectCheckpoints({ candidates: of(1), distances: pairs }).scores[0]?.score ?? Number.NaN,
      9,
    );
  });

  it.each([
    [{ candidates: candidates.slice(0, 2), distances }, '2 candidates for 3 choices'],
    [{ candidates: [...candidates, candidates[0]], distances }, 'a has scores twice'],
    [{ candidates, distances: distances.slice(1) }, 'a and b have no distance'],
    [{ candidates, distances: [...distances, distances[0]] }, 'a and b have two distances'],
    [
      { candidates: [...candidates.slice(1), { name: 'a', scores: { mgsm: Number.NaN } }], distances },
      'a has null as its score in mgsm',
    ],
    [
      { candidates: [...candidates.slice(1), { name: 'a', scores: { bleu: 1 } }], distances },
      'a has scores in bleu, others in mgsm',
    ],
    [{ candidates, distances, count: 1.5 }, 'count: expected a whole number'],
    [{ candidates, distances, balance: -1 }, 'balance: expected a number, 0 or more'],
  ])('refuses bad input %#', (input, message) => {
    expect(() => selectCheckpoints(input as Parameters<typeof selectCheckpoints>[0])).toThrow(message);
  });
});

describe('selecting from files', () => {
  const write = (csv: string, cosines: readonly (readonly [string, string, number | null])[]) => {
    const folder = temporaryDirectory();
    writeFileSync(join(folder, 'scores.csv'), csv);
    writeFileSync(
      join(folder, 'overlap.json'),
      JSON.stringify(
        cosines.map(([a, b, cosine]) => ({ experts: [a, b], parts: [], whole: { layer: null, cosine } })),
      ),
    );
    return { scores: join(folder, 'scores.csv'), analysis: folder };
  };
  const cosines = distances.map(({ pair: [a, b], distance }) => [a, b, 1 - distance] as const);

  it('reads a table of scores and the overlaps of an analysis', async () => {
    const selection = await selectFromFiles(write('name,mgsm\na,4\nb,3\nc,2\nd,1\n', cosines));
    expect(selection.chosen.map(({ name }) => name)).toEqual(['a', 'd', 'c']);
    expect(describeSelection(selection)).toMatch(/2 {2}d +-1\.34 +1\.000 +\+1\.17 +-0\.17 +c -0\.74/);
  });

  describe('of an experiment, by role', () => {
    const [belebele, from, to, mgsmTask, perplexity] = [
      'belebele_swh_Latn',
      'layerloom_flores_eng_swh',
      'layerloom_flores_swh_eng',
      'mgsm_direct_sw',
      'layerloom_mgsm_ppl_sw',
    ];
    /** By model: BELEBELE, FLORES in both directions, MGSM, perplexity. */
    const figures: Readonly<Record<string, readonly number[]>> = {
      base: [0.3, 10, 10, 0.1, 4],
      'swh-1': [0.5, 20, 12, 0.2, 3],
      'swh-2': [0.4, 12, 24, 0.15, 3.5],
      'swh-3': [0.6, 30, 30, 0.05, 2],
      'math-1': [0.2, 5, 5, 0.5, 5],
      'math-2': [0.1, 4, 4, 0.6, 6],
    };
    const study = async (evaluate?: object) => {
      const folder = temporaryDirectory();
      const files = new ResultFiles(folder);
      const references = [];
      for (const [name, values] of Object.entries(figures)) {
        const scores: Record<string, unknown> = {};
        for (const [at, task] of [belebele, from, to, mgsmTask, perplexity].entries()) {
          const metric = ['acc,none', 'bleu,none', 'bleu,none', exactMatch, 'byte_perplexity,none'][at] ?? '';
          const result = constructedResult({
            ...{ model: name, task, scores: [1, 0], metric, value: values[at] ?? 0, higherIsBetter: at < 4 },
          });
          const { file } = await files.write(result, {});
          const { taskVersion, fewshot, n, rows, metrics } = result;
          scores[task] = { taskVersion, fewshot, n, rows, metrics, result: `evaluations/${file}` };
        }
        const isLanguage = name.startsWith('swh');
        references.push({
          ...{ name, model: `${name}=./${name}`, languages: ['swahili'], scores },
          role: name === 'base' ? 'base' : isLanguage ? 'language' : 'task',
          ...(isLanguage ? { expertIn: ['swahili'] } : {}),
        });
      }
      writeFileSync(
        join(folder, 'experiment.json'),
        JSON.stringify({
          ...{ layerloom: '0.1.0', state: 'done', experiment: '', base: null, store: '', cost: {} },
          ...{ merges: [], references, bytesRead: 0, bytesWritten: 0, seconds: 0 },
          ...(evaluate === undefined ? {} : { evaluate }),
        }),
      );
      const names = Object.keys(figures).filter((name) => name !== 'base');
      const pairs = names.flatMap((a, at) => names.slice(at + 1).map((b) => ({ experts: [a, b] })));
      writeFileSync(
        join(folder, 'overlap.json'),
        JSON.stringify(pairs.map((of) => ({ ...of, parts: [], whole: { layer: null, cosine: 0.5 } }))),
      );
      return { scores: folder, analysis: folder };
    };
    const chosenOf = async (more: Partial<SelectParameters>) =>
      (await selectFromFiles({ ...(await study()), count: 2, ...more })).chosen.map(
        ({ role, name }) => `${role} ${name}`,
      );

    it('chooses of task experts and of the experts of a language each by themselves', async () => {
      expect(await chosenOf({})).toEqual(['swahili swh-3', 'swahili swh-1', 'task math-1', 'task math-2']);
      expect(await chosenOf({ role: ['task'], tasks: ['MGSM'] })).toEqual(['task math-2', 'task math-1']);
    });

    it('chooses by some tasks or benchmarks, with weights, of those that are at least as good as asked', async () => {
      const swahili = { role: ['swahili'], count: 1 };
      expect(await chosenOf({ ...swahili, tasks: ['belebele', 'FLORES'] })).toEqual(['swahili swh-3']);
      // As in the paper: primarily BELEBELE and FLORES, with slight gains elsewhere.
      const selection = await selectFromFiles({
        ...(await study()),
        ...{ ...swahili, tasks: ['BELEBELE', 'FLORES'], atLeast: { MGSM: 'base+0.02' } },
      });
      expect(selection.chosen.map(({ name }) => name)).toEqual(['swh-1']);
      expect(selection.leftOut).toEqual([
        {
          role: 'swahili',
          name: 'swh-3',
          benchmark: mgsmTask,
          score: 0.05,
          atLeast: expect.closeTo(0.12, 9),
        },
      ]);
      // A benchmark's tasks share its weight.
      expect(selection.weights.map(({ task, weight }) => [task, weight])).toEqual([
        [belebele, 1],
        [from, 0.5],
        [to, 0.5],
      ]);
      expect(describeSelection(selection)).toMatch(/excluded: swh-3, mgsm_direct_sw 0\.05, at least 0\.12/);
      const rest = { ...swahili, atLeast: { MGSM: 'base' }, tasks: [belebele, from, to] };
      expect(await chosenOf({ ...rest, weights: { [to]: 5 } })).toEqual(['swahili swh-2']);
    });

    it('chooses by other tasks than those that judge the merges', async () => {
      const evaluate = { tasks: { swahili: [perplexity, belebele, mgsmTask] } };
      const selection = await selectFromFiles({ ...(await study(evaluate)), count: 1 });
      expect(new Set(selection.weights.map(({ task }) => task))).toEqual(
        new Set([belebele, from, to, mgsmTask]),
      );
      expect(selection.spared).toEqual([perplexity]);
      expect(selection.measured).not.toHaveProperty(perplexity);
      expect(describeSelection(selection)).toContain(
        `${perplexity} did not count, because it scores the merges`,
      );
      const named = { ...(await study(evaluate)), count: 1, tasks: [perplexity] };
      expect((await selectFromFiles(named)).spared).toEqual([]);
    });

    it('chooses by a benchmark of one’s own, and by its metric', async () => {
      const evaluate = {
        tasks: { swahili: [mgsmTask, belebele] },
        benchmarks: { Reading: { tasks: [belebele], metric: 'acc,none' } },
      };
      const { weights } = await selectFromFiles({
        ...{ ...(await study(evaluate)), count: 1, role: ['task'], tasks: ['reading'] },
      });
      expect(weights).toEqual([{ role: 'task', task: belebele, weight: 1 }]);
    });

    it('takes a bound of a perplexity for the most that it may be', async () => {
      const { leftOut } = await selectFromFiles({
        ...{ ...(await study()), role: ['swahili'], count: 1, atLeast: { [perplexity]: 3.2 } },
      });
      expect(leftOut).toMatchObject([{ name: 'swh-2', score: 3.5, atLeast: 3.2 }]);
    });

    it.each([
      [
        { tasks: ['MMLU'] },
        'not all candidates of swahili have scores in MMLU; choose among belebele_swh_Latn',
      ],
      [{ role: ['telugu'] }, 'has no candidates of the role telugu; choose among swahili, task'],
      [{ weights: { MGSM: -1 } }, 'the weight of MGSM is -1'],
      [{ weights: { MGSM: 'much' as unknown as number } }, 'the weight of MGSM is "much"'],
      [{ tasks: ['MGSM'], weights: { FLORES: 1 } }, 'FLORES has a weight, but is not among the tasks'],
      [{ tasks: ['MGSM'], weights: { MGSM: 0 } }, 'all weights are 0'],
      [
        { atLeast: { MGSM: 'better' } },
        'the minimum score in MGSM is "better"; give a number, base, or base+0.005',
      ],
      [
        { role: ['task'], atLeast: { MGSM: 0.55 } },
        '1 candidates for 2 choices; below `atLeast`: math-1 in mgsm',
      ],
    ])('refuses %j', async (more, message) => {
      await expect(chosenOf(more)).rejects.toThrow(message);
    });
  });

  it('chooses by role in a table, and takes its row of the base for bounds', async () => {
    const table = 'name,role,mgsm,mbpp\na,x,4,2\nb,x,3,1.2\nc,y,2,1\nd,y,1,1.5\nbase,,0,1.1\n';
    const { chosen, leftOut } = await selectFromFiles({
      ...write(table, cosines),
      ...{ count: 1, tasks: ['mgsm'], atLeast: { mbpp: 'base+0.1' } },
    });
    expect(chosen.map(({ role, name }) => [role, name])).toEqual([
      ['x', 'a'],
      ['y', 'd'],
    ]);
    expect(leftOut.map(({ name }) => name)).toEqual(['c']);
  });

  it.each([
    ['a,4\n', 'lacks a column name'],
    ['name,mgsm\na,4\nb,x\nc,2\n', 'has "x" as a score of b'],
    ['name,mgsm\na,4\nb\nc,2\n', 'line 3:'],
    ['name,mgsm\na,4\nb,\nc,2\n', 'has "" as a score of b'],
    ['name,mgsm\na,4\na,3\nc,2\n', 'a has scores twice'],
    ['name,mgsm\n', 'has no scores of checkpoints'],
    ['name,mgsm\nbase,4\n', 'has no scores of checkpoints'],
    ['name,mgsm, mgsm\na,4,1\nb,3,2\n', 'has two columns mgsm; give each column a different name'],
  ])('refuses a faulty table %#', async (csv, message) => {
    await expect(selectFromFiles(write(csv, cosines))).rejects.toThrow(message);
  });

  it('says what a table without roles lacks', async () => {
    const given = write('name,mgsm\na,4\nb,3\nc,2\n', cosines);
    await expect(selectFromFiles({ ...given, role: ['swahili'] })).rejects.toThrow(
      /has no candidates of the role swahili; omit `role`, or add a column role/,
    );
  });

  it('replaces no file but an earlier choice', async () => {
    const { scores, analysis } = write('name,mgsm\na,4\nb,3\nc,2\nd,1\n', cosines);
    const select = (out: string) => cli(['select', '--scores', scores, '--analysis', analysis, '-o', out]);
    expect(await select(scores)).toMatchObject({ code: 2, stdout: '' });
    expect(readFileSync(scores, 'utf8')).toContain('name,mgsm');
    const out = join(analysis, 'selection.json');
    expect(await select(out)).toMatchObject({ code: 0 });
    expect(await select(out)).toMatchObject({ code: 0 });
  });

  it('refuses an analysis without overlaps, or with one that has no cosine', async () => {
    const given = write('name,mgsm\na,4\nb,3\nc,2\n', [['a', 'b', null]]);
    await expect(selectFromFiles(given)).rejects.toThrow(
      'has no cosine of a and b; remove the one that equals',
    );
    await expect(selectFromFiles({ ...given, analysis: join(given.analysis, 'none') })).rejects.toThrow(
      /overlap\.json cannot be read.*layerloom analyze --base/,
    );
  });
});
