import { execFile } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { snakemakeWorkflow } from '../../src/index.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { cli } from '../fixtures/cli.js';
import { contentsOf, isLasting, someMerges, writeExperiment } from '../fixtures/experiment.js';
import { writeSweep } from '../fixtures/sweep.js';

const { LAYERLOOM_SNAKEMAKE: snakemake } = process.env;

const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const lmEval = fileURLToPath(new URL('../fixtures/lm-eval.mjs', import.meta.url));
const measured = `evaluate:\n  tasks: {swahili: mgsm_direct_sw}\n  fewshot: 0\n`;
const isMerge = (path: string) => isLasting(path) && !path.startsWith('evaluations/');

const prepare = async (failures: number) => {
  const { root, file, out: plain } = writeExperiment(`${someMerges}${measured}`);
  expect((await cli(['batch', file, '-o', plain, '-q'])).code).toBe(0);
  const counter = join(root, 'failures');
  writeFileSync(counter, `${failures}\n`);
  const command = join(root, 'the layerloom');
  writeFileSync(
    command,
    `#!/usr/bin/env bash
if [[ "$*" == "batch "*"--part 1/3" ]] && read -r n < '${counter}' && [ "$n" -gt 0 ]; then
  echo $((n - 1)) > '${counter}'; exit 1
fi
exec '${process.execPath}' '${main}' "$@"
`,
  );
  chmodSync(command, 0o755);
  const out = join(root, "it's the output");
  const { stamp } = JSON.parse((await cli(['batch', file, '--dry-run', '--json'])).stdout);
  const evaluation = { parts: 2, lmEval };
  writeFileSync(
    join(root, 'Snakefile'),
    snakemakeWorkflow({ experiment: file, out, parts: 3, command: [command], stamp, evaluation }),
  );
  const run = (...args: string[]) =>
    promisify(execFile)(snakemake ?? '', ['--cores', '2', '--keep-going', ...args], { cwd: root }).then(
      ({ stderr }) => ({ code: 0, stderr }),
      ({ code, stderr }: { code: number; stderr: string }) => ({ code, stderr }),
    );
  const check = () => expect(contentsOf(out, isMerge)).toEqual(contentsOf(plain, isMerge));
  return { out, run, check };
};

describe.skipIf(!snakemake)('an experiment by Snakemake (LAYERLOOM_SNAKEMAKE)', () => {
  it('is made by parts, one of which is retried, a last job and evaluations, and not again', async () => {
    const { out, run, check } = await prepare(1);
    const { code, stderr } = await run();
    expect([code, stderr]).toEqual([0, expect.stringContaining('Trying to restart')]);
    check();
    const record = JSON.parse(readFileSync(join(out, 'experiment.json'), 'utf8'));
    expect(record.bytesWritten).toBe(0);
    expect(existsSync(`${out}.snakemake/scored-1-of-2`)).toBe(true);
    expect((await run()).stderr).toContain('Nothing to be done');
    rmSync(out, { recursive: true });
    expect((await run()).code).toBe(0);
    check();
  });

  it('is finished without a part that failed for good', async () => {
    const { out, run, check } = await prepare(99);
    expect((await run()).code).toBe(1);
    expect(existsSync(join(out, 'experiment.json'))).toBe(false);
    expect((await run('--config', 'parts=0')).code).toBe(0);
    check();
  });
});

describe.skipIf(!snakemake)('a training by Snakemake (LAYERLOOM_SNAKEMAKE)', () => {
  const prepare = async (failing?: string) => {
    const root = temporaryDirectory();
    const { training, trained } = await writeSweep(root, failing);
    const status = join(root, 'the layerloom');
    writeFileSync(status, `#!/bin/sh\necho "$@" >> '${join(root, 'calls')}'\n`);
    chmodSync(status, 0o755);
    const jobs = { training, parts: 2, gpus: 0, retries: 1, command: [status] };
    writeFileSync(join(root, 'Snakefile'), snakemakeWorkflow(jobs));
    const run = (...args: string[]) =>
      promisify(execFile)(snakemake ?? '', ['--cores', '2', '--keep-going', ...args], { cwd: root }).then(
        ({ stderr }) => ({ code: 0, stderr }),
        ({ code, stderr }: { code: number; stderr: string }) => ({ code, stderr }),
      );
    const calls = () => (existsSync(join(root, 'calls')) ? readFileSync(join(root, 'calls'), 'utf8') : '');
    return { training, trained, run, calls };
  };

  it('trains all runs in parts, then asks for the status, and not again', async () => {
    const { training, trained, run, calls } = await prepare();
    expect(await run()).toMatchObject({ code: 0 });
    expect(trained()).toEqual(['task-s1', 'task-s2', 'task-s3']);
    expect(calls()).toBe(`train status ${training}\n`);
    expect((await run()).stderr).toContain('Nothing to be done');
  });

  it('trains the other runs where one fails, and asks for the status when told to go on', async () => {
    const { training, trained, run, calls } = await prepare('task-s2');
    expect(await run()).toMatchObject({ code: 1, stderr: expect.stringContaining('Trying to restart') });
    expect([trained(), calls()]).toEqual([['task-s1', 'task-s3'], '']);
    expect(await run('--config', 'parts=0')).toMatchObject({ code: 0 });
    expect(calls()).toBe(`train status ${training}\n`);
  });
});
