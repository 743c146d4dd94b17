import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { describeEvaluation } from '../../src/cli/text/studies/evaluation-text.js';
import { batchCommand } from '../../src/cli/work/studies/batch.js';
import { evaluateExperiment, runExperiment } from '../../src/index.js';
import { misspelt } from '../../src/study/evaluation/data/local/local-data.js';
import { shippedTasks } from '../../src/study/evaluation/data/prepare-tasks.js';
import { checkExperimentTasks } from '../../src/study/experiment/scoring/requests/check-tasks.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { stubHarness } from '../fixtures/evaluation-errors.js';
import { writeExperiment } from '../fixtures/experiment.js';

const written = (evaluate: object) => {
  const made = writeExperiment('\n  - {name: soup, method: soup}\n', { layers: 2 });
  writeFileSync(made.file, `${readFileSync(made.file, 'utf8')}\nevaluate: ${JSON.stringify(evaluate)}\n`);
  return made;
};

const withHarness = async <T>(isThere: boolean, work: () => Promise<T>): Promise<T> => {
  const folder = temporaryDirectory();
  if (isThere)
    writeFileSync(join(folder, 'lm_eval'), `#!/bin/sh\nexec ${stubHarness} "$@"\n`, { mode: 0o755 });
  const { PATH } = process.env;
  process.env['PATH'] = isThere ? `${folder}:${PATH}` : folder;
  try {
    return await work();
  } finally {
    process.env['PATH'] = PATH;
  }
};

describe('tasks, before anything is scored', () => {
  it.each([
    ['layerloom_mgsm_swa', 'layerloom_mgsm_sw'],
    ['layerloom_flores_eng_sw', 'layerloom_flores_eng_swh'],
    ['layerloom_mgsm_ppl_zz', 'layerloom_mgsm_ppl_zh'],
  ])('of the package’s own names are refused wherever the experiment is read: %s', async (task, meant) => {
    const { file, out } = written({ tasks: { swahili: task } });
    const refused = { code: 'RECIPE_INVALID', message: expect.stringContaining(`did you mean ${meant}?`) };
    await withHarness(false, async () => {
      await expect(batchCommand({ experiment: file, dryRun: true, quiet: true })).rejects.toMatchObject(
        refused,
      );
      await expect(runExperiment(file, { out })).rejects.toMatchObject(refused);
    });
  });

  it('of the package are those that it has files of', () => {
    const files = readdirSync(shippedTasks).filter((name) => name.endsWith('.yaml'));
    for (const file of files) expect([file, misspelt(file.replace('.yaml', ''))]).toEqual([file, undefined]);
    // MBPP of ten languages, FLORES in both directions, MGSM-Rev2 and MGSM-Pro have no files of their own.
    expect(misspelt('layerloom_none')).toHaveLength(files.length + 10 + 20 + 11 + 5);
  });

  it('have their data read by a dry run, which needs no harness', async () => {
    const data = temporaryDirectory();
    const { file } = written({ tasks: { swahili: 'layerloom_mgsm_sw' }, data });
    const dryRun = () =>
      withHarness(false, () => batchCommand({ experiment: file, dryRun: true, quiet: true }));
    await expect(dryRun()).rejects.toMatchObject({ code: 'DATA_MISSING' });
    mkdirSync(data, { recursive: true });
    writeFileSync(join(data, 'exemplars.json'), JSON.stringify({ sw: { 1: { q: 'q', a: '1' } } }));
    writeFileSync(join(data, 'mgsm_sw.tsv'), 'a question without an answer\n');
    await expect(dryRun()).rejects.toMatchObject({ code: 'DATA_INVALID' });
    writeFileSync(join(data, 'mgsm_sw.tsv'), 'a question\t7\n');
    await dryRun();
  });

  it('of the harness are asked of it in one call, and unchecked where it is not installed', async () => {
    const evaluate = { tasks: { swahili: ['belebele_swh_Latn', 'belebele_swh_Latin', 'mgsm_direct_sw'] } };
    const asked = await withHarness(true, () => checkExperimentTasks({ evaluate }));
    expect([...asked.failed].map(([task, { code }]) => [task, code])).toEqual([
      ['belebele_swh_Latin', 'TASK_UNKNOWN'],
    ]);
    expect(await withHarness(false, () => checkExperimentTasks({ evaluate }))).toEqual({
      failed: new Map(),
      unchecked: ['belebele_swh_Latn', 'belebele_swh_Latin'],
    });
  });
});

describe('the end of an evaluation', () => {
  it('counts scores that are there, none where no task could be run', async () => {
    const { file, out } = written({ tasks: { swahili: 'no_such_task' } });
    await runExperiment(file, { out });
    const impossible: string[] = [];
    const outcome = await evaluateExperiment(out, {
      lmEval: stubHarness,
      onImpossible: (task) => impossible.push(task),
    });
    expect([outcome.scored, outcome.kept, outcome.results]).toEqual([[], [], { made: 0, there: 0 }]);
    expect(impossible).toEqual(['no_such_task']);
    expect(describeEvaluation(outcome)).toContain('0 scores made, 0 existed');
  });

  it('counts a score a task: made first, there before afterwards', async () => {
    const { file, out } = written({ tasks: { swahili: ['mgsm_direct_sw', 'stub_perplexity'] } });
    await runExperiment(file, { out });
    const options = { lmEval: stubHarness, only: ['base', 'swh-1'] };
    expect((await evaluateExperiment(out, options)).results).toEqual({ made: 4, there: 0 });
    expect((await evaluateExperiment(out, options)).results).toEqual({ made: 0, there: 4 });
  });
});
