import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { expandExperiment } from '../../src/experiment/expand.js';
import type { ExperimentInput } from '../../src/experiment/experiment-input.js';
import { parseExperiment } from '../../src/experiment/read-experiment.js';
import { experimentReferences } from '../../src/experiment/references.js';
import { writeFiles, yaml } from '../recipe/recipes.js';
import { head, read, refusal } from './experiments.js';

const swap = '  - {name: default, method: layer_swap}\n';

describe('an experiment', () => {
  it('is read with paths that begin in its folder', async () => {
    const { directory, base, tasks, languages, merges, references, file } = await read(
      `${head.replace('./math-2', 'org/math').replace('./tel-1', '/models/tel')}${swap}`,
    );
    expect(file).toBe(join(directory, 'experiment.yaml'));
    expect(base).toBe(join(directory, 'llama'));
    expect(Object.fromEntries(tasks)).toEqual({ 'math-1': join(directory, 'math-1'), 'math-2': 'org/math' });
    expect(languages.get('telugu')?.get('tel-1')).toBe('/models/tel');
    expect(merges.map(({ name }) => name)).toEqual(['default']);
    expect(references).toBe(true);
  });

  it('takes org/name and a bare name for what lies in its folder', async () => {
    const folder = writeFiles({ 'org/math/config.json': '{}' });
    mkdirSync(join(folder, 'bare'));
    const { tasks } = await parseExperiment(
      { ...input, tasks: { a: 'org/math', b: 'bare', c: 'nowhere', d: '../up' } },
      { directory: folder },
    );
    expect([...tasks.values()]).toEqual([
      join(folder, 'org/math'),
      join(folder, 'bare'),
      join(folder, 'nowhere'),
      join(folder, '../up'),
    ]);
  });

  it('keeps what all merges have in common, and what is to be measured', async () => {
    const experiment = await read(yaml`
      base: llama=./snapshots/1234
      tasks: {math-1: ./math-1}
      languages: {swahili: {swh-1: ./swh-1}}
      merges: [{name: default, method: layer_swap}]
      evaluate: {harness: lm-eval, tasks: {swahili: mgsm_direct_sw, english: mgsm_direct_en}, fewshot: 8, limit: 10}
      references: false
      dtype: bfloat16
      layout: size
      max_shard_size: 500MB
    `);
    expect(experiment).toMatchObject({
      base: `llama=${join(experiment.directory, 'snapshots/1234')}`,
      evaluate: {
        harness: 'lm-eval',
        tasks: { swahili: 'mgsm_direct_sw', english: 'mgsm_direct_en' },
        fewshot: 8,
        limit: 10,
      },
      references: false,
      dtype: 'bfloat16',
      layout: 'size',
      maxShardSize: '500MB',
    });
    expect(experimentReferences(experiment)).toEqual([]);
    expect(expandExperiment(experiment)[0]?.recipe).toMatchObject({ dtype: 'bfloat16' });
  });

  it('says where its values stand', async () => {
    const experiment = await read(`${head}  - {name: a, method: layer_swap, bottom_transition: [0, 1]}\n`);
    expect(experiment.locate(['tasks', 'math-2'])).toMatchObject({ line: 2, column: 35 });
    expect(experiment.locate(['merges', 0])).toMatchObject({ line: 7, column: 5 });
    expect(experiment.locate(['merges', 0, 'bottomTransition', 1])).toMatchObject({ line: 7, column: 58 });
  });

  it('compares with the base and each expert', async () => {
    const experiment = await read(
      `${head.replace('{tel-1: ./tel-1}', '{tel-1: ./tel-1, swh-2: ./swh-2}')}${swap}`,
    );
    const all = ['swahili', 'telugu'];
    const at = (name: string) => `${name}=${join(experiment.directory, name)}`;
    expect(experimentReferences(experiment)).toEqual([
      { name: 'llama', role: 'base', languages: all, model: join(experiment.directory, 'llama') },
      { name: 'math-1', role: 'task', languages: all, model: at('math-1') },
      { name: 'math-2', role: 'task', languages: all, model: at('math-2') },
      { name: 'swh-1', role: 'language', languages: ['swahili'], model: at('swh-1') },
      { name: 'swh-2', role: 'language', languages: all, model: at('swh-2') },
      { name: 'tel-1', role: 'language', languages: ['telugu'], model: at('tel-1') },
    ]);
  });

  it.each<[string, string, string]>([
    [
      'an unknown key',
      `${head}${swap}merge: []\n`,
      '8:1: merge: unknown key of the experiment; expected one of base, tasks',
    ],
    ['a misspelt key', `${head}${swap}langauges: {}\n`, 'did you mean languages?\n  langauges: {}\n  ^'],
    ['no merges', 'tasks: {a: ./a}\nlanguages: {l: {b: ./b}}\n', '1:1: the experiment lacks merges'],
    ['merges of nothing', `${head.trimEnd()} []\n`, '6:9: merges: the list is empty'],
    ['a merge without a name', `${head}  - {method: soup}\n`, '7:5: the merge lacks name'],
    ['a merge without a method', `${head}  - {name: a}\n`, '7:5: the merge lacks method'],
    ['no experts', head.replace('{tel-1: ./tel-1}', '{}') + swap, '5:11: telugu: nothing is in it'],
    ['a path that is none', head.replace('./tel-1', '[1]') + swap, '5:19: tel-1: not text'],
    [
      'a name that is no directory',
      head.replace('tel-1:', 'a/b:') + swap,
      '5:12: a/b: not a valid name of an expert',
    ],
    [
      'a name that means something else',
      head.replace('tel-1:', 'soup:') + swap,
      '5:12: soup: this name has another meaning',
    ],
    ['a language named all', head.replace('telugu', 'all') + swap, '5:3: all: this name has another meaning'],
    [
      'a task and a language expert of one name',
      head.replace('tel-1:', 'math-2:') + swap,
      '5:12: math-2: two models have this name: a task expert at experiment.yaml:2:27 (',
    ],
    [
      'two languages whose experts of one name differ',
      head.replace('tel-1:', 'swh-1:') + swap,
      '5:12: swh-1: two models have this name: a language expert at experiment.yaml:4:13 (',
    ],
    [
      'names that differ in case',
      head.replace('tel-1:', 'SWH-1:') + swap,
      '5:12: SWH-1: two models have this name',
    ],
    [
      'an expert named as the base',
      head.replace('./llama', './tel-1') + swap,
      'the base at experiment.yaml:1:1 (',
    ],
    [
      'two merges of one name',
      head + swap + swap,
      '8:12: default: the merge at experiment.yaml:7:12 has this name too',
    ],
    [
      'another document',
      `${head}${swap}---\na: 1\n`,
      ': a second document; expected one experiment in a file',
    ],
    ['nothing', '', '1:1: the file is empty; expected an experiment'],
    ['a list', '[]', 'expected a mapping with tasks, languages and merges'],
    ['a dtype that is none', `${head}${swap}dtype: bflot16\n`, '8:8: bflot16: not a dtype of weights'],
    [
      'a layout that is none',
      `${head}${swap}layout: big\n`,
      '8:9: big: not a layout; expected layer or size',
    ],
    ['a size that is none', `${head}${swap}max_shard_size: big\n`, '8:17: max-shard-size: expected a size'],
    ['a flag that is none', `${head}${swap}references: 1\n`, '8:13: references: neither true nor false'],
    [
      'a misspelt language',
      `${head}${swap}evaluate: {tasks: {swahilli: x}}\n`,
      '8:20: swahilli: not a language of the experiment; did you mean swahili?',
    ],
    ['a count that is none', `${head}${swap}evaluate: {fewshot: -1}\n`, '8:21: fewshot: not a count'],
  ])('with %s is refused', async (_, text, message) => {
    expect(await refusal(() => read(text))).toContain(message);
  });

  it('is refused where it cannot be read', async () => {
    expect(await refusal(() => read('a: \0'))).toMatch(/^experiment\.yaml/);
  });
});

