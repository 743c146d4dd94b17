import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { evaluateExperiment, evaluationCommands, importResults } from '../../src/index.js';
import { stubHarness as lmEval } from '../fixtures/evaluation-errors.js';
import { evaluatedExperiment } from '../fixtures/experiment.js';

vi.setConfig({ testTimeout: 120_000 });

const evaluate = { tasks: { swahili: ['mgsm_direct_sw', 'layerloom_mgsm_ppl_sw'] }, fewshot: 8 };

const score = (out: string, task: string): { maxTokens?: number; result: string } | undefined => {
  const { references } = JSON.parse(readFileSync(join(out, 'experiment.json'), 'utf8')) as {
    references: { name: string; scores?: Record<string, { maxTokens?: number; result: string }> }[];
  };
  return references.find(({ name }) => name === 'base')?.scores?.[task];
};

const only = ['base'];

describe('the longest answer (max_tokens)', () => {
  it('is part of what a result is a result of, for tasks that generate', async () => {
    const { out, set } = await evaluatedExperiment(evaluate);
    await evaluateExperiment(out, { lmEval, only });
    const own = score(out, 'mgsm_direct_sw');
    expect(own).not.toHaveProperty('maxTokens');
    await set({ ...evaluate, max_tokens: 32 });
    expect(score(out, 'mgsm_direct_sw')).toBeUndefined();
    expect((await evaluateExperiment(out, { lmEval, only })).results).toEqual({ made: 1, there: 1 });
    expect(score(out, 'mgsm_direct_sw')).toMatchObject({ maxTokens: 32 });
    expect(score(out, 'mgsm_direct_sw')?.result).not.toBe(own?.result);
    await set(evaluate);
    expect(score(out, 'mgsm_direct_sw')).toEqual(own);
    expect((await evaluateExperiment(out, { lmEval, only })).results).toEqual({ made: 0, there: 2 });
  });

  it('is told the harness, and read from its results', async () => {
    const { out, set } = await evaluatedExperiment({ ...evaluate, max_tokens: 64 });
    const [run] = await evaluationCommands(out, { lmEval, only });
    const file = run?.command.split(' ').at(-1) ?? '';
    expect(JSON.parse(readFileSync(file, 'utf8')).gen_kwargs).toEqual({ max_gen_toks: 64 });
    const { execSync } = await import('node:child_process');
    execSync(run?.command ?? '');
    const runs = join(out, 'evaluations', 'runs');
    expect(readdirSync(runs)).toHaveLength(2);
    expect((await importResults(out, runs)).warnings).toEqual([]);
    expect(score(out, 'mgsm_direct_sw')).toMatchObject({ maxTokens: 64 });
    await set(evaluate);
    expect((await importResults(out, runs)).warnings).toEqual([
      expect.stringMatching(/mgsm_direct_sw has .* at most 64 tokens; .*the task's own token limit/),
    ]);
    expect(score(out, 'mgsm_direct_sw')).toBeUndefined();
  });

  it('does not stand beside the harness’s own argument', async () => {
    const block = { ...evaluate, max_tokens: 64, arguments: ['--gen_kwargs', 'max_gen_toks=8'] };
    await expect(evaluatedExperiment(block)).rejects.toMatchObject({
      code: 'RECIPE_INVALID',
      message: expect.stringContaining('max_tokens: is set together with the argument gen_kwargs'),
    });
  });
});
