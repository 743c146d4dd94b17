import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  type SlurmParameters,
  type SlurmTrainingParameters,
  slurmScript,
} from '../../src/study/schedulers/slurm.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { writeSweep } from '../fixtures/sweep.js';

const executable = (file: string, text: string): void => {
  writeFileSync(file, `#!/usr/bin/env bash\nset -eu\n${text}\n`);
  chmodSync(file, 0o755);
};

const workplace = () => {
  const folder = temporaryDirectory();
  executable(
    join(folder, 'sbatch'),
    `count=$(cat "$RECORD/count" 2>/dev/null || echo 0); echo $((count + 1)) > "$RECORD/count"
printf '%s\\n' "$@" > "$RECORD/sbatch-$((count + 1))"
job=$(mktemp -p "$(dirname "$0")"); cat > "$job"; bash -n "$job"
case " $* " in
  *" --array=0-"*) last=$(printf '%s\\n' "$@" | sed -n 's/^--array=0-//p'); for i in $(seq 0 "$last"); do SLURM_ARRAY_TASK_ID=$i bash "$job" >&2 || true; done; case " $* " in *evaluate*) echo '19;cluster';; *) echo '17;cluster';; esac;;
  *) bash "$job" >&2 || true; echo 18;;
esac`,
  );
  executable(join(folder, 'the layerloom'), `printf '%s|' "$@" >> "$RECORD/calls"; echo >> "$RECORD/calls"`);
  return { folder, command: [join(folder, 'the layerloom')] };
};