const input: ExperimentInput = {
  tasks: { 'math-1': './math-1' },
  languages: { swahili: { 'swh-1': './swh-1' } },
  merges: [{ name: 'default', method: 'layer_swap', bottomTransition: [0, 1] }],
};

describe('an experiment given as an object', () => {
  it('is the one that its file would be', async () => {
    const { directory, ...file } = await read(yaml`
      tasks: {math-1: ./math-1}
      languages: {swahili: {swh-1: ./swh-1}}
      merges: [{name: default, method: layer_swap, bottom_transition: [0, 1]}]
      max_shard_size: 1GB
    `);
    const object = await parseExperiment({ ...input, maxShardSize: '1GB' }, { directory });
    expect(object).toMatchObject({
      directory,
      tasks: file.tasks,
      languages: file.languages,
      maxShardSize: '1GB',
    });
    expect(object.file).toBeUndefined();
    expect(expandExperiment(object)).toEqual(expandExperiment({ ...file, directory }));
  });

  it('is refused with the line that is wrong', async () => {
    const wrong = { ...input, mergs: [] } as ExperimentInput;
    expect(await refusal(() => parseExperiment(wrong))).toMatch(
      /^experiment:\d+:1: mergs: unknown key .* did you mean merges\?\n {2}mergs: \[\]\n {2}\^$/,
    );
    const twice = { name: 'a', method: 'soup' as const, bottom_transition: 1, bottomTransition: 1 };
    expect(await refusal(() => parseExperiment({ ...input, merges: [twice] }))).toContain(
      'bottomTransition: stands beside bottom_transition',
    );
    expect(await refusal(() => parseExperiment(undefined as unknown as ExperimentInput))).toContain(
      'lacks tasks',
    );
  });
});
