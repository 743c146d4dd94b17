import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { paperBenchmarks } from '../../src/study/evaluation/data/benchmarks.js';
import { taskOf } from '../../src/study/evaluation/data/task-facts.js';
import { parseEvaluation } from '../../src/study/evaluation/settings.js';
import { expandExperiment } from '../../src/study/experiment/file/expand.js';
import { experimentReferences } from '../../src/study/experiment/file/references.js';
import { experimentPreset, type PresetName, presetNames } from '../../src/study/paper/experiment.js';
import { read } from './experiments.js';

const models = {
  base: '/models/llama 3',
  tasks: { 'math-1': 'org/math', 'math-2': './math: "2"' },
  languages: { swahili: { 'swh-1': '../swh-1' }, klingon: { null: '#5', '1e5': './true' } },
};

const expanded = async (text: string) => expandExperiment(await read(text));

describe('a preset', () => {
  it.each<[PresetName, number]>([
    // A pair: default, grid with both weights, magnitude, 2 soups, 4 of TIES. Plus 2 reverted task experts;
    // then one a language, and one for all.
    ['paper', 4 * (9 * (1 + 162 + 1 + 2 + 4) + 1) + 3 * 2 + 1],
    ['smoke', 4 * 9 * 2],
    ['figure-3-max', 4 * 9],
    ['figure-3-min', 4 * 9 * 3],
    ['modular', 3],
    ['middle', 4 * 9 * 3],
    ['reasoning', 4 * 9 * 2],
    ['buffer', 4 * 9 * 3],
    ['levels', 4 * 9 * 5],
    ['checkpoints', 0],
    ['ablation', 4 * 9 * 4 * 2],
    ['choices', 4 * 9 * 5],
    ['sparsify', 3 * 7],
    // Each expert alone at 5 values of α, and each pair at 6.
    ['alpha', (3 + 4 * 3) * 5 + 4 * 9 * 6],
    ['grid', 4 * 9 * 81],
  ])('%s is an experiment as it stands', async (preset, count) => {
    expect(await expanded(experimentPreset(preset))).toHaveLength(count);
  });

  it('of the ablation has the rows of its two tables', async () => {
    const pair = (await expanded(experimentPreset('ablation'))).slice(0, 4 * 9 * 8);
    const rows = pair
      .filter(({ task, languageExpert }) => task === 'math-2' && languageExpert === 'ben-3')
      .map(({ configuration: { bottom, top, bottomTransition, topTransition } }) =>
        [bottom, top, bottomTransition, topTransition].join(),
      );
    const counts = ['0,0', '3,1', '5,2', '8,4'];
    expect(rows).toEqual([...counts.map((row) => `${row},0,0`), ...counts.map((row) => `${row},1,1`)]);
  });

  it('of modular ways merges frozen experts by freeze-then-train alone', async () => {
    const merges = await expanded(experimentPreset('modular'));
    expect(merges.map(({ name }) => name)).toEqual([
      'swahili/math+swh/layer-swapping',
      'swahili/math+swh/train-then-revert',
      'swahili/math-frozen+swh-frozen/freeze-then-train',
    ]);
  });

  it('of Fig. 3 is an end of the ranges', async () => {
    const [max] = await expanded(experimentPreset('figure-3-max'));
    const [min] = await expanded(experimentPreset('figure-3-min'));
    expect(max?.configuration).toMatchObject({ bottom: 5, top: 2, bottomTransition: 2, topTransition: 2 });
    expect(min?.configuration).toMatchObject({ bottom: 3, top: 0, bottomTransition: 0, topTransition: 0 });
  });

  it('of reverted experts keeps shares of rows, or all but some layers', async () => {
    const merges = await expanded(experimentPreset('sparsify', models));
    const configurations = merges.filter(({ task }) => task === 'math-1').map((merge) => merge.configuration);
    expect(configurations.slice(0, 6).map(({ targetKept }) => targetKept)).toEqual([
      0.5, 0.6, 0.7, 0.8, 0.9, 1,
    ]);
    expect(configurations[6]).toMatchObject({ bottom: 5, top: 2 });
    expect(merges.every(({ language }) => language === 'all')).toBe(true);
  });

  it('of linearity has base + α·τ of each expert and of both experts of a pair', async () => {
    const merges = await expanded(experimentPreset('alpha', models));
    const namesOf = (is: (name: string) => boolean) => merges.map(({ name }) => name).filter(is);
    expect(namesOf((name) => name.startsWith('all/math-2/'))).toEqual(
      ['0.25', '0.5', '0.75', '1.25', '1.5'].map((value) => `all/math-2/alone/l${value}`),
    );
    expect(namesOf((name) => name.startsWith('swahili/swh-1/'))).toHaveLength(5);
    expect(namesOf((name) => name.startsWith('swahili/math-1+swh-1/'))).toHaveLength(6);
    const [alone] = merges;
    expect(alone?.recipe).toMatchObject({ method: 'task_arithmetic', lambda: 0.25, weights: [1] });
    expect(alone?.recipe).toMatchObject({ base: '/models/llama 3', models: ['math-1=org/math'] });
    expect(merges.at(-1)?.configuration).toMatchObject({ lambda: 1.5, weights: [1, 1] });
  });

  it('measures English too, and on request the ten languages of the mean in every model', async () => {
    const languages = { telugu: { tel: './tel' }, swahili: { swh: './swh' } };
    const text = experimentPreset('paper', { ...models, languages });
    expect(text).not.toContain('thai');
    const joint = 'references: {joint: {model: ./joint, role: joint}}\n';
    const short = experimentReferences(await read(text + joint));
    expect(short.map(({ name, languages }) => [name, ...languages])).toEqual([
      ['llama 3', 'telugu', 'swahili', 'english'],
      ['math-1', 'telugu', 'swahili', 'english'],
      ['math-2', 'telugu', 'swahili', 'english'],
      ['tel', 'telugu', 'english'],
      ['swh', 'swahili', 'english'],
      ['joint', 'telugu', 'swahili', 'english'],
    ]);
    const everything = await read(text.replace(/# (?=[a-z_]+: \S+$)/gm, '') + joint);
    expect(everything.evaluate).toMatchObject({
      every_language: true,
      data: expect.stringMatching(/\/mgsm$/),
      limit: 20,
    });
    for (const { languages } of experimentReferences(everything)) expect(languages).toHaveLength(10);
  });

  it.each(presetNames)('%s takes the models it is given, whatever their names', async (preset) => {
    const text = experimentPreset(preset, models);
    const experiment = await read(text);
    expect(experiment.base).toBe('/models/llama 3');
    expect([...experiment.tasks.values()]).toEqual(['org/math', `${experiment.directory}/math: "2"`]);
    expect([...(experiment.languages.get('klingon') ?? [])].map(([name]) => name)).toEqual(['null', '1e5']);
    expect(experiment.evaluate).toEqual({
      harness: 'lm-eval',
      tasks: { swahili: 'layerloom_mgsm_sw', english: 'layerloom_mgsm_en' },
      fewshot: 8,
      ...(preset === 'smoke' ? { fewshot: 1, limit: 10, max_tokens: 16, device: 'cpu', batch_size: 10 } : {}),
      ...(preset === 'reasoning'
        ? { fewshot: 0, max_tokens: 8192, sampling: { temperature: 0.6, top_p: 0.95 }, repeats: 10 }
        : {}),
    });
    const count = expandExperiment(experiment).length;
    expect(count > 0).toBe(preset !== 'checkpoints');
    expect(text).not.toContain('your own paths');
  });

  it('measures the languages of the mean whose data are there, if it averages over them', () => {
    const here = ['layerloom_mgsm_de', 'layerloom_mgsm_ja', 'layerloom_mgsm_th', 'belebele_jpn_Jpan'];
    const choices = { data: './mgsm', here, benchmarks: ['mgsm', 'belebele'] as const };
    const of = (preset: PresetName) => {
      const evaluate = parse(experimentPreset(preset, models, choices)).evaluate;
      return [Object.keys(evaluate.tasks), evaluate.every_language];
    };
    // German BELEBELE is not there, and Thai is not one of the ten.
    expect(of('paper')).toEqual([['swahili', 'english', 'japanese'], true]);
    expect(of('checkpoints')).toEqual(of('paper'));
    expect(of('ablation')).toEqual([['swahili', 'english'], undefined]);
  });

  it('measures the benchmarks that are asked for, with the paper’s shots', async () => {
    const choices = { benchmarks: paperBenchmarks, data: './data', limit: 5, maxTokens: 64 };
    const { evaluate, directory } = await read(experimentPreset('paper', models, choices));
    expect(evaluate).toEqual({
      harness: 'lm-eval',
      tasks: {
        swahili: [
          'layerloom_mgsm_sw',
          'belebele_swh_Latn',
          'layerloom_flores_eng_swh',
          'layerloom_flores_swh_eng',
          'global_mmlu_full_sw',
          'layerloom_mbpp_sw',
        ],
        english: ['layerloom_mgsm_en', 'belebele_eng_Latn', 'mmlu', 'layerloom_mbpp_en'],
      },
      fewshot: {
        layerloom_mgsm_sw: 8,
        belebele_swh_Latn: 5,
        global_mmlu_full_sw: 5,
        layerloom_mbpp_sw: 0,
        layerloom_mgsm_en: 8,
        belebele_eng_Latn: 5,
        mmlu: 5,
        layerloom_mbpp_en: 0,
      },
      data: `${directory}/data`,
      limit: 5,
      max_tokens: 64,
    });
    const shotsOf = (task: string) => parseEvaluation(evaluate, '/').fewshotOf(task);
    for (const task of Object.values(evaluate?.tasks ?? {}).flat())
      expect([task, shotsOf(task) ?? 0]).toEqual([task, taskOf(task)?.shots]);
  });

  it('leaves out benchmarks without data, and languages that a benchmark does not have', async () => {
    const text = experimentPreset('grid', models, { benchmarks: ['flores', 'belebele'] });
    expect(text).toContain('# FLORES-200 is left out');
    expect((await read(text)).evaluate).toMatchObject({
      tasks: { swahili: 'belebele_swh_Latn', english: 'belebele_eng_Latn' },
      fewshot: 5,
    });
    const programs = experimentPreset('grid', models, { benchmarks: ['mgsm', 'mbpp'] });
    expect(programs).toContain('# MBPP is only in english');
    expect((await read(programs)).evaluate?.tasks).toEqual({
      swahili: 'layerloom_mgsm_sw',
      english: ['layerloom_mgsm_en', 'layerloom_mbpp_en'],
    });
    const thai = { languages: { thai: { tha: './tha' } }, tasks: { math: './math' }, base: './base' };
    expect(experimentPreset('grid', thai, { benchmarks: ['mmlu'] })).not.toContain('evaluate');
  });

  it('says where paths are to be filled in', () => {
    expect(experimentPreset('paper')).toContain('# Put your own paths in');
    expect(experimentPreset('paper', { languages: { klingon: { tlh: './tlh' } } })).not.toContain('evaluate');
  });

  it('is refused where there is none of its name', () => {
    expect(() => experimentPreset('papr' as PresetName)).toThrow(
      /preset: expected smoke, paper, .* did you mean paper\?/,
    );
  });
});
