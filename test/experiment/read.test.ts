import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ExperimentInput } from '../../src/study/experiment/file/blocks/experiment-block.js';
import { expandExperiment } from '../../src/study/experiment/file/expand.js';
import { parseExperiment, readExperiment } from '../../src/study/experiment/file/read-experiment.js';
import { experimentReferences } from '../../src/study/experiment/file/references.js';
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
    const language = (name: string, languages: string[]) => ({
      name,
      role: 'language',
      languages,
      expertIn: languages,
      model: at(name),
    });
    expect(experimentReferences(experiment)).toEqual([
      { name: 'llama', role: 'base', languages: all, model: join(experiment.directory, 'llama') },
      { name: 'math-1', role: 'task', languages: all, model: at('math-1') },
      { name: 'math-2', role: 'task', languages: all, model: at('math-2') },
      language('swh-1', ['swahili']),
      language('swh-2', all),
      language('tel-1', ['telugu']),
    ]);
  });

  it('compares with further models, which it does not merge', async () => {
    const experiment = await read(`${head}${swap}references:
  joint-1: {model: ./joint-1, role: joint}
  swahili-math: {model: org/sm, role: math-sft, languages: swahili}
  math-1-5k: ./checkpoints/math-1-5k
`);
    expect(experiment.references).toBe(true);
    const references = experimentReferences(experiment);
    expect(references.slice(0, 6).map(({ role }) => role)).toEqual([
      'base',
      'task',
      'task',
      'language',
      'language',
      'language',
    ]);
    const all = ['swahili', 'telugu'];
    const at = (name: string, path: string) => `${name}=${join(experiment.directory, path)}`;
    expect(references.slice(6)).toEqual([
      { name: 'joint-1', role: 'joint', languages: all, model: at('joint-1', 'joint-1') },
      {
        name: 'swahili-math',
        role: 'math-sft',
        languages: ['swahili'],
        expertIn: ['swahili'],
        model: 'swahili-math=org/sm',
      },
      {
        name: 'math-1-5k',
        role: 'checkpoint',
        languages: all,
        model: at('math-1-5k', 'checkpoints/math-1-5k'),
      },
    ]);
    expect(JSON.stringify(expandExperiment(experiment))).not.toMatch(/joint|org.sm|5k/);
  });

  it('measures English in every model, and its own languages where they belong', async () => {
    const evaluate = 'evaluate: {tasks: {telugu: a, english: b, swahili: c, german: d}}\n';
    const measured = async (text: string) =>
      experimentReferences(await read(`${head}${swap}${text}`)).map(({ name, languages, expertIn }) => [
        name,
        languages.join(' '),
        expertIn?.join(' '),
      ]);
    const all = 'swahili telugu english german';
    const reference = 'references: {joint: {model: ./joint, languages: [telugu]}, more: ./more}\n';
    expect(await measured(evaluate + reference)).toEqual([
      ['llama', all, undefined],
      ['math-1', all, undefined],
      ['math-2', all, undefined],
      ['swh-1', 'swahili english german', 'swahili'],
      ['swh-2', 'swahili english german', 'swahili'],
      ['tel-1', 'telugu english german', 'telugu'],
      ['joint', 'telugu english german', 'telugu'],
      ['more', all, undefined],
    ]);
    const every = await measured(evaluate.replace('{tasks', '{every_language: true, tasks') + reference);
    expect(every.map(([, languages]) => languages)).toEqual(every.map(() => all));
    expect(every.at(-2)).toEqual(['joint', all, 'telugu']);
    // A language without a task cannot be measured.
    expect((await measured('evaluate: {tasks: {swahili: c}}\n')).map(([, languages]) => languages)).toEqual([
      'swahili',
      'swahili',
      'swahili',
      'swahili',
      'swahili',
      '',
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
    ['a merge without a name', `${head}  - {method: soup}\n`, '7:5: the merge lacks name'],
    ['a merge without a method', `${head}  - {name: a}\n`, '7:5: the merge lacks method'],
    ['no experts', head.replace('{tel-1: ./tel-1}', '{}') + swap, '5:11: telugu: it is empty'],
    ['a path that is none', head.replace('./tel-1', '[1]') + swap, '5:19: tel-1: not text'],
    [
      'a name that is no directory',
      head.replace('tel-1:', 'a/b:') + swap,
      '5:12: a/b: not a valid name of an expert',
    ],
    [
      'a name that means something else',
      head.replace('tel-1:', 'soup:') + swap,
      '5:12: soup: this name is reserved in an experiment',
    ],
    [
      'a language named all',
      head.replace('telugu', 'all') + swap,
      '5:3: all: this name is reserved in an experiment',
    ],
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
      '8:12: default: the merge at experiment.yaml:7:12 has the same name',
    ],
    [
      'another document',
      `${head}${swap}---\na: 1\n`,
      ': there is a second document; expected one experiment in a file',
    ],
    ['nothing', '', '1:1: the file is empty; expected an experiment'],
    ['a list', '[]', 'expected a mapping with tasks, languages and merges'],
    [
      'a dtype that is none',
      `${head}${swap}dtype: bflot16\n`,
      '; did you mean bfloat16?\n  dtype: bflot16\n',
    ],
    [
      'a layout that is none',
      `${head}${swap}layout: big\n`,
      '8:9: layout: not what it takes; expected layer or size',
    ],
    [
      'a flag that is text',
      `${head}${swap}allow_non_finite: maybe\n`,
      '8:19: allow_non_finite: not what it takes; expected true or false',
    ],
    ['a size that is none', `${head}${swap}max_shard_size: big\n`, '8:17: max-shard-size: expected a size'],
    ['a flag that is none', `${head}${swap}references: 1\n`, '8:13: references: not true or false'],
    [
      'references to nothing',
      `${head}${swap}references: {}\n`,
      '8:13: references: it is empty; expected true, false, or models, each with name and path',
    ],
    [
      'a reference named as an expert',
      `${head}${swap}references:\n  math-1: ./math-1\n`,
      '9:3: math-1: two models have this name: a task expert at experiment.yaml:2:9 (',
    ],
    [
      'a reference named as the base',
      `${head}${swap}references: {Llama: ./other}\n`,
      '8:14: Llama: two models have this name: the base at experiment.yaml:1:1 (',
    ],
    [
      'a reference whose name means something else',
      `${head}${swap}references: {all-soup: ./a}\n`,
      '8:14: all-soup: this name is reserved in an experiment',
    ],
    [
      'a reference without a model',
      `${head}${swap}references: {joint: {role: joint}}\n`,
      '8:21: the reference joint lacks model',
    ],
    [
      'a misspelt key of a reference',
      `${head}${swap}references: {joint: {model: ./a, rol: joint}}\n`,
      '8:34: rol: unknown key of the reference joint; ',
    ],
    [
      'a role of merged models',
      `${head}${swap}references: {joint: {model: ./a, role: task}}\n`,
      '8:40: task: this role is reserved for merges and the models that they merge',
    ],
    [
      'a role that is no word',
      `${head}${swap}references: {joint: {model: ./a, role: Joint SFT}}\n`,
      '8:40: Joint SFT: not a valid role',
    ],
    [
      "a reference's language that it does not have",
      `${head}${swap}references: {joint: {model: ./a, languages: [telugu, swahilli]}}\n`,
      '8:54: swahilli: not a language of the experiment; expected some of swahili, telugu; did you mean swahili?',
    ],
    [
      'a misspelt language',
      `${head}${swap}evaluate: {tasks: {swahilli: x}}\n`,
      '8:20: swahilli: not a language of the experiment; did you mean swahili?',
    ],
    [
      'a count that is none',
      `${head}${swap}evaluate: {tasks: {swahili: x}, fewshot: -1}\n`,
      '8:42: evaluate: fewshot: not what it takes',
    ],
    [
      'a count that is a word',
      `${head}${swap}evaluate: {tasks: {swahili: x}, jobs: two}\n`,
      '8:39: evaluate: jobs: not what it takes; expected a whole number, 1 or more',
    ],
    [
      'a misspelt key in place of one that must be there',
      `${head}${swap}evaluate: {task: {swahili: x}}\n`,
      '8:18: evaluate: task: unknown key of evaluate',
    ],
    [
      'shots for a task that no language has',
      `${head}${swap}evaluate: {tasks: {swahili: mgsm_direct_sw}, fewshot: {mgsm_direct_sv: 8}}\n`,
      'mgsm_direct_sv: not a task under tasks; expected mgsm_direct_sw; did you mean mgsm_direct_sw?',
    ],
    [
      'rows that end before they begin',
      `${head}${swap}evaluate: {tasks: {swahili: x}, problems: 5-3}\n`,
      '8:43: evaluate: 5-3: the last row is before the first',
    ],
    [
      'a server that is not told the model',
      `${head}${swap}evaluate: {tasks: {swahili: x}, serve: 'serve -p {port}'}\n`,
      '8:40: evaluate: serve: lacks {model}',
    ],
  ])('with %s is refused', async (_, text, message) => {
    expect(await refusal(() => read(text))).toContain(message);
  });

  it('without merges needs experts of neither kind', async () => {
    const scored = await read('merges: []\nreferences: {joint-1: ./joint}\n');
    expect(scored).toMatchObject({ merges: [], tasks: new Map(), languages: new Map() });
    expect(await refusal(() => read(`merges:\n${swap}`))).toContain('lacks tasks');
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
    const references: ExperimentInput['references'] = {
      'joint-1': { model: './joint', role: 'joint', languages: ['swahili'] },
      more: 'org/more',
    };
    const { furtherReferences } = await parseExperiment({ ...input, references }, { directory });
    expect(furtherReferences).toEqual([
      { name: 'joint-1', role: 'joint', languages: ['swahili'], path: join(directory, 'joint') },
      { name: 'more', role: 'checkpoint', languages: undefined, path: 'org/more' },
    ]);
    expect(expandExperiment(object)).toEqual(expandExperiment({ ...file, directory }));
  });

  it('is refused with the line that is wrong', async () => {
    const wrong = { ...input, mergs: [] } as ExperimentInput;
    expect(await refusal(() => parseExperiment(wrong))).toMatch(
      /^experiment:\d+:1: mergs: unknown key .* did you mean merges\?\n {2}mergs: \[\]\n {2}\^$/,
    );
    const twice = { name: 'a', method: 'soup' as const, bottom_transition: 1, bottomTransition: 1 };
    expect(await refusal(() => parseExperiment({ ...input, merges: [twice] }))).toContain(
      'bottomTransition: is set together with bottom_transition',
    );
    expect(await refusal(() => parseExperiment(undefined as unknown as ExperimentInput))).toContain(
      'lacks merges',
    );
  });
});

describe('an experiment given as a text in the place of a file', () => {
  const text = JSON.stringify({
    tasks: { 'math-1': './math-1' },
    languages: { swahili: { 'swh-1': './swh-1' } },
    merges: [{ name: 'default', method: 'layer_swap' }],
  });

  it('has paths that begin in the working directory', async () => {
    const { file, directory, tasks } = await readExperiment(text);
    expect(file).toBeUndefined();
    expect(directory).toBe(process.cwd());
    expect(tasks.get('math-1')).toBe(join(process.cwd(), 'math-1'));
  });

  it('is refused by the name experiment, with the place in the text', async () => {
    expect(await refusal(() => readExperiment(text.replace('merges', 'mergs')))).toMatch(
      /^experiment:1:\d+: mergs: unknown key .* did you mean merges\?/,
    );
  });
});
