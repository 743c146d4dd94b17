import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { version } from '../../src/core/base/files/version.js';
import { expandExperiment } from '../../src/study/experiment/file/expand.js';
import { readExperiment } from '../../src/study/experiment/file/read-experiment.js';
import { experimentPreset } from '../../src/study/paper/experiment.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { cli } from '../fixtures/cli.js';
import { writeExperiment } from '../fixtures/experiment.js';

describe('layerloom experiment init', () => {
  it('prints what the function gives', async () => {
    const { code, stdout, stderr } = await cli(['experiment', 'init', '--preset', 'paper']);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toBe(experimentPreset('paper'));
    const { stdout: json } = await cli(['experiment', 'init', '--preset', 'grid', '--json']);
    expect(JSON.parse(json)).toEqual({ preset: 'grid', text: experimentPreset('grid') });
  });

  it('lists the presets in its help', async () => {
    const { code, stdout } = await cli(['experiment', 'init', '--help']);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /\nPresets:\n {2}smoke +What [\s\S]*\n {2}paper +What [\s\S]*\n {2}figure-3-max +The largest swap/,
    );
  });

  it('writes what is to be measured', async () => {
    const folder = temporaryDirectory();
    const file = join(folder, 'study.yaml');
    const init = ['experiment', 'init', '--preset', 'smoke', '-o', file];
    for (const [more, message] of [
      [['--benchmarks', 'mgsm,floris'], '--benchmarks: expected all, mgsm, belebele, flores'],
      [['--limit', '0'], '--limit: expected a whole number, 1 or more'],
      [['--max-tokens', 'many'], '--max-tokens: expected a whole number, 1 or more'],
    ] as const) {
      const { code, stderr } = await cli([...init, ...more]);
      expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
    }
    const data = join(folder, 'data');
    const args = ['--benchmarks', 'mgsm,flores', '--data', data, '--limit', '3', '--max-tokens', '8'];
    expect((await cli([...init, ...args])).code).toBe(0);
    const { evaluate } = await readExperiment(file);
    expect(evaluate).toMatchObject({ data, limit: 3, max_tokens: 8, fewshot: 1, device: 'cpu' });
    expect(evaluate?.tasks).toMatchObject({
      telugu: ['layerloom_mgsm_te', 'layerloom_flores_eng_tel', 'layerloom_flores_tel_eng'],
      english: 'layerloom_mgsm_en',
    });
  });

  it.each([
    ['soup=./math', 'swahili:swh=./swh', 'this name is reserved in an experiment'],
    ['math=./math', 'all:swh=./swh', 'this name is reserved in an experiment'],
    ['same=./math', 'swahili:Same=./swh', 'two models have this name'],
    ['math=./math', 'swahili:swh 1=./swh', 'not a valid name of an expert'],
  ])('writes no file that a batch refuses for its names: %s %s', async (task, language, message) => {
    const file = join(temporaryDirectory(), 'study.yaml');
    const given = ['--preset', 'smoke', '--task', task, '--lang', language, '-o', file];
    const { code, stdout, stderr } = await cli(['experiment', 'init', ...given]);
    expect({ code, stdout, stderr }).toEqual({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining(message),
    });
    expect(existsSync(file)).toBe(false);
  });

  it('says that placeholders are to be replaced, before it names the next command', async () => {
    const init = ['experiment', 'init', '--preset', 'smoke', '--task', 'math=./math'];
    const file = join(temporaryDirectory(), 'study.yaml');
    const { stderr } = await cli([...init, '-o', file]);
    expect(stderr).toMatch(
      /study\.yaml has placeholders for models that were not named; .*\nNext: layerloom batch /,
    );
    const named = [...init, '--base', './base', '--lang', 'swahili:swh=./swh', '-o', `${file}2`];
    expect((await cli(named)).stderr).toMatch(/^Next: /);
  });

  it('names languages without a task, and each benchmark once', async () => {
    const given = ['--benchmarks', 'mgsm,all,mgsm', '--task', 'math=./math', '--lang', 'swahili:swh=./swh'];
    const init = ['experiment', 'init', '--preset', 'smoke', ...given];
    const { code, stdout, stderr } = await cli([...init, 'klingon:tlh=./tlh']);
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringMatching(
        /^warning: klingon: no task of these benchmarks is in it; `layerloom tasks list`/,
      ),
    });
    expect(stdout.match(/layerloom_mgsm_sw/g)).toHaveLength(1);
    expect((await cli(init)).stderr).toBe('');
  });

  it('names the schema of experiments in the first line of a file, where editors find it', async () => {
    const file = join(temporaryDirectory(), 'study.yaml');
    expect((await cli(['experiment', 'init', '--preset', 'paper', '-o', file])).code).toBe(0);
    const [line = '', ...rest] = readFileSync(file, 'utf8').split('\n');
    expect(rest.join('\n')).toBe(experimentPreset('paper'));
    const [, schema = ''] = /^# yaml-language-server: \$schema=(.+)$/.exec(line) ?? [];
    expect(readFileSync(schema, 'utf8')).toBe((await cli(['schema', 'experiment'])).stdout);
    expect(await cli(['schema', 'recipes'])).toMatchObject({
      code: 2,
      stderr: 'error: kind: expected recipe or experiment, got "recipes"\n',
    });
  });

  it('writes a file whose paths lead to the models', async () => {
    const folder = temporaryDirectory();
    const file = join(folder, 'swahili.yaml');
    const math = join(folder, 'math 1');
    const args = [
      ...[
        'experiment',
        'init',
        '--preset',
        'ablation',
        '--base',
        'org/llama',
        '--task',
        `m=${math}`,
        './math-2',
      ],
      ...['--lang', `swahili:swh-1=./swh`, 'telugu:../tel', '-o', file],
    ];
    const { code, stdout, stderr } = await cli(args);
    expect([code, stdout]).toEqual([0, `${file}\n`]);
    expect(stderr).toMatch(/^Next: layerloom batch .*swahili.yaml -o .*swahili\n$/);
    const experiment = await readExperiment(file);
    expect(experiment.base).toBe('org/llama');
    expect(Object.fromEntries(experiment.tasks)).toEqual({
      m: math,
      'math-2': join(process.cwd(), 'math-2'),
    });
    expect(Object.fromEntries(experiment.languages.get('swahili') ?? [])).toEqual({
      'swh-1': join(process.cwd(), 'swh'),
    });
    expect(experiment.languages.get('telugu')?.get('tel')).toBe(join(process.cwd(), '../tel'));
    expect(expandExperiment(experiment)).toHaveLength(4 * 8);
    const again = await cli(args);
    expect([again.code, again.stderr]).toEqual([2, `error: ${file}: exists already; choose another file\n`]);
  });

  it.each([
    [
      ['--preset', 'papr'],
      /preset: expected smoke, paper, figure-3-max, .*, grid, got "papr"; did you mean paper\?/,
    ],
    [[], /experiment init needs --preset <preset>/],
    [['--preset', 'grid', '--lang', 'swh-1=./swh-1'], /--lang swh-1=\.\/swh-1: expected LANGUAGE:NAME=DIR/],
    [['--preset', 'grid', '--task', 'a=./b', 'a=./c'], /--task names two experts a/],
  ])('refuses %j', async (args, message) => {
    const { code, stderr } = await cli(['experiment', 'init', ...args]);
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
  });
});

