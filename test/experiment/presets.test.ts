import { describe, expect, it } from 'vitest';
import { expandExperiment } from '../../src/experiment/expand.js';
import { experimentPreset, type PresetName, presetNames } from '../../src/experiment/presets.js';
import { read } from './experiments.js';

const models = {
  base: '/models/llama 3',
  tasks: { 'math-1': 'org/math', 'math-2': './math: "2"' },
  languages: { swahili: { 'swh-1': '../swh-1' }, klingon: { null: '#5', '1e5': './true' } },
};

const expanded = async (text: string) => expandExperiment(await read(text));

describe('a preset', () => {
  it.each<[PresetName, number]>([
    // A pair: default, 4 of layers, transition, 2 soups and 2 of TIES; then one a language and one for all.
    ['paper', 4 * (9 * 10 + 1) + 1],
    ['ablation', 4 * 9 * (1 + 4 + 1 + 3 + 2 + 2)],
    ['grid', 4 * 9 * 81],
  ])('%s is an experiment as it stands', async (preset, count) => {
    const merges = await expanded(experimentPreset(preset));
    expect(merges).toHaveLength(count);
    expect(new Set(merges.map(({ language }) => language)).has('japanese')).toBe(true);
  });

  it.each(presetNames)('%s takes the models it is given, whatever their names', async (preset) => {
    const text = experimentPreset(preset, models);
    const experiment = await read(text);
    expect(experiment.base).toBe('/models/llama 3');
    expect([...experiment.tasks.values()]).toEqual(['org/math', `${experiment.directory}/math: "2"`]);
    expect([...(experiment.languages.get('klingon') ?? [])].map(([name]) => name)).toEqual(['null', '1e5']);
    expect(experiment.evaluate).toEqual({
      harness: 'lm-eval',
      tasks: { swahili: 'mgsm_direct_sw' },
      fewshot: 8,
    });
    expect(expandExperiment(experiment).length).toBeGreaterThan(0);
    expect(text).not.toContain('your own paths');
  });

  it('says where paths are to be filled in', () => {
    expect(experimentPreset('paper')).toContain('# Put your own paths in');
    expect(experimentPreset('paper', { languages: { klingon: { tlh: './tlh' } } })).not.toContain('evaluate');
  });

  it('is refused where there is none of its name', () => {
    expect(() => experimentPreset('papr' as PresetName)).toThrow(
      /preset: expected paper, .* did you mean paper\?/,
    );
  });
});
