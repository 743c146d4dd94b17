import { describe, expect, it } from 'vitest';
import {
  generatesNothing,
  headlineMetric,
  runsCode,
  taskOf,
} from '../../src/study/evaluation/data/task-facts.js';

describe('a task is known by its name', () => {
  it.each([
    ['layerloom_mgsm_sw', 'MGSM', 'swahili', 8, true],
    ['mgsm_direct_te', 'MGSM', 'telugu', 8, true],
    ['mgsm_native_cot_ja', 'MGSM', 'japanese', 8, true],
    ['mgsm_en_cot_en', 'MGSM', 'english', 8, true],
    ['layerloom_mgsm_ppl_bn', 'perplexity', 'bengali', null, false],
    ['belebele_swh_Latn', 'BELEBELE', 'swahili', 5, true],
    ['belebele_jpn_Jpan', 'BELEBELE', 'japanese', 5, true],
    ['belebele_zul_Latn', 'BELEBELE', 'zulu', 5, true],
    ['belebele_acm_Arab', 'BELEBELE', 'acm_Arab', 5, true],
    ['global_mmlu_full_te', 'MMLU', 'telugu', 5, true],
    ['global_mmlu_full_fil', 'MMLU', 'tagalog', 5, true],
    ['global_mmlu_sw', 'Global-MMLU-Lite', 'swahili', 0, true],
    ['mmlu_prox_sw', 'MMLU-ProX', 'swahili', 5, true],
    ['mmlu_prox_lite_sw', 'MMLU-ProX-Lite', 'swahili', 5, true],
    ['afrimgsm_swa_prompt_1', 'AfriMGSM', 'swahili', 0, true],
    ['afrimgsm_cot_orm_prompt_3', 'afrimgsm_cot_prompt_3', 'oromo', 0, true],
    ['afrimmlu_direct_ibo_prompt_1', 'AfriMMLU', 'igbo', 0, true],
    ['afrixnli_yor_prompt_1', 'AfriXNLI', 'yoruba', 0, true],
    ['afrixnli_en_direct_yor', 'afrixnli_en_direct', 'yoruba', 0, true],
    ['xnli_sw', 'XNLI', 'swahili', 0, true],
    ['include_base_44_north_macedonian', 'INCLUDE', 'macedonian', 0, true],
    ['include_base_44_greek_few_shot_en', 'include_base_44_few_shot_en', 'greek', 0, true],
    ['aime24', 'AIME 2024', 'english', 0, true],
    ['aime25', 'AIME 2025', 'english', 0, true],
    ['gpqa_diamond_zeroshot', 'GPQA diamond', 'english', 0, true],
    ['gpqa_diamond_cot_zeroshot', 'gpqa_diamond_cot_zeroshot', 'english', 0, true],
    ['humaneval', 'HumanEval', 'english', 0, true],
    ['layerloom_mgsm_rev2_sw', 'MGSM-Rev2', 'swahili', 8, true],
    ['layerloom_mgsm_pro_sw', 'MGSM-Pro', 'swahili', 8, true],
    ['mmlu', 'MMLU', 'english', 5, true],
    ['mbpp', 'MBPP', 'english', 0, true],
    ['layerloom_mbpp_sw', 'MBPP', 'swahili', 0, true],
    ['layerloom_flores_eng_tel', 'FLORES', 'telugu', 0, true],
    ['layerloom_flores_tel_eng', 'FLORES', 'telugu', 0, true],
  ])('%s', (task, benchmark, language, shots, higherIsBetter) => {
    expect(taskOf(task)).toMatchObject({ benchmark, language, shots, higherIsBetter });
  });

  it.each([
    'mmlu_anatomy',
    'global_mmlu_full_sw_virology',
    'global_mmlu_sw_stem',
    'mmlu_prox_sw_law',
    'xnli_eu',
    'layerloom_mgsm_pro_te',
    'layerloom_flores_eng_eng',
    'hellaswag',
  ])('no declared benchmark: %s', (task) => expect(taskOf(task)).toBeUndefined());

  it('which says whether it runs what models write', () => {
    const tasks = ['mbpp', 'mbpp_plus_instruct', 'layerloom_mbpp_en', 'humaneval', 'mmlu', 'aime24'];
    expect(tasks.filter(runsCode)).toEqual(tasks.slice(0, 4));
  });

  it('which says the direction of a translation', () => {
    expect(taskOf('layerloom_flores_eng_tel')?.direction).toBe('from English');
    expect(taskOf('layerloom_flores_tel_eng')?.direction).toBe('to English');
    expect(taskOf('mmlu')?.direction).toBeNull();
  });
});

it('a task asks for answers, or for log-likelihoods alone', () => {
  const choices = ['gpqa_main_zeroshot', 'xnli_sw', 'afrimmlu_direct_swa_prompt_1', 'global_mmlu_sw', 'mmlu'];
  const answers = ['gpqa_main_cot_zeroshot', 'mmlu_prox_sw', 'aime25', 'afrimgsm_swa_prompt_1', 'humaneval'];
  expect([...choices, ...answers].filter(generatesNothing)).toEqual(choices);
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
