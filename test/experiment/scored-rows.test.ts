import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import {
  bundle,
  evaluateExperiment,
  planEvaluation,
  planSearchExperiment,
  rebuild,
  runExperiment,
  scoreTables,
  searchExperiment,
  trainInit,
  writeReport,
} from '../../src/index.js';
import { llama, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { cli } from '../fixtures/cli.js';
import { stubHarness } from '../fixtures/evaluation-errors.js';
import { writeExperiment } from '../fixtures/experiment.js';

vi.setConfig({ testTimeout: 180_000 });

const lmEval = stubHarness;
const grid = `
  - {name: default, method: layer_swap, bottom: 2, top: 1}
  - {name: grid, method: layer_swap, bottom: [1, 2], top: [0, 1]}
`;
const task = 'mgsm_direct_sw';

const study = (evaluate: Record<string, unknown> = {}) => {
  const { root, file, out } = writeExperiment(grid, { layers: 4 });
  const block = { tasks: { swahili: [task] }, problems: '200-231', ...evaluate };
  writeFileSync(file, `${readFileSync(file, 'utf8')}\nevaluate: ${JSON.stringify(block)}\n`);
  return { root, file, out };
};

const rowsIn = (out: string): string[] => {
  const { references, merges } = JSON.parse(readFileSync(join(out, 'experiment.json'), 'utf8')) as Record<
    'references' | 'merges',
    { readonly scores?: Record<string, { readonly rows: unknown }> }[]
  >;
  const scores = [...references, ...merges].flatMap((entry) => Object.values(entry.scores ?? {}));
  return [...new Set(scores.map(({ rows }) => JSON.stringify(rows)))];
};

describe('the problems that an experiment states', () => {
  const only = ['base', 'math-1'];

  it('are those of an evaluation, of its limit and of its rows', async () => {
    const { file, out } = study();
    await runExperiment(file, { out });
    await evaluateExperiment(out, { lmEval, only, limit: 5 });
    expect(rowsIn(out)).toEqual(['[200,205]']);
    await evaluateExperiment(out, { lmEval, only, rows: [210, 214] });
    // The experiment states all its problems; for parts of them it states the most.
    expect(rowsIn(out)).toEqual(['[200,205]']);
    await evaluateExperiment(out, { lmEval, only, limit: 500 });
    expect(rowsIn(out)).toEqual(['[200,232]']);
    expect((await planEvaluation(out, { lmEval, only })).models).toEqual([]);
  });

  it.each([
    [[0, 5], '0-4'],
    [[199, 201], '199-200'],
    [[230, 233], '230-232'],
  ] as const)('are not left for the rows %j', async (rows, text) => {
    const { file, out } = study();
    await runExperiment(file, { out });
    const refused = { code: 'INVALID_PARAMETER', message: expect.stringContaining(`got "${text}"`) };
    for (const ask of [evaluateExperiment, planEvaluation])
      await expect(ask(out, { lmEval, only, rows })).rejects.toMatchObject(refused);
    expect(rowsIn(out)).toEqual([]);
  });

  it('are those that a search scores, and counts', async () => {
    const { file, out } = study();
    const options = { pairs: ['math-1+swh-1'], holdOut: 8, budget: '100%' };
    const plan = await planSearchExperiment(file, options);
    expect(plan.rows).toEqual([200, 224]);
    const { rows, heldOut } = await searchExperiment(file, { ...options, out, lmEval });
    expect(rows).toEqual([200, 224]);
    expect(heldOut?.rows ?? [224, 232]).toEqual([224, 232]);
    for (const text of rowsIn(out)) {
      const [from = 0, to = 0] = JSON.parse(text) as number[];
      expect([from >= 200, to <= 232]).toEqual([true, true]);
    }
    await expect(searchExperiment(file, { ...options, out, lmEval, problems: 33 })).rejects.toMatchObject({
      code: 'INVALID_PARAMETER',
      message: expect.stringContaining('at most 32'),
    });
  });

  it('leave out scores of other problems that are there', async () => {
    const { file, out } = study({ problems: undefined, limit: 5 });
    await runExperiment(file, { out });
    await evaluateExperiment(out, { lmEval, only });
    expect(rowsIn(out)).toEqual(['[0,5]']);
    writeFileSync(file, readFileSync(file, 'utf8').replace('"limit":5', '"problems":"200-231"'));
    const { warnings } = await runExperiment(file, { out, resume: true });
    expect(rowsIn(out)).toEqual([]);
    expect(warnings.join('\n')).toMatch(/2 results no longer count/);
  });

  it.each([
    ['200', 'the first and the last row'],
    ['20-10', 'the first and the last row'],
    ['-5-10', 'the first and the last row'],
    ['0-9999999999', 'the first and the last row'],
    ['a-b', 'the first and the last row'],
  ])('are refused as --problems %s', async (problems, reason) => {
    const { code, stderr } = await cli(['experiment', 'init', '--preset', 'smoke', `--problems=${problems}`]);
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining(reason) });
    const both = await cli(['experiment', 'init', '--preset', 'smoke', '--problems', '0-9', '--limit', '5']);
    expect(both).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--limit and --problems exclude each other'),
    });
  });
});

