import { execFile, execFileSync } from 'node:child_process';
import { lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { soup } from '../../src/index.js';
import { planExperiment } from '../../src/study/experiment/plan-experiment.js';
import type { ExperimentRecord, MergeRecord } from '../../src/study/experiment/record/experiment-record.js';
import { cli } from '../fixtures/cli.js';
import { contentsOf, isLasting, recordIn, writeExperiment } from '../fixtures/experiment.js';

const {
  LAYERLOOM_PYTHON: python,
  LAYERLOOM_ORACLE: oracle,
  LAYERLOOM_EXPERTS: experts,
  LAYERLOOM_SLURM: slurm,
  TMPDIR: temporary = '/tmp',
} = process.env;

const run = promisify(execFile);
const script = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const hour = 3_600_000;

const [tasks, languages] = [
  ['math-1', 'math-2', 'math-3'],
  ['jpn-1', 'jpn-2', 'jpn-3'],
];
const pathOf = (expert: string | null) => join(experts ?? '', expert ?? '');
const named = (names: readonly string[]) => names.map((name) => `${name}: ${pathOf(name)}`).join(', ');

/** Nine pairs by default, by a grid and as soups in both ways, and a soup of each: 100 merges. */
const experiment = `base: ${pathOf('base')}
tasks: {${named(tasks)}}
languages:
  japanese: {${named(languages)}}
merges:
  - {name: default, method: layer_swap}
  - {name: grid, method: layer_swap, bottom: [4, 5], top: [1, 2], bottom_transition: [0, 1]}
  - {name: soup, method: soup, weights: [uniform, magnitude]}
  - {name: soup-of-each, method: layer_swap, task: soup, language: soup}
`;

const root = join(temporary, `layerloom-batch-${process.pid}`);
const file = join(root, 'experiment.yaml');
const out = join(root, 'out');

const gigabytes = (bytes: number) => `${(bytes / 1e9).toFixed(3)} GB`;

const diskTaken = (directory: string): number => {
  const inodes = new Map<number, number>();
  const add = (path: string) => {
    const { ino, blocks } = lstatSync(path);
    inodes.set(ino, blocks * 512);
  };
  add(directory);
  for (const entry of readdirSync(directory, { recursive: true })) add(join(directory, String(entry)));
  return [...inodes.values()].reduce((a, b) => a + b, 0);
};

describe.skipIf(!python || !oracle || !experts)(
  'a hundred merges of real experts (LAYERLOOM_PYTHON, LAYERLOOM_ORACLE, LAYERLOOM_EXPERTS)',
  () => {
    let record: ExperimentRecord;
    const weights = new Map<string, number>();

    const check = async (...args: string[]): Promise<string> =>
      (await run(python ?? '', [oracle ?? '', ...args])).stdout;

    beforeAll(async () => {
      mkdirSync(root, { recursive: true });
      writeFileSync(file, experiment);
      const { code, stderr } = await cli(['batch', file, '-o', out, '-q']);
      expect([code, stderr]).toEqual([0, '']);
      record = recordIn(out);
      for (const expert of [...tasks, ...languages]) {
        const text = await check('mav', '--base', pathOf('base'), '--expert', pathOf(expert));
        weights.set(expert, 1 / JSON.parse(text).meanMav);
      }
    }, hour);

    afterAll(() => rmSync(root, { recursive: true, force: true }));

    it('read each input byte once and write each distinct byte once, as the plan says', async () => {
      const { cost } = await planExperiment(file, {});
      expect(record.cost).toEqual(cost);
      expect([record.bytesRead, record.bytesWritten]).toEqual([cost.bytesToRead, cost.bytesDistinct]);
      const sum = (of: 'bytesRead' | 'bytesWritten') =>
        record.merges.reduce((total, merge) => total + merge[of], 0);
      expect([sum('bytesRead'), sum('bytesWritten')]).toEqual([cost.bytesToRead, cost.bytesDistinct]);
    });

    it('take little more of the disk than their distinct bytes', () => {
      const { bytesPlain, bytesDistinct } = record.cost;
      const disk = diskTaken(out);
      console.log(
        `plain ${gigabytes(bytesPlain)}, distinct ${gigabytes(bytesDistinct)}, disk ${gigabytes(disk)} ` +
          `(${(disk / bytesDistinct).toFixed(4)} of distinct), in ${record.seconds.toFixed(1)} s`,
      );
      expect(record.merges).toHaveLength(100);
      expect(disk).toBeLessThanOrEqual(1.1 * bytesDistinct);
    });

    const argumentsOf = ({ method, task, languageExpert, configuration, path }: MergeRecord): string[] => {
      const [t, l] = [pathOf(task), pathOf(languageExpert)];
      const merged = join(out, path);
      if (method === 'soup') {
        const isMagnitude = configuration['weights'] === 'magnitude';
        const ratio = isMagnitude
          ? [task, languageExpert].map((name) => weights.get(name ?? '') ?? 0)
          : [1, 1];
        return ['soup', '--models', t, l, '--weights', ...ratio.map(String), '--out', merged];
      }
      const { bottom, top, bottomTransition, topTransition } = configuration;
      const layers = { bottom, top, 'bottom-transition': bottomTransition, 'top-transition': topTransition };
      const options = Object.entries(layers).flatMap(([name, value]) => [`--${name}`, String(value)]);
      return ['swap', '--task', t, '--lang', l, ...options, merged];
    };

    it(
      'are right',
      async () => {
        const ofPairs = record.merges.filter(({ task }) => task !== 'soup');
        expect(ofPairs).toHaveLength(99);
        let least = 100;
        for (const merge of ofPairs) {
          const verdict = await check(...argumentsOf(merge));
          const isUneven = merge.configuration['weights'] === 'magnitude';
          // Float64 sums of unequally weighted terms occasionally round to another neighbour than float32
          // ones.
          expect([merge.name, verdict]).toEqual([
            merge.name,
            expect.stringMatching(isUneven ? /^ok: / : /^ok: .* 100\.0000% of computed elements exact/),
          ]);
          least = Math.min(least, Number(/([\d.]+)% of computed/.exec(verdict)?.[1]));
        }
        console.log(`of unevenly weighted elements at least ${least}% are exact`);
      },
      hour,
    );

    it(
      'are right of soups',
      async () => {
        const merge = record.merges.find(({ task }) => task === 'soup') as MergeRecord;
        const soups: string[] = [];
        for (const [name, models] of [
          ['tasks', tasks.map(pathOf)],
          ['languages', languages.map(pathOf)],
        ] as const) {
          const path = join(root, name);
          await soup({ models }, { out: path });
          expect(await check('soup', '--models', ...models, '--out', path)).toMatch(/^ok: .* 100\.0000%/);
          soups.push(path);
        }
        const [task = '', lang = ''] = soups;
        // Layers come from a soup, byte for byte; averages are of six experts, rounded once.
        expect(await check('swap', '--task', task, '--lang', lang, join(out, merge.path))).toMatch(/^ok: /);
        for (const path of soups) rmSync(path, { recursive: true });
      },
      hour,
    );

    it(
      'load in transformers',
      async () => {
        const paths = record.merges.map(({ path }) => join(out, path));
        const { stdout } = await run(python ?? '', [script('load.py'), ...paths], {
          env: { ...process.env, HF_HUB_OFFLINE: '1' },
        });
        expect(stdout.match(/^loaded torch\.bfloat16$/gm)).toHaveLength(100);
      },
      hour,
    );

    it(
      'are made once by two processes on one store',
      async () => {
        const [one, two] = ['one', 'two'].map((name) => join(root, name)) as [string, string];
        const store = join(root, 'store');
        const runs = await Promise.all(
          [one, two].map((directory) => cli(['batch', file, '-o', directory, '--store', store, '-q'])),
        );
        expect(runs.map(({ code, stderr }) => [code, stderr])).toEqual([
          [0, ''],
          [0, ''],
        ]);
        const written = [one, two].map((directory) => recordIn(directory).bytesWritten as number);
        console.log(`two processes wrote ${written.join(' and ')} bytes`);
        expect(written.reduce((a, b) => a + b)).toBe(record.cost.bytesDistinct);
        for (const path of [one, two, store]) rmSync(path, { recursive: true });
      },
      hour,
    );

    it(
      'are made once by three parts at once, and finished by a last run',
      async () => {
        const parted = join(root, 'parted');
        const parts = await Promise.all(
          [0, 1, 2].map((part) => cli(['batch', file, '-o', parted, '--json', '--part', `${part}/3`])),
        );
        const written = parts.map(
          ({ stdout }) => JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '').bytesWritten as number,
        );
        console.log(`three parts wrote ${written.join(', ')} bytes`);
        expect(written.reduce((a, b) => a + b)).toBe(record.cost.bytesDistinct);
        expect((await cli(['batch', file, '-o', parted, '--resume', '-q'])).code).toBe(0);
        const last = recordIn(parted);
        expect([last.state, last.bytesWritten]).toEqual(['done', 0]);
        rmSync(parted, { recursive: true });
      },
      hour,
    );

    it(
      'are the same when they are killed twenty times on the way',
      async () => {
        const args = [script('kill-batch.mjs'), file, out, join(root, 'killed'), '--longest', '16'];
        const { stdout } = await run(process.execPath, args);
        console.log(stdout);
        expect(stdout).toMatch(/^20 kills in \d+ runs .*: 704 shards the same, .* nothing left behind\n/);
        rmSync(join(root, 'killed'), { recursive: true });
      },
      hour,
    );
  },
);

