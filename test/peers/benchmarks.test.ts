import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { benchmarkNames, benchmarks, spelled, tasksOf } from '../../src/study/evaluation/data/benchmarks.js';
import { matchTask, taskOf } from '../../src/study/evaluation/data/task-facts.js';
import type { ExperimentRecord } from '../../src/study/experiment/record/experiment-record.js';
import { cli } from '../fixtures/cli.js';
import { writeHarnessRows, writeMgsm, writeMgsmVariants } from '../fixtures/evaluation-data.js';
import { recordIn } from '../fixtures/experiment.js';

const { LAYERLOOM_PYTHON: python = '' } = process.env;
const hasHarness = python !== '' && spawnSync(python, ['-c', 'import lm_eval']).status === 0;
vi.setConfig({ testTimeout: 1_800_000 });

const ask = async (mode: string, given: object | string): Promise<unknown> => {
  const script = fileURLToPath(new URL('benchmarks.py', import.meta.url));
  const offline = { ...process.env, HF_HUB_OFFLINE: '1' };
  const more = typeof given === 'string' ? [given] : [];
  const child = promisify(execFile)(python, [script, mode, ...more], { env: offline, maxBuffer: 2 ** 28 });
  child.child.stdin?.end(typeof given === 'string' ? '' : JSON.stringify(given));
  return JSON.parse((await child).stdout.trim().split('\n').at(-1) ?? '');
};

interface Facts {
  readonly metrics: readonly string[];
  readonly shots: number;
  readonly output: string;
  readonly unsafe: boolean;
  readonly members: readonly string[];
}

/** Every measured task of every benchmark that is not the package's own. */
const ofHarness = benchmarkNames.flatMap((name) =>
  benchmarks[name].languages
    .flatMap((language) => tasksOf(benchmarks[name], language))
    .filter((task) => !task.startsWith('layerloom_'))
    .map((task) => ({ name, task })),
);

describe.skipIf(!hasHarness)('the benchmarks (LAYERLOOM_PYTHON with lm_eval 0.4.13)', () => {
  it('name tasks of the harness, with their metrics, filters, shots and members', async () => {
    const names = ofHarness.map(({ task }) => task);
    expect(names.length).toBeGreaterThan(300);
    const facts = (await ask('facts', { names })) as Record<string, Facts | null>;
    for (const { name, task } of ofHarness) {
      const found = facts[task];
      if (found === null || found === undefined) throw new Error(`the harness has no task ${task}`);
      const known = taskOf(task);
      expect(found.metrics, task).toContain(known?.headline[0]);
      if (!benchmarks[name].isPaper) expect([task, found.shots]).toEqual([task, known?.shots]);
      expect([task, found.output]).toEqual([
        task,
        known?.asks === 'choices' ? 'multiple_choice' : 'generate_until',
      ]);
      expect([task, found.unsafe]).toEqual([task, known?.asks === 'programs']);
      const match = matchTask(task);
      const members = match?.form.rows?.by?.members(match.code ?? '') ?? [];
      expect([task, [...found.members].sort()]).toEqual([task, [...members].sort()]);
    }
  });

  it('know further tasks of the harness, and these are judged by metrics that they have', async () => {
    const forms = Object.values(benchmarks).flatMap((benchmark) => {
      const codes = benchmark.languages.map((one) => spelled(one, benchmark.spelling)).join('|');
      return benchmark.forms
        .filter(({ name }) => !name.startsWith('layerloom_'))
        .map(({ name }) => name.replace('LANG', `(?:${codes})`));
    });
    const matches = (await ask('match', { patterns: forms })) as Record<string, readonly string[]>;
    for (const [form, tasks] of Object.entries(matches)) expect(tasks.length, form).toBeGreaterThan(0);
    const names = [...new Set(Object.values(matches).flat())];
    const facts = (await ask('facts', { names })) as Record<string, Facts>;
    for (const task of names) {
      const known = taskOf(task);
      expect(facts[task]?.metrics, task).toEqual(
        expect.arrayContaining([known?.headline.find((one) => facts[task]?.metrics.includes(one))]),
      );
      const isChosen = facts[task]?.output === 'multiple_choice';
      expect([task, known?.asks === 'choices']).toEqual([task, isChosen]);
    }
    // No mean mixes prompts, except of MGSM, as in the paper.
    const byPlace = new Map<string, string[]>();
    for (const task of names) {
      const known = taskOf(task);
      const place = `${known?.benchmark} ${known?.language}`;
      byPlace.set(place, [...(byPlace.get(place) ?? []), task]);
    }
    const mixed = [...byPlace].filter(
      ([place, of]) => of.length > 1 && !/^(MGSM|MBPP|MMLU english)/.test(place),
    );
    expect(mixed).toEqual([]);
  });

  describe('with local rows, run whole by a tiny model', () => {
    const root = mkdtempSync(join(tmpdir(), 'layerloom-benchmarks-'));
    afterAll(() => rmSync(root, { recursive: true }));
    const [data, model, out] = ['data', 'model', 'scores'].map((name) => join(root, name)) as [
      string,
      string,
      string,
    ];
    const tasks = [
      ...['afrimgsm_swa_prompt_1', 'afrimgsm_cot_swa_prompt_2', 'afrimmlu_direct_swa_prompt_1'],
      ...['afrixnli_swa_prompt_1', 'xnli_sw', 'global_mmlu_sw', 'include_base_44_greek', 'mmlu_prox_lite_sw'],
      ...['mmlu_prox_sw', 'aime24', 'aime25', 'gpqa_diamond_zeroshot', 'gpqa_diamond_cot_zeroshot'],
      ...['belebele_swh_Latn', 'layerloom_mgsm_rev2_sw', 'layerloom_mgsm_pro_sw'],
    ];

    beforeAll(async () => {
      mkdirSync(model);
      await ask('model', model);
      writeMgsmVariants(writeMgsm(data));
      for (const task of tasks.filter((name) => !name.startsWith('layerloom_'))) writeHarnessRows(data, task);
      const settings = [
        `data=${data}`,
        'fewshot=0',
        'max_tokens=8',
        'device=cpu',
        'model_args={dtype: float32}',
      ];
      const run = await cli([
        ...['evaluate', `tiny=${model}`, '--tasks', tasks.join(','), '-o', out],
        ...settings.flatMap((setting) => ['--set', setting]),
        ...['--lm-eval', `${python} -m lm_eval`],
      ]);
      expect([run.code, run.stderr]).toEqual([0, expect.not.stringContaining('hub')]);
    }, 1_800_000);

    it('have a score by their metric, over their own rows', () => {
      const { references } = recordIn(out) as ExperimentRecord;
      const scores = references[0]?.scores ?? {};
      expect(Object.keys(scores).sort()).toEqual([...tasks].sort());
      for (const task of tasks) {
        const members = matchTask(task)?.form.rows?.by?.members(matchTask(task)?.code ?? '').length ?? 1;
        const headline = taskOf(task)?.headline[0] ?? '';
        expect([task, scores[task]?.headline]).toEqual([task, headline]);
        expect([task, scores[task]?.n]).toEqual([task, task.startsWith('layerloom_') ? 3 : 2 * members]);
        expect(scores[task]?.metrics[headline], task).toEqual(expect.any(Number));
      }
    });

    it('stand in the table of models', async () => {
      const { stdout } = await cli(['table', out, '--table', 'models', '--json']);
      const { tables } = JSON.parse(stdout) as { tables: { columns: { label: string }[] }[] };
      const columns = JSON.stringify(tables[0]?.columns);
      for (const task of tasks) expect(columns).toContain(task);
    });
  });
});