describe('layerloom experiment slurm', () => {
  it('prints a script for an experiment, with the paths that jobs need', async () => {
    const folder = temporaryDirectory();
    const file = join(folder, 'an experiment.yaml');
    writeFileSync(file, experimentPreset('grid'));
    const { code, stdout, stderr } = await cli([
      'experiment',
      'slurm',
      file,
      '--parts',
      '4',
      '--cpus',
      '8',
      '--store',
      'store',
    ]);
    expect([code, stderr]).toEqual([0, '']);
    execFileSync('bash', ['-n'], { input: stdout });
    const digest = createHash('sha256').update(readFileSync(file)).digest('hex').slice(0, 16);
    expect(stdout).toContain(
      `batch '${file}' -o '${join(folder, 'an experiment')}' --store ${join(process.cwd(), 'store')} -j 8 --expect ${version}:${digest} --part "$SLURM_ARRAY_TASK_ID/4"`,
    );
    expect(stdout).toContain(`exec ${process.execPath} /`);
    const { stdout: json } = await cli(['experiment', 'slurm', file, '-o', join(folder, 'o'), '--json']);
    expect(JSON.parse(json)).toMatchObject({ merges: 4 * 9 * 81, out: join(folder, 'o') });
  });

  it('submits evaluations too, if the experiment says what to measure', async () => {
    const folder = temporaryDirectory();
    const file = join(folder, 'e.yaml');
    writeFileSync(file, experimentPreset('figure-3-min'));
    const gpus = ['--gpus', '2', '--evaluate-parts', '3', '--evaluate-partition', 'gpu'];
    const { code, stdout, stderr } = await cli(['experiment', 'slurm', file, '--evaluate', ...gpus]);
    expect([code, stderr]).toEqual([0, '']);
    execFileSync('bash', ['-n'], { input: stdout });
    const { stamp } = JSON.parse((await cli(['experiment', 'slurm', file, '--json'])).stdout);
    expect(stdout).toContain(
      `evaluate ${join(folder, 'e')} --expect ${stamp} --part "$SLURM_ARRAY_TASK_ID/3"\n`,
    );
    expect(stdout).toContain('limits=(--partition=gpu --gres=gpu:2)\n');
    const lonely = await cli(['experiment', 'slurm', file, '--gpus', '2']);
    expect([lonely.code, lonely.stderr]).toEqual([
      2,
      'error: --gpus is for evaluations; give --evaluate too\n',
    ]);
    writeFileSync(file, readFileSync(file, 'utf8').replace(/^evaluate:[\s\S]*/m, ''));
    const none = await cli(['experiment', 'slurm', file, '--evaluate']);
    expect([none.code, none.stderr]).toEqual([
      2,
      `error: --evaluate: ${file} does not say what to measure; add evaluate: with tasks by language\n`,
    ]);
  });

  it('refuses what the experiment or a count cannot be', async () => {
    const folder = temporaryDirectory();
    const file = join(folder, 'e.yaml');
    writeFileSync(file, experimentPreset('grid').replace('bottom_transition', 'botom_transition'));
    const wrong = await cli(['experiment', 'slurm', file]);
    expect(wrong.code).toBe(2);
    expect(wrong.stderr).toMatch(
      /e\.yaml:\d+:5: layer_swap has no parameter botom_transition; .* did you mean bottom_transition\?\n/,
    );
    writeFileSync(file, readFileSync(file, 'utf8').replace('botom', 'bottom'));
    const { code, stderr } = await cli(['experiment', 'slurm', file, '--parts', 'x']);
    expect([code, stderr]).toEqual([2, 'error: --parts: expected a whole number, 1 or more, got "x"\n']);
  });
});