const stateOf = async (job: string): Promise<string> =>
  (await run('scontrol', ['--oneliner', 'show', 'job', job]).catch(() => ({ stdout: '' }))).stdout
    .split('\n')
    .map((line) => /JobState=(\w+)/.exec(line)?.[1] ?? '')
    .join(' ')
    .trim();

describe.skipIf(!slurm)('an experiment by SLURM (LAYERLOOM_SLURM)', () => {
  beforeAll(() => void execFileSync('bash', [slurm ?? ''], { stdio: 'inherit' }), 600_000);
  afterAll(() => void execFileSync('bash', [slurm ?? '', 'stop']));

  it('is made by an array of jobs, and finished by the last one', async () => {
    const { root: folder, file: fixture, out: whole } = writeExperiment();
    expect((await cli(['batch', fixture, '-o', whole, '-q'])).code).toBe(0);
    const submitted = `${folder}/submitted`;
    const { stdout: text } = await cli([
      'experiment',
      'slurm',
      fixture,
      '-o',
      submitted,
      '--parts',
      '3',
      '--cpus',
      '1',
    ]);
    writeFileSync(`${folder}/submit.sh`, text);
    const { stdout } = await run('bash', [`${folder}/submit.sh`], { cwd: '/' });
    const [parts = '', last = ''] = [...stdout.matchAll(/job (\d+)/g)].map(([, job]) => job);
    let states = '';
    do {
      await setTimeout(1000);
      states = `${await stateOf(parts)} ${await stateOf(last)}`;
    } while (/PENDING|CONFIGURING|RUNNING|COMPLETING/.test(states));
    const logs = readdirSync(`${submitted}.slurm`).map((name) =>
      readFileSync(`${submitted}.slurm/${name}`, 'utf8'),
    );
    expect([states, logs]).toEqual(['COMPLETED COMPLETED COMPLETED COMPLETED', logs]);
    const made = recordIn(submitted);
    expect([made.state, made.bytesWritten]).toEqual(['done', 0]);
    expect(contentsOf(submitted, isLasting)).toEqual(contentsOf(whole, isLasting));
    console.log(`jobs ${parts} and ${last}: ${states}`);
  });
});
