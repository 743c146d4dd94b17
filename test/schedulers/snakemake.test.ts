import { describe, expect, it } from 'vitest';
import { type SnakemakeParameters, snakemakeWorkflow } from '../../src/study/schedulers/snakemake.js';

const workflow = (more: Partial<SnakemakeParameters> = {}) =>
  snakemakeWorkflow({ experiment: '/data/e.yaml', out: '/data/out', ...more });

const ruleOf = (text: string, name: string): string[] => {
  const [, rest = ''] = text.split(`\nrule ${name}:\n`);
  return (rest.split('\n\n')[0] ?? '').split('\n').map((line) => line.trim());
};

/** The value of a constant, as a literal that JSON and Python read alike. */
const constantOf = (text: string, name: string): unknown =>
  JSON.parse(new RegExp(`^${name} = (.*)$`, 'm').exec(text)?.[1] ?? 'null');

describe('the workflow for Snakemake', () => {
  it('has parts, a last job behind them, and no evaluation unless asked', () => {
    const text = workflow({ parts: 3, stamp: '1.2.3:0123456789abcdef' });
    expect(constantOf(text, 'PART')).toBe(
      'layerloom batch /data/e.yaml -o /data/out -j 1 --expect 1.2.3:0123456789abcdef --part',
    );
    expect(constantOf(text, 'LAST')).toMatch(/--expect 1\.2\.3:0123456789abcdef --resume$/);
    expect(text).toContain('PARTS = int(config.get("parts", 3))');
    expect(ruleOf(text, 'last')).toContain('finished=touch(OUT + ".snakemake/finished"),');
    expect(ruleOf(text, 'all')).toEqual(['input: RECORD']);
    expect(text).not.toContain('rule evaluate');
  });

  it('declares no output of parts but markers that a rerun may lack', () => {
    const outputs = ruleOf(workflow(), 'part').filter((line) => line.startsWith('output:'));
    expect(outputs).toEqual(['output: temp(touch(OUT + ".snakemake/part-{part}-of-{parts}"))']);
  });

  it("gives limits by Snakemake's names, those of evaluations their own", () => {
    const text = workflow({
      ...{
        cpus: 8,
        memory: '32G',
        time: '1-02:00:30',
        partition: 'long "jobs"',
        account: 'ours',
        qos: 'high',
      },
      evaluation: { parts: 2, gpus: 4, time: '90', partition: 'gpu', lmEval: "/it's/lm {eval}" },
    });
    const common = 'slurm_account="ours", qos="high"';
    expect(ruleOf(text, 'last')).toContain('threads: 8');
    expect(ruleOf(text, 'last')).toContain(
      `resources: mem_mb=32768, runtime=1561, slurm_partition="long \\"jobs\\"", ${common}`,
    );
    expect(ruleOf(text, 'evaluate')).toContain(
      `resources: mem_mb=32768, runtime=90, slurm_partition="gpu", ${common}, gpu=4`,
    );
    expect(constantOf(text, 'EVALUATE')).toBe(
      `layerloom evaluate /data/out --lm-eval '/it'\\''s/lm {eval}' --part`,
    );
    expect(workflow({ evaluation: { gpus: 0 } })).not.toContain('gpu=');
  });

  it('quotes paths for the shell and for Python', () => {
    const text = workflow({ out: `/it's "out" \\ $HOME`, command: ['/the node', 'main.js'] });
    expect(constantOf(text, 'OUT')).toBe(`/it's "out" \\ $HOME`);
    expect(constantOf(text, 'LAST')).toBe(
      `'/the node' main.js batch /data/e.yaml -o '/it'\\''s "out" \\ $HOME' -j 1 --resume`,
    );
  });

  it.each<[Partial<SnakemakeParameters>, RegExp]>([
    [{ out: '/a{b}' }, /out: expected a path without braces/],
    [{ experiment: '/a{b}.yaml' }, /experiment: expected a path without braces/],
    [{ out: '/a\nimport os' }, /out: expected text without control characters/],
    [{ parts: 0 }, /parts: expected a whole number, 1 or more/],
    [{ retries: -1 }, /retries: expected a whole number, 0 or more/],
    [{ time: 'soon' }, /time: expected a time in sbatch's notation/],
    [{ memory: '0' }, /memory: expected a size in sbatch's notation/],
    [{ evaluation: { time: '1:2:3:4' } }, /evaluate-time: expected a time/],
  ])('refuses %j', (more, message) => {
    expect(() => workflow(more)).toThrow(message);
  });
});

describe('the workflow for Snakemake of a training', () => {
  const training = '/data/the runs';

  it('trains in parts, on one GPU each, and ends with the status', () => {
    const text = snakemakeWorkflow({ training, parts: 3, memory: '64G' });
    expect(constantOf(text, 'PART')).toBe("bash '/data/the runs/train.sh'");
    expect(constantOf(text, 'LAST')).toBe("layerloom train status '/data/the runs'");
    expect(constantOf(text, 'FILE')).toBe('/data/the runs/training.json');
    expect(text).toContain('PARTS = int(config.get("parts", 3))');
    expect(ruleOf(text, 'part')).toContain('resources: mem_mb=65536, gpu=1');
    expect(ruleOf(text, 'last')).toContain('resources: mem_mb=65536');
    expect(snakemakeWorkflow({ training, parts: 3, gpus: 0 })).not.toContain('gpu=');
  });

  it('declares no result but markers, since the status writes none', () => {
    const text = snakemakeWorkflow({ training, parts: 1 });
    expect(ruleOf(text, 'all')).toEqual(['input: OUT + ".snakemake/finished"']);
    expect(text).not.toMatch(/RECORD|experiment/);
  });

  it('refuses braces in the path', () => {
    expect(() => snakemakeWorkflow({ training: '/a{b}', parts: 1 })).toThrow(
      /training: expected a path without braces/,
    );
  });
});
