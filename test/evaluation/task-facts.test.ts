import { describe, expect, it } from 'vitest';
import { headlineMetric, runsCode, taskOf } from '../../src/study/evaluation/data/task-facts.js';

describe('a task is known by its name', () => {
  it.each([
    ['layerloom_mgsm_sw', 'MGSM', 'swahili', 8, true],
    ['mgsm_direct_te', 'MGSM', 'telugu', 8, true],
    ['mgsm_native_cot_ja', 'MGSM', 'japanese', 8, true],
    ['mgsm_en_cot_en', 'MGSM', 'english', 8, true],
    ['layerloom_mgsm_ppl_bn', 'perplexity', 'bengali', null, false],
    ['belebele_swh_Latn', 'BELEBELE', 'swahili', 5, true],
    ['belebele_jpn_Jpan', 'BELEBELE', 'japanese', 5, true],
    ['belebele_zul_Latn', 'BELEBELE', 'zul_Latn', 5, true],
    ['global_mmlu_full_te', 'MMLU', 'telugu', 5, true],
    ['global_mmlu_full_fil', 'MMLU', 'fil', 5, true],
    ['mmlu', 'MMLU', 'english', 5, true],
    ['mbpp', 'MBPP', 'english', 0, true],
    ['layerloom_mbpp_sw', 'MBPP', 'swahili', 0, true],
    ['layerloom_flores_eng_tel', 'FLORES', 'telugu', 0, true],
    ['layerloom_flores_tel_eng', 'FLORES', 'telugu', 0, true],
  ])('%s', (task, benchmark, language, paperShots, higherIsBetter) => {
    expect(taskOf(task)).toMatchObject({ benchmark, language, paperShots, higherIsBetter });
  });

  it.each(['mmlu_anatomy', 'global_mmlu_full_sw_virology', 'layerloom_flores_eng_eng', 'hellaswag'])(
    'no benchmark of the paper: %s',
    (task) => expect(taskOf(task)).toBeUndefined(),
  );

  it('which says whether it runs what models write', () => {
    const tasks = ['mbpp', 'mbpp_plus_instruct', 'layerloom_mbpp_en', 'layerloom_mbpp_te', 'mmlu'];
    expect(tasks.filter(runsCode)).toEqual(tasks.slice(0, 4));
  });

  it('which says the direction of a translation', () => {
    expect(taskOf('layerloom_flores_eng_tel')?.direction).toBe('from English');
    expect(taskOf('layerloom_flores_tel_eng')?.direction).toBe('to English');
    expect(taskOf('mmlu')?.direction).toBeNull();
  });
});

describe('the metric a task is judged by', () => {
  const mgsm = ['alias', 'exact_match,strict-match', 'exact_match_stderr,strict-match'];

  it('is our filter’s for our tasks, and flexible-extract for the harness’s', () => {
    const metrics = [...mgsm, 'exact_match,flexible-extract', 'exact_match,last-number'];
    expect(headlineMetric('layerloom_mgsm_sw', metrics)).toBe('exact_match,last-number');
    expect(headlineMetric('mgsm_native_cot_sw', metrics)).toBe('exact_match,flexible-extract');
    expect(headlineMetric('mgsm_native_cot_sw', mgsm)).toBe('exact_match,strict-match');
  });

  it('is BLEU over characters where there is one', () => {
    expect(headlineMetric('layerloom_flores_eng_jpn', ['bleu,none', 'bleu_char,none', 'chrf,none'])).toBe(
      'bleu_char,none',
    );
    expect(headlineMetric('layerloom_flores_jpn_eng', ['chrf,none', 'bleu,none'])).toBe('bleu,none');
  });

  it('is a usual one, or the first, for other tasks', () => {
    expect(headlineMetric('hellaswag', ['acc,none', 'acc_stderr,none', 'acc_norm,none'])).toBe(
      'acc_norm,none',
    );
    expect(headlineMetric('mine', ['alias', 'f1_stderr,none', 'f1,none'])).toBe('f1,none');
    expect(headlineMetric('mine', ['alias'])).toBeUndefined();
  });
});