describe('problems that a model was trained on', () => {
  it('are named when scored, in tables and report, and others are not', async () => {
    const root = temporaryDirectory();
    const at = (...names: string[]) => join(root, ...names);
    for (const [seed, name] of ['base', 'swh'].entries())
      writeCheckpoint(at(name), llama({ layers: 4, seed }));
    // The harness asks `TASK question ROW`. A prompt has a label before it and other spaces.
    const rows = Array.from({ length: 20 }, (_, row) => ({
      prompt: `Swali:  ${task} QUESTION\t${row}`,
      completion: 'so many',
    }));
    writeFileSync(at('rows.jsonl'), rows.map((row) => JSON.stringify(row)).join('\n'));
    await trainInit(
      {
        ...{ preset: 'own-task', base: at('base'), data: [at('rows.jsonl')], devices: 1 },
        set: { steps: [4], batch_size: [8], checkpoint_every: [32] },
      },
      { out: at('training') },
    );
    writeCheckpoint(at('training', 'checkpoints', 'checkpoint-4'), llama({ layers: 4, seed: 9 }));
    const warningsOf = async (problems: string): Promise<string> => {
      const file = at(`${problems}.yaml`);
      writeFileSync(
        file,
        `base: ./base\ntasks: {math: ./training/checkpoints/checkpoint-4}\nlanguages: {swahili: {swh: ./swh}}\nmerges:\n  - {name: default, method: layer_swap, bottom: 1, top: 1}\nevaluate: {tasks: {swahili: [${task}]}, problems: ${problems}}\n`,
      );
      await runExperiment(file, { out: at(problems) });
      return (await evaluateExperiment(at(problems), { lmEval })).warnings.join('\n');
    };
    expect(await warningsOf('15-24')).toMatch(
      /5 of 10 problems of mgsm_direct_sw that were scored are in the training data of .*training/,
    );
    expect(await warningsOf('20-29')).not.toContain('in the training data');
    for (const [problems, isSaid] of [
      ['15-24', true],
      ['20-29', false],
    ] as const) {
      const told = /5 of 10 problems of mgsm_direct_sw that were scored are in the training data of/;
      const { tables, warnings } = await scoreTables(at(problems));
      expect(told.test(warnings.join('\n'))).toBe(isSaid);
      expect(tables.some(({ notes }) => notes.some((note) => told.test(note)))).toBe(isSaid);
      const report = await writeReport(at(problems), { out: at(`${problems}.html`) });
      expect(told.test(readFileSync(report.out, 'utf8'))).toBe(isSaid);
    }
    // Cards say so from the next batch on: those of later merges, and those that were there.
    const early = at('15-24', 'swahili', 'math+swh', 'default', 'README.md');
    expect(readFileSync(early, 'utf8')).not.toContain('in the training data of');
    const again = at('15-24.yaml');
    writeFileSync(
      again,
      readFileSync(again, 'utf8').replace('evaluate:', '  - {name: later, method: soup}\nevaluate:'),
    );
    await runExperiment(again, { out: at('15-24'), resume: true });
    const card = readFileSync(at('15-24', 'swahili', 'math+swh', 'later', 'README.md'), 'utf8');
    expect(card).toMatch(/5 of 10 problems of mgsm_direct_sw that were scored are in the training data of/);
    expect(readFileSync(early, 'utf8')).toMatch(
      /5 of 10 problems of mgsm_direct_sw that were scored are in the training data/,
    );
    const third = await runExperiment(again, { out: at('15-24'), resume: true });
    expect(third.merges.every(({ shards }) => shards.new === 0)).toBe(true);
    // A bundle has it, also where the training's folder is not.
    const shown = async (directory: string) => {
      const { tables, warnings } = await scoreTables(directory);
      return { tables, warnings: warnings.filter((warning) => warning.includes('in the training data')) };
    };
    const of = await shown(at('15-24'));
    expect(of.tables.map(({ id }) => id)).toEqual(expect.arrayContaining(['datasets', 'training']));
    const { sha256 } = await bundle(at('15-24'), { out: at('study.tar') });
    renameSync(at('training'), at('elsewhere'));
    await rebuild(at('study.tar'), { out: at('rebuilt') });
    expect(await shown(at('rebuilt'))).toEqual(of);
    expect(of.warnings).toHaveLength(1);
    expect(await bundle(at('rebuilt'), { out: at('again.tar') })).toMatchObject({ sha256 });
    for (const foreign of ['{"problems": 3}', '[', '']) {
      writeFileSync(at('rebuilt', 'trained.json'), foreign);
      expect((await shown(at('rebuilt'))).warnings).toEqual([]);
    }
  });
});

