import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, inject, it } from 'vitest';
import { packageRoot } from '../../src/core/base/files/shipped.js';
import { analyze, evaluateExperiment, runExperiment } from '../../src/index.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { stubHarness } from '../fixtures/evaluation-errors.js';
import { someMerges, writeExperiment } from '../fixtures/experiment.js';

const { reason, python } = inject('frames');
const here = fileURLToPath(new URL('.', import.meta.url));
const command = join(packageRoot, 'bin/layerloom.cjs');

const writeResults = async (): Promise<string> => {
  const { root, file, out } = writeExperiment(someMerges, { layers: 6 });
  const tasks = { swahili: ['mgsm_direct_sw', 'stub_perplexity'], english: 'mgsm_direct_en' };
  writeFileSync(file, `${readFileSync(file, 'utf8')}\nevaluate: ${JSON.stringify({ tasks, fewshot: 8 })}\n`);
  await runExperiment(file, { out });
  await evaluateExperiment(out, { lmEval: stubHarness });
  symlinkSync(out, join(root, 'study'));
  const experts = ['math-1', 'swh-1'].map((name) => join(root, name));
  await analyze({ base: join(root, 'base'), experts }, { out: join(root, 'analysis') });
  for (const format of ['json', 'parquet'])
    execFileSync(process.execPath, [
      ...[command, 'table', out, '--format', format],
      ...['-o', join(root, `tables.${format}`)],
    ]);
  return root;
};

describe.skipIf(reason !== '')(`results in Python${reason && ` (${reason})`}`, () => {
  /** Uses the package's sources: no wheel is needed without an engine. */
  const run = (words: readonly string[], root: string, cwd: string) => {
    const env = {
      ...process.env,
      PYTHONPATH: [join(packageRoot, 'python'), here].join(':'),
      LAYERLOOM_RESULTS: root,
      LAYERLOOM_COMMAND: JSON.stringify([process.execPath, command]),
      ...{ WANDB_MODE: 'offline', WANDB_SILENT: 'true', MLFLOW_DISABLE_TELEMETRY: 'true' },
    };
    const { status, stdout, stderr } = spawnSync(python, words, { cwd, env, encoding: 'utf8' });
    expect(status, stdout + stderr).toBe(0);
    return stdout;
  };

  it.each(['test_frames', 'test_hostile', 'test_logging', 'test_shown'])(
    'hold what %s.py says',
    async (name) => {
      run(['-m', 'unittest', name], await writeResults(), temporaryDirectory());
    },
  );

  it('run the programs of docs/frames.md', async () => {
    const root = await writeResults();
    const page = readFileSync(join(packageRoot, 'docs/frames.md'), 'utf8');
    const programs = [...page.matchAll(/^```python\n(.*?)^```/gms)].map(([, text = '']) => text);
    expect(programs.length).toBeGreaterThan(2);
    for (const text of programs) run(['-c', text], root, root);
  });
});
