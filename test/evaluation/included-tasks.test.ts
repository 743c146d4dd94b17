import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { evaluateExperiment, evaluationCommands, runExperiment } from '../../src/index.js';
import { readIncludedTasks } from '../../src/study/evaluation/data/included-tasks.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { stubHarness as lmEval } from '../fixtures/evaluation-errors.js';
import { writeExperiment } from '../fixtures/experiment.js';

const folderOf = (files: Readonly<Record<string, string>>): string => {
  const directory = temporaryDirectory();
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(directory, name, '..'), { recursive: true });
    writeFileSync(join(directory, name), text);
  }
  return directory;
};

const made = async (evaluate: object) => {
  const { file, out } = writeExperiment('\n  - {name: soup, method: soup}\n', { layers: 2 });
  writeFileSync(file, `\nevaluate: ${JSON.stringify(evaluate)}\n`, { flag: 'a' });
  await runExperiment(file, { out });
  return out;
};

describe('a folder of task files', () => {
  it('defines tasks and groups at any depth, by their own names or those that they include', async () => {
    const directory = folderOf({
      'a.yaml': 'task: a\ndoc_to_text: !function utils.text\n',
      'deep/b.yaml': 'group: b\ntask: [a]\n',
      'deep/c.yaml': 'include: ../c_template\n',
      c_template: 'task: c\n',
      'no-task.yaml': 'something: else\n',
      'broken.yaml': 'task: [\n',
      '__pycache__/a.yaml': 'task: a\n',
    });
    expect([...(await readIncludedTasks([directory]))]).toEqual([
      ['a', { directory, file: 'a.yaml' }],
      ['b', { directory, file: 'deep/b.yaml' }],
      ['c', { directory, file: 'deep/c.yaml' }],
    ]);
  });

  it.each([
    [
      { 'a.yaml': 'task: riddles', 'b/a.yaml': 'task: riddles' },
      'a.yaml and b/a.yaml both define the task riddles',
    ],
    [{ 'a.yaml': 'task: layerloom_mgsm_sw' }, 'a.yaml defines layerloom_mgsm_sw'],
  ])('that defines a task twice, or one of layerloom’s, is refused: %j', async (files, reason) => {
    await expect(readIncludedTasks([folderOf(files as Record<string, string>)])).rejects.toMatchObject({
      code: 'INCLUDE_INVALID',
      message: expect.stringContaining(reason),
    });
  });

  it('is used beside the package’s own tasks', async () => {
    const include = folderOf({ 'riddles.yaml': 'task: riddles\n' });
    const out = await made({ tasks: { swahili: ['riddles', 'layerloom_mgsm_ppl_sw'] }, include });
    const outcome = await evaluateExperiment(out, { lmEval, only: ['base'] });
    expect([outcome.failed, outcome.results]).toEqual([[], { made: 2, there: 0 }]);
    const [run] = await evaluationCommands(out, { lmEval, only: ['swh-1'] });
    const config = JSON.parse(readFileSync(run?.command.split(' ').at(-1) ?? '', 'utf8'));
    expect(config.include_path).toEqual([expect.stringMatching(/\/tasks$/), include]);
  });

  it('may be one of several, which define different tasks', async () => {
    const include = [
      folderOf({ 'riddles.yaml': 'task: riddles\n' }),
      folderOf({ 'proverbs.yaml': 'task: proverbs\n' }),
    ];
    const out = await made({ tasks: { swahili: ['riddles', 'proverbs'] }, include });
    const { failed, results } = await evaluateExperiment(out, { lmEval, only: ['base'] });
    expect([failed, results]).toEqual([[], { made: 2, there: 0 }]);
    const [run] = await evaluationCommands(out, { lmEval, only: ['swh-1'] });
    const config = JSON.parse(readFileSync(run?.command.split(' ').at(-1) ?? '', 'utf8'));
    expect(config.include_path).toEqual(include);
    const [first = '', second = ''] = include;
    writeFileSync(join(second, 'more.yaml'), 'task: riddles\n');
    await expect(readIncludedTasks(include)).rejects.toMatchObject({
      code: 'INCLUDE_INVALID',
      message: expect.stringContaining(
        `${join(first, 'riddles.yaml')} and more.yaml both define the task riddles`,
      ),
    });
  });

  it('that defines a task of the harness fails that task alone', async () => {
    const include = folderOf({ 'a.yaml': 'task: mgsm_direct_sw\n', 'riddles.yaml': 'task: riddles\n' });
    const out = await made({ tasks: { swahili: ['riddles', 'mgsm_direct_sw'] }, include });
    const { failed, results } = await evaluateExperiment(out, { lmEval, only: ['base'] });
    expect(results.made).toBe(1);
    expect(failed.map(({ model, code, message }) => [model, code, message])).toEqual([
      [
        'mgsm_direct_sw',
        'INCLUDE_INVALID',
        expect.stringContaining('the harness already has a task mgsm_direct_sw'),
      ],
    ]);
  });

  it('of an experiment that was made elsewhere is not used without a word', async () => {
    const include = folderOf({ 'riddles.yaml': 'task: riddles\n' });
    const out = await made({ tasks: { swahili: 'riddles' }, include });
    const moved = join(temporaryDirectory(), 'moved');
    renameSync(out, moved);
    await expect(evaluateExperiment(moved, { lmEval })).rejects.toMatchObject({
      code: 'SERVE_NOT_ALLOWED',
      message: expect.stringContaining(`include: ${include}`),
    });
  });

  it('does not stand beside the harness’s own argument', async () => {
    const evaluate = {
      tasks: { swahili: 'riddles' },
      include: '.',
      arguments: ['--include_path', '/elsewhere'],
    };
    await expect(made(evaluate)).rejects.toMatchObject({
      code: 'RECIPE_INVALID',
      message: expect.stringContaining('include: is set together with the argument include_path'),
    });
  });
});