const run = (script: string, folder: string) => {
  const record = temporaryDirectory();
  const file = join(folder, 'submit.sh');
  writeFileSync(file, script);
  execFileSync('bash', ['-n', file]);
  const stdout = execFileSync('bash', [file], {
    cwd: temporaryDirectory(),
    env: { ...process.env, PATH: `${folder}:${process.env['PATH']}`, RECORD: record },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const lines = (name: string) => readFileSync(join(record, name), 'utf8').trimEnd().split('\n');
  return { stdout, lines };
};

const submit = (parameters: Omit<SlurmParameters, 'experiment' | 'out'>) => {
  const { folder, command } = workplace();
  const out = join(folder, 'it\'s $HOME `x` 100% "out"');
  const experiment = join(folder, 'my experiment.yaml');
  const { stdout, lines } = run(slurmScript({ experiment, out, command, ...parameters }), folder);
  return {
    folder,
    out,
    stdout,
    calls: lines('calls'),
    parts: lines('sbatch-1'),
    last: lines('sbatch-2'),
    scores: parameters.evaluation === undefined ? [] : lines('sbatch-3'),
  };
};

describe.skipIf(process.platform === 'win32')('the script for SLURM', () => {
  it('submits the parts, and a last job behind them', () => {
    const { folder, out, stdout, calls, parts, last } = submit({ parts: 3, store: '/shared/the store' });
    const batch = `batch|${join(folder, 'my experiment.yaml')}|-o|${out}|--store|/shared/the store|`;
    expect(calls).toEqual([
      `${batch}--part|0/3|`,
      `${batch}--part|1/3|`,
      `${batch}--part|2/3|`,
      `${batch}--resume|`,
    ]);
    expect(parts).toEqual([
      '--parsable',
      '--job-name=layerloom',
      '--array=0-2',
      `--output=${out.replace('%', '%%')}.slurm/part-%a.log`,
    ]);
    expect(last).toContain('--dependency=afterany:17');
    expect(stdout).toContain('parts: job 17 (0 to 2), last: job 18');
    expect(existsSync(`${out}.slurm`)).toBe(true);
  });

  it('asks for what it is told to', () => {
    const { calls, parts } = submit({
      parts: 1,
      time: '1-02:00:00',
      cpus: 8,
      partition: 'long jobs',
      memory: '32G',
    });
    expect(parts.slice(4)).toEqual([
      '--cpus-per-task=8',
      '--time=1-02:00:00',
      '--partition=long jobs',
      '--mem=32G',
    ]);
    expect(calls[0]).toMatch(/\|-j\|8\|--part\|0\/1\|$/);
    expect(calls[0]).not.toContain('--store');
  });

  it('submits jobs that score the models, behind the last, with what they need', () => {
    const common = { time: '01:00:00', partition: 'cpu', memory: '32G', cpus: 4, account: 'ours' };
    const evaluation = {
      parts: 2,
      gpus: 4,
      time: '08:00:00',
      partition: 'big gpu',
      account: 'theirs',
      lmEval: "/it's/lm eval",
    };
    const { out, stdout, calls, parts, scores } = submit({ ...common, parts: 1, evaluation });
    expect(calls.slice(2)).toEqual([
      `evaluate|${out}|--lm-eval|/it's/lm eval|--part|0/2|`,
      `evaluate|${out}|--lm-eval|/it's/lm eval|--part|1/2|`,
    ]);
    expect(scores).toEqual([
      '--parsable',
      '--job-name=layerloom-evaluate',
      '--array=0-1',
      '--dependency=afterany:18',
      `--output=${out.replace('%', '%%')}.slurm/evaluate-%a.log`,
      '--cpus-per-task=4',
      '--time=08:00:00',
      '--partition=big gpu',
      '--account=theirs',
      '--mem=32G',
      '--gres=gpu:4',
    ]);
    expect(parts).toContain('--account=ours');
    expect(parts.join()).not.toContain('gpu');
    expect(stdout).toContain('scores: job 19 (0 to 1)\n');
  });

  it('scores with one GPU and the limits of the other jobs, if nothing else is said', () => {
    const { calls, scores } = submit({ parts: 3, partition: 'both', evaluation: {} });
    expect(calls.slice(4).map((call) => call.replace(/.*--part/, '--part'))).toEqual([
      '--part|0/3|',
      '--part|1/3|',
      '--part|2/3|',
    ]);
    expect(scores.slice(5)).toEqual(['--partition=both', '--gres=gpu:1']);
    expect(submit({ parts: 1, evaluation: { gpus: 0 } }).scores.slice(5)).toEqual([]);
  });

  it('passes a quality of service and further directives to each job, evaluations their own', () => {
    const directives = ['--constraint=a100&big', '--exclude=the node', '--exclusive'];
    const { parts, last, scores } = submit({
      ...{ parts: 1, account: 'ours', qos: 'high', directives },
      evaluation: { gpus: 0, qos: 'low', directives: ['--constraint=h100'] },
    });
    expect(parts.slice(4)).toEqual(['--account=ours', '--qos=high', ...directives]);
    expect(last).toEqual(expect.arrayContaining(['--account=ours', '--qos=high', ...directives]));
    expect(scores.slice(5)).toEqual(['--account=ours', '--qos=low', '--constraint=h100']);
    const same = submit({ parts: 1, qos: 'high', directives, evaluation: { gpus: 0 } }).scores;
    expect(same.slice(5)).toEqual(['--qos=high', ...directives]);
    for (const directive of ['-C a100', 'exclusive', '--array=0-9', '--depend=x', '--output=y', '--x\n'])
      expect(() => slurmScript({ experiment: '/e', out: '/o', directives: [directive] })).toThrow(
        /directive: /,
      );
  });

  it('is refused for what cannot be', () => {
    const script = (more: Partial<SlurmParameters>) => () =>
      slurmScript({ experiment: '/e.yaml', out: '/out', ...more });
    expect(script({ parts: 0 })).toThrow(/parts: expected a whole number, 1 or more, got 0/);
    expect(script({ cpus: 1.5 })).toThrow(/cpus: expected/);
    expect(script({ out: '/a\nLAYERLOOM_JOB\nrm -rf /' })).toThrow(
      /out: expected text without control characters/,
    );
    expect(script({ time: '2h' })).toThrow(/time: expected a time in sbatch's notation/);
    expect(script({ time: 'UNLIMITED' })()).toContain('--time=UNLIMITED');
    expect(script({ store: '' })).toThrow(/store: expected/);
    expect(script({ evaluation: { gpus: -1 } })).toThrow(/gpus: expected a whole number, 0 or more, got -1/);
    expect(script({ evaluation: { parts: 0 } })).toThrow(
      /evaluate-parts: expected a whole number, 1 or more/,
    );
    expect(script({ evaluation: { time: 'a\nb' } })).toThrow(/evaluate-time: expected text/);
    expect(script({ evaluation: { lmEval: '' } })).toThrow(/lm-eval: expected text/);
  });
});

describe.skipIf(process.platform === 'win32')('the script for SLURM of a training', () => {
  const submitted = async (parameters: Partial<SlurmTrainingParameters> = {}) => {
    const { folder, command } = workplace();
    const { training, trained } = await writeSweep(folder);
    const { stdout, lines } = run(slurmScript({ training, parts: 2, command, ...parameters }), folder);
    return {
      training,
      trained: trained(),
      stdout,
      calls: lines('calls'),
      parts: lines('sbatch-1'),
      last: lines('sbatch-2'),
    };
  };

  it('trains each run in one of the parts, and then asks for the status', async () => {
    const { training, trained, calls, stdout } = await submitted();
    expect(trained).toEqual(['task-s1', 'task-s2', 'task-s3']);
    expect(calls).toEqual([`train|status|${training}|`]);
    expect(stdout).toContain('parts: job 17 (0 to 1), last: job 18');
    expect(existsSync(`${training}.slurm`)).toBe(true);
  });

  it('asks GPUs for the jobs that train, one each if nothing else is said, and none for the last', async () => {
    const { parts, last } = await submitted({ partition: 'gpu' });
    expect(parts.slice(4)).toEqual(['--partition=gpu', '--gres=gpu:1']);
    expect(last.slice(4)).toEqual(['--partition=gpu']);
    expect((await submitted({ gpus: 4, cpus: 8 })).parts.slice(4)).toEqual([
      '--cpus-per-task=8',
      '--gres=gpu:4',
    ]);
    expect((await submitted({ gpus: 0 })).parts.slice(4)).toEqual([]);
  });

  it('asks for the status though a run failed', async () => {
    const { folder, command } = workplace();
    const { training, trained } = await writeSweep(folder, 'task-s2');
    const { lines } = run(slurmScript({ training, parts: 3, command }), folder);
    expect(trained()).toEqual(['task-s1', 'task-s3']);
    expect(lines('calls')).toEqual([`train|status|${training}|`]);
  });

  it('is refused for what cannot be', () => {
    const script = (more: Partial<SlurmTrainingParameters>) => () =>
      slurmScript({ training: '/runs', parts: 1, ...more });
    expect(script({ parts: 0 })).toThrow(/parts: expected a whole number, 1 or more, got 0/);
    expect(script({ gpus: -1 })).toThrow(/gpus: expected a whole number, 0 or more, got -1/);
    expect(script({ cpus: 0.5 })).toThrow(/cpus: expected/);
    expect(script({ training: '/a\nb' })).toThrow(/training: expected text without control characters/);
  });
});
