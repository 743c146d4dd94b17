import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { checkTaskData } from '../../src/api/task-data.js';
import { benchmarks, dataOf } from '../../src/study/evaluation/data/benchmarks.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { writeChoices, writeMgsm } from '../fixtures/evaluation-data.js';

const stateOf = async (directory: string, task: string) =>
  (await checkTaskData(directory)).tasks.find((one) => one.task === task);

describe('a directory of local data', () => {
  it('is read as an evaluation does, task by task', async () => {
    const data = writeMgsm(temporaryDirectory(), 20);
    mkdirSync(join(data, 'belebele'));
    const row = { flores_passage: 'p', question: 'q', correct_answer_num: '2' };
    const answers = { mc_answer1: 'a', mc_answer2: 'b', mc_answer3: 'c', mc_answer4: 'd' };
    const file = join(data, 'belebele', 'swh_Latn.jsonl');
    writeFileSync(file, `${JSON.stringify({ ...row, ...answers })}\n`);
    const { tasks, absent } = await checkTaskData(data);
    expect(
      tasks.filter(({ state }) => state === 'there').map(({ task, problems }) => [task, problems]),
    ).toEqual([
      ['layerloom_mgsm_en', 20],
      ['layerloom_mgsm_ja', 20],
      ['layerloom_mgsm_sw', 20],
      ['belebele_swh_Latn', 1],
      ['layerloom_mgsm_ppl_en', 20],
      ['layerloom_mgsm_ppl_ja', 20],
      ['layerloom_mgsm_ppl_sw', 20],
    ]);
    expect(absent.map(({ benchmark }) => benchmark)).toEqual([
      ...['FLORES-200', 'MMLU', 'MBPP', 'MGSM-Rev2', 'MGSM-Pro', 'AfriMGSM', 'AfriMMLU', 'AfriXNLI', 'XNLI'],
      ...['Global-MMLU-Lite', 'MMLU-ProX', 'MMLU-ProX-Lite', 'INCLUDE', 'AIME 2024', 'AIME 2025'],
      ...['GPQA diamond', 'GPQA main'],
    ]);
    expect(await stateOf(data, 'layerloom_mgsm_te')).toMatchObject({
      state: 'missing',
      language: 'telugu',
      reason: expect.stringContaining('mgsm_te.tsv'),
    });
    writeFileSync(file, `${JSON.stringify({ ...row, ...answers, mc_answer3: '' })}\n`);
    expect(await stateOf(data, 'belebele_swh_Latn')).toMatchObject({
      state: 'invalid',
      reason: expect.stringMatching(/swh_Latn\.jsonl:1: column mc_answer3/),
    });
  });

  it('has the problems of all subjects of a group, without their examples', async () => {
    const data = writeChoices(temporaryDirectory());
    for (const task of ['mmlu', 'global_mmlu_full_sw'])
      expect(await stateOf(data, task)).toMatchObject({ state: 'there', problems: 57 * 2 });
  });

  it('may hold a directory in place of a file, which is named', async () => {
    const data = writeMgsm(temporaryDirectory(), 20);
    mkdirSync(join(data, 'mgsm_fr.tsv'));
    expect(await stateOf(data, 'layerloom_mgsm_fr')).toMatchObject({
      state: 'invalid',
      reason: expect.stringMatching(/mgsm_fr\.tsv.*is a directory/),
    });
  });

  it('is refused where it is none', async () => {
    await expect(checkTaskData('/no/such/directory')).rejects.toThrow('does not exist');
  });

  it('has the layout that the documents state', () => {
    const page = readFileSync(fileURLToPath(new URL('../../docs/evaluation.md', import.meta.url)), 'utf8');
    const plain = page
      .replaceAll('`', '')
      .replaceAll('swh_Latn', 'LANG')
      .replaceAll('global_mmlu/sw', 'global_mmlu/LANG')
      .replaceAll('mbpp/sw', 'mbpp/LANG');
    for (const benchmark of Object.values(benchmarks))
      for (const file of dataOf(benchmark)?.files.split(/[,;] /) ?? []) expect(plain).toContain(file);
  });
});
