import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { cli } from '../fixtures/cli.js';

const sweep = async (...options: readonly string[]) => {
  const folder = temporaryDirectory();
  const rows = join(folder, 'rows.jsonl');
  writeFileSync(rows, '{"prompt": "1 + 1?", "completion": "2"}\n');
  const directory = join(folder, 'the runs');
  const words = ['--preset', 'own-task', '--data', rows, '--base', 'org/base', '--set', 'seed=1,2,3'];
  const { code, stderr } = await cli(['train', 'init', ...words, ...options, '-o', directory]);
  expect([code, stderr]).toEqual([0, '']);
  return directory;
};

describe('layerloom train slurm', () => {
  it('prints a script with a job for each run, and the GPUs that the runs were written for', async () => {
    const directory = await sweep();
    const { code, stdout, stderr } = await cli(['train', 'slurm', directory, '--time', '1-0']);
    expect([code, stderr]).toEqual([0, '']);
    execFileSync('bash', ['-n'], { input: stdout });
    expect(stdout).toContain(`exec bash '${directory}/train.sh' "$SLURM_ARRAY_TASK_ID/3"\n`);
    expect(stdout).toContain('limits=(--time=1-0 --gres=gpu:4)\n');
    expect(stdout).toMatch(new RegExp(`exec ${process.execPath} .* train status '${directory}'\n`));
    const { stdout: json } = await cli(['train', 'slurm', directory, '--parts', '2', '--json']);
    expect(JSON.parse(json)).toMatchObject({ runs: 3, parts: 2, gpus: 4, training: directory });
  });

  it('asks no GPU for runs on the processor, and one for those of one device', async () => {
    const gpus = async (...options: readonly string[]) =>
      JSON.parse((await cli(['train', 'slurm', await sweep(...options), '--json'])).stdout).gpus;
    expect(await gpus('--cpu')).toBe(0);
    expect(await gpus('--method', 'lora')).toBe(1);
    expect(await gpus('--devices', '2')).toBe(2);
  });

  it.each([
    [['--parts', '4'], /--parts: expected at most 3, the number of runs in .*the runs, got 4/],
    [['--parts', 'x'], /--parts: expected a whole number, 1 or more, got "x"/],
    [['--gpus', '1'], /--gpus 1: the runs in .* are written for 4; .* --devices 1/],
    [['--directive', '--array=0-7'], /directive: expected a long option of sbatch/],
  ])('refuses %j', async (options, message) => {
    const { code, stderr } = await cli(['train', 'slurm', await sweep(), ...options]);
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
  });

  it('refuses a directory that is no training, by the name of the file that it lacks', async () => {
    const { code, stderr } = await cli(['train', 'slurm', temporaryDirectory()]);
    expect(code).toBe(3);
    expect(stderr).toMatch(/training\.json/);
  });
});

describe('layerloom train snakemake and kubernetes', () => {
  it('print the jobs of the runs', async () => {
    const directory = await sweep('--devices', '1');
    const workflow = await cli(['train', 'snakemake', directory, '--retries', '0']);
    expect([workflow.code, workflow.stderr]).toEqual([0, '']);
    expect(workflow.stdout).toContain(`PART = "bash '${directory}/train.sh'"\n`);
    expect(workflow.stdout).toContain('retries: 0\n    threads: 1\n    resources: gpu=1\n');
    const at = ['--image', 'trl', '--volume', 'c=/data', '--training-path', '/data/runs'];
    const manifest = await cli(['train', 'kubernetes', directory, ...at, '--command', '/opt/layerloom']);
    expect([manifest.code, manifest.stderr]).toEqual([0, '']);
    const commands = [...parseAllDocuments(manifest.stdout)].map(
      (document) => document.toJS().spec.template.spec.containers[0].command,
    );
    expect(commands).toEqual([
      ['bash', '/data/runs/train.sh', '$(JOB_COMPLETION_INDEX)/3'],
      ['/opt/layerloom', 'train', 'status', '/data/runs'],
    ]);
  });

  it('refuse what pods do not see', async () => {
    const { code, stderr } = await cli(['train', 'kubernetes', await sweep(), '--image', 'trl']);
    expect(code).toBe(2);
    expect(stderr).toMatch(/training: expected a path inside pods, on one of the volumes/);
  });
});
