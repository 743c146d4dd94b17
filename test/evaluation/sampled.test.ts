import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { evaluateExperiment, evaluationCommands, importResults, planEvaluation } from '../../src/index.js';
import type { Score } from '../../src/study/evaluation/result.js';
import { loadScores } from '../../src/study/scores/reading/load-scores.js';
import { stubHarness as lmEval } from '../fixtures/evaluation-errors.js';
import { evaluatedExperiment } from '../fixtures/experiment.js';

vi.setConfig({ testTimeout: 120_000 });

const task = 'mgsm_direct_sw';
const greedy = { tasks: { swahili: [task, 'layerloom_mgsm_ppl_sw'] }, fewshot: 8 };
const sampled = { ...greedy, sampling: { temperature: 0.6, top_p: 0.95 }, repeats: 3, seed: 7 };
const only = ['base'];

const scoreOf = (out: string): Score | undefined => {
  const { references } = JSON.parse(readFileSync(join(out, 'experiment.json'), 'utf8')) as {
    references: { name: string; scores?: Record<string, Score> }[];
  };
  return references.find(({ name }) => name === 'base')?.scores?.[task];
};

describe('sampled answers', () => {
  it('are a result each, by a seed each, and one score', async () => {
    const { out, set } = await evaluatedExperiment(sampled);
    const plan = await planEvaluation(out, { lmEval, only });
    expect(plan.tasks.map((each) => [each.task, each.problems])).toEqual([
      [task, 750],
      ['layerloom_mgsm_ppl_sw', 250],
    ]);
    expect((await evaluateExperiment(out, { lmEval, only })).results).toEqual({ made: 4, there: 0 });
    const score = scoreOf(out);
    expect(score).toMatchObject({ sampling: 'temperature=0.6,top_p=0.95', n: 20 });
    expect(score?.samples).toHaveLength(3);
    const results = (score?.samples ?? []).map(
      (file) =>
        JSON.parse(readFileSync(join(out, file), 'utf8')) as {
          seed: string;
          metrics: Record<string, number>;
        },
    );
    expect(results.map(({ seed }) => seed)).toEqual(['7,7,7,7', '8,8,8,7', '9,9,9,7']);
    const metric = 'exact_match,flexible-extract';
    const each = results.map(({ metrics }) => metrics[metric] as number);
    expect(new Set(each).size).toBeGreaterThan(1);
    expect(score?.metrics[metric]).toBeCloseTo(each.reduce((a, b) => a + b) / 3, 12);

    const { models } = await loadScores(out);
    const joined = models.find(({ name }) => name === 'base')?.results.get(task);
    expect(joined?.samples).toHaveLength(3);
    expect(joined?.metrics[metric]).toBeCloseTo(score?.metrics[metric] as number, 12);
    expect(joined?.metrics['pass@3,flexible-extract']).toBeGreaterThan(joined?.metrics[metric] as number);

    // A lost answer alone is drawn again; more repeats keep those that are there.
    expect((await evaluateExperiment(out, { lmEval, only })).results).toEqual({ made: 0, there: 4 });
    await set({ ...sampled, repeats: 5 });
    expect(scoreOf(out)).toBeUndefined();
    expect((await evaluateExperiment(out, { lmEval, only })).results).toEqual({ made: 2, there: 4 });
    expect(scoreOf(out)?.samples?.slice(0, 3)).toEqual(score?.samples);

    // Answers to another version of the task, or of another back end, make no score with the others.
    for (const change of [{ taskVersion: 'old' }, { source: 'imported', backend: 'vllm' }]) {
      const [first = ''] = score?.samples ?? [];
      const path = join(out, first);
      const result = { ...JSON.parse(readFileSync(path, 'utf8')), ...change };
      writeFileSync(path, JSON.stringify({ ...result, started: '2020-01-01T00:00:00.000Z' }));
      await set({ ...sampled, repeats: 5 });
      expect(scoreOf(out)).toBeUndefined();
      expect((await planEvaluation(out, { lmEval, only })).tasks).toMatchObject([{ task, problems: 20 }]);
      expect((await evaluateExperiment(out, { lmEval, only })).results).toEqual({ made: 1, there: 5 });
      expect(scoreOf(out)?.samples).toHaveLength(5);
    }

    await set({ ...greedy, seed: 7 });
    expect(scoreOf(out)).toBeUndefined();
    expect((await evaluateExperiment(out, { lmEval, only })).results).toEqual({ made: 1, there: 1 });
    expect(scoreOf(out)).not.toHaveProperty('samples');
  });

  it('are asked of the harness, and read from its results', async () => {
    const { out, set } = await evaluatedExperiment({ ...sampled, max_tokens: 64 });
    const runs = await evaluationCommands(out, { lmEval, only });
    const configs = runs.map(({ command }) =>
      JSON.parse(readFileSync(command.split(' ').at(-1) ?? '', 'utf8')),
    );
    expect(configs.map(({ tasks, seed, gen_kwargs }) => ({ tasks, seed, gen_kwargs }))).toEqual([
      ...[0, 1, 2].map((sample) => ({
        tasks: [task],
        seed: [7 + sample, 7 + sample, 7 + sample, 7],
        gen_kwargs: { max_gen_toks: 64, do_sample: true, temperature: 0.6, top_p: 0.95 },
      })),
      { tasks: ['layerloom_mgsm_ppl_sw'], seed: [7, 7, 7, 7], gen_kwargs: undefined },
    ]);
    const { execSync } = await import('node:child_process');
    for (const { command } of runs) execSync(command);
    const from = join(out, 'evaluations', 'runs');
    expect(readdirSync(from)).toHaveLength(4);
    expect((await importResults(out, from)).warnings).toEqual([]);
    expect(scoreOf(out)?.samples).toHaveLength(3);
    await set({ ...greedy, max_tokens: 64, seed: 7 });
    expect((await importResults(out, from)).warnings).toEqual(
      [0, 1, 2].map(() =>
        expect.stringMatching(
          /answers sampled with temperature=0.6,top_p=0.95 and .* asks for .* greedy answers/,
        ),
      ),
    );
  });

  it('have a temperature that Python reads as a float', async () => {
    const { out } = await evaluatedExperiment({ ...sampled, sampling: { temperature: 1 } });
    const [run] = await evaluationCommands(out, { lmEval, only });
    expect(readFileSync(run?.command.split(' ').at(-1) ?? '', 'utf8')).toMatch(/"temperature": 1\.0$/m);
  });

  it('end for a task that fails once', async () => {
    const { out } = await evaluatedExperiment(sampled);
    vi.stubEnv('STUB_CRASH_TASK', 'base').stubEnv('STUB_TASK', task);
    const { failed, results } = await evaluateExperiment(out, { lmEval, only });
    vi.unstubAllEnvs();
    expect(failed).toMatchObject([{ model: 'base', task, code: 'HARNESS_FAILED' }]);
    expect(results.made).toBe(1);
    expect((await evaluateExperiment(out, { lmEval, only })).results).toEqual({ made: 3, there: 1 });
  });

  it.each([
    [{ repeats: 3 }, 'repeats: is set without sampling'],
    [{ repeats: { [task]: 2 }, sampling: { other: { temperature: 1 } } }, 'other: not a task under tasks'],
    [{ sampling: { temperature: 0 } }, 'sampling'],
    [{ sampling: { temperature: 1, top_q: 1 } }, 'sampling'],
    [{ sampling: { temperature: 1 }, backend: 'gguf' }, 'whose seed layerloom cannot set'],
    [{ sampling: { temperature: 1 }, seed: '0,0,None,0' }, 'has no seed for torch'],
    [
      { sampling: { temperature: 1 }, arguments: ['--gen_kwargs', 'top_p=1'] },
      'is set together with the argument gen_kwargs',
    ],
    [{ repeats: 0, sampling: { temperature: 1 } }, 'repeats'],
  ])('are refused with %j', async (more, message) => {
    await expect(evaluatedExperiment({ ...greedy, ...more })).rejects.toMatchObject({
      code: 'RECIPE_INVALID',
      message: expect.stringContaining(message),
    });
  });
});