describe('layerloom experiment snakemake and kubernetes', () => {
  it('print jobs with the paths that they need', async () => {
    const folder = temporaryDirectory();
    const file = join(folder, 'e.yaml');
    writeFileSync(file, experimentPreset('figure-3-min'));
    const workflow = await cli(['experiment', 'snakemake', file, '--parts', '4', '--evaluate']);
    expect([workflow.code, workflow.stderr]).toEqual([0, '']);
    expect(workflow.stdout).toContain(`OUT = "${join(folder, 'e')}"`);
    expect(workflow.stdout).toContain('rule evaluate:');
    const pods = ['--image', 'i', '--volume', 'c=/data:ro', '--volume', 'w=/out', '-o', '/out/e'];
    const at = ['--experiment-path', '/data/e.yaml', '--command', '/opt/layerloom'];
    const manifest = await cli(['experiment', 'kubernetes', file, ...pods, ...at]);
    expect([manifest.code, manifest.stderr]).toEqual([0, '']);
    const [parts] = [...parseAllDocuments(manifest.stdout)].map((document) => document.toJS());
    const [container] = parts.spec.template.spec.containers;
    expect(container.command.slice(0, 5)).toEqual([
      '/opt/layerloom',
      'batch',
      '/data/e.yaml',
      '-o',
      '/out/e',
    ]);
    expect(container.volumeMounts[0]).toEqual({ name: 'claim-0', mountPath: '/data', readOnly: true });
  });

  it.each([
    [['kubernetes'], /experiment kubernetes needs --image <image>/],
    [['kubernetes', '--image', 'i', '--volume', 'data'], /--volume data: expected CLAIM=PATH/],
    [['kubernetes', '--image', 'i', '--volume', 'c=/x', '--evaluate-image', 'j'], /give --evaluate too/],
    [['snakemake', '--evaluate-qos', 'low'], /--evaluate-qos is for evaluations; give --evaluate too/],
    [['slurm', '--directive', '--array=0-7'], /directive: expected a long option of sbatch/],
  ])('refuses %j', async ([scheduler = '', ...args], message) => {
    const file = join(temporaryDirectory(), 'e.yaml');
    writeFileSync(file, experimentPreset('figure-3-min'));
    const { code, stderr } = await cli(['experiment', scheduler, file, ...args]);
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
  });
});

describe('--expect', () => {
  it('lets a part, the last run and an evaluation run by one version on one text only', async () => {
    const { file, out, root } = writeExperiment(
      '  - {name: default, method: layer_swap, bottom: 2, top: 1}\n',
    );
    const { stamp } = JSON.parse((await cli(['batch', file, '--dry-run', '--json'])).stdout);
    expect(stamp).toMatch(new RegExp(`^${version}:[0-9a-f]{16}$`));
    const run = (...args: string[]) => cli([...args, '--expect', stamp, '-q']);
    expect((await run('batch', file, '-o', out, '--part', '0/2')).code).toBe(0);
    const text = readFileSync(file, 'utf8');
    writeFileSync(file, text.replace('bottom: 2', 'bottom: 3'));
    for (const more of [['--part', '1/2'], ['--resume']]) {
      const { code, stderr } = await run('batch', file, '-o', out, ...more);
      expect([code, stderr]).toEqual([
        2,
        expect.stringMatching(/yaml: it was changed since this job was written/),
      ]);
    }
    const other = ['--expect', stamp.replace(version, '0.0.1')];
    const { code, stderr } = await cli(['batch', file, '-o', join(root, 'other'), ...other]);
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining(`layerloom 0.0.1 wrote this job, but this is layerloom ${version};`),
    ]);
    writeFileSync(file, text);
    expect((await run('batch', file, '-o', out, '--resume')).code).toBe(0);
    const scored = await cli(['evaluate', out, ...other]);
    expect([scored.code, scored.stderr]).toEqual([
      2,
      expect.stringContaining('layerloom 0.0.1 wrote this job'),
    ]);
    expect((await cli(['batch', file, '-o', out, '--expect', '1.0'])).stderr).toMatch(
      /expect: expected VERSION:DIGITS/,
    );
  });
});