describe('scores by which experts were chosen', () => {
  const caveat = /chosen among checkpoints by their scores in mgsm_direct_sw \(problems 200-209\)/;

  it('are not said in cards of merges that hold what a user wrote, which are kept', async () => {
    const { file, out } = study();
    const made = await runExperiment(file, { out });
    const pair = 'swahili/math-1+swh-1/';
    const names = made.merges.flatMap(({ name }) => (name.startsWith(pair) ? [name.slice(pair.length)] : []));
    const [, second = '', third = ''] = names.toSorted();
    const at = (merge: string, name: string) => join(out, 'swahili', 'math-1+swh-1', merge, name);
    writeFileSync(at('default', 'my-eval.json'), '{}');
    const first = readFileSync(at('default', 'README.md'), 'utf8');
    const edited = at(second, 'README.md');
    writeFileSync(edited, `${readFileSync(edited, 'utf8')}mine\n`);
    writeFileSync(
      file,
      readFileSync(file, 'utf8').replace('"tasks"', `"selected_by":{"${task}":"0-49"},"tasks"`),
    );
    const { merges, warnings } = await runExperiment(file, { out, resume: true });
    expect(merges.every(({ state, weights }) => state === 'done' && weights !== undefined)).toBe(true);
    expect(warnings.filter((warning) => warning.includes('without the note'))).toEqual([
      expect.stringMatching(/default .*my-eval\.json/),
      expect.stringMatching(/^(?!.*default).*README\.md/),
    ]);
    expect(readFileSync(at('default', 'README.md'), 'utf8')).toBe(first);
    expect(readFileSync(at('default', 'my-eval.json'), 'utf8')).toBe('{}');
    expect(readFileSync(edited, 'utf8')).toMatch(/mine\n$/);
    const other = at(third, 'README.md');
    expect(readFileSync(other, 'utf8')).toContain('chosen among checkpoints');
  });

  it.each([
    ['some of the same problems', '205-214', true],
    ['other problems', '210-219', false],
  ])('are said in tables, report and model cards, where %s are scored', async (_what, problems, isSaid) => {
    const { root, file, out } = study({ problems, selected_by: { [task]: '200-209' } });
    await runExperiment(file, { out });
    const card = readFileSync(join(out, 'swahili', 'math-1+swh-1', 'default', 'README.md'), 'utf8');
    expect(card).toContain('chosen among checkpoints by their scores in mgsm_direct_sw (problems 200-209)');
    expect(card).toMatch(/^The experts were chosen .*; report others\.$/m);
    await evaluateExperiment(out, { lmEval });
    const { tables, warnings } = await scoreTables(out);
    expect(caveat.test(warnings.join('\n'))).toBe(isSaid);
    expect(tables.some(({ notes }) => notes.some((note) => caveat.test(note)))).toBe(isSaid);
    const report = await writeReport(out, { out: join(root, 'study.html') });
    expect(caveat.test(readFileSync(report.out, 'utf8'))).toBe(isSaid);
  });
});
