import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { defaultSliceBytes } from '../../src/core/engine/compute/tasks.js';
import { checkOutput } from '../../src/core/engine/output/output.js';
import { openStaging, stagingPath } from '../../src/core/engine/output/staging.js';
import { analyze, LayerloomError, planMerge, runPlan, soup } from '../../src/index.js';
import { temporaryDirectory, writeLarge, writePair } from '../fixtures/checkpoints.js';
import { overwrite, putBack } from '../fixtures/overwrite.js';

// Slow disks.
vi.setConfig({ testTimeout: 180_000 });

describe('an interrupted merge', () => {
  const models = (root: string) => ['a', 'b'].map((name, seed) => writeLarge(join(root, name), 16, 16, seed));

  /** Interrupts a run once one slice more than can be in progress is written, so that some are done. */
  const interrupt = async (root: string, inputs: string[], resume: boolean) => {
    const controller = new AbortController();
    const onProgress = ({ done }: { done: number }) =>
      done > 3 * defaultSliceBytes ? controller.abort() : undefined;
    return soup(
      { models: inputs },
      { out: join(root, 'out'), threads: 1, resume, signal: controller.signal, onProgress },
    );
  };

  it('leaves nothing', async () => {
    const root = temporaryDirectory();
    await expect(interrupt(root, models(root), false)).rejects.toMatchObject({
      code: 'INTERRUPTED',
      exitCode: 130,
    });
    expect(readdirSync(root).sort()).toEqual(['a', 'b']);
  });

  it('asked to resume, keeps what is done and continues it', async () => {
    const root = temporaryDirectory();
    const inputs = models(root);
    await expect(interrupt(root, inputs, true)).rejects.toMatchObject({
      code: 'INTERRUPTED',
      details: { kept: stagingPath(join(root, 'out')) },
    });
    expect(existsSync(join(root, 'out'))).toBe(false);
    const resumed = await soup({ models: inputs }, { out: join(root, 'out'), resume: true, checksums: true });
    expect(resumed.bytesResumed).toBeGreaterThan(0);
    expect(resumed.bytesResumed + resumed.bytesWritten).toBe(16 * 16 * 2 ** 20);
    expect(readdirSync(root).sort()).toEqual(['a', 'b', 'out']);
    const atOnce = await soup({ models: inputs }, { out: join(root, 'again'), checksums: true });
    expect(resumed.shards).toEqual(atOnce.shards);
  });

  it('continues nothing that was made of an input that was written meanwhile and put back', async () => {
    const root = temporaryDirectory();
    const inputs = models(root);
    const out = join(root, 'out');
    const file = join(inputs[0] ?? '', 'model.safetensors');
    const atOnce = await soup({ models: inputs }, { out: join(root, 'again'), checksums: true });
    const controller = new AbortController();
    let former: Buffer | undefined;
    const onProgress = ({ done }: { done: number }) => {
      former ??= overwrite(file);
      if (done >= 100 * 2 ** 20) controller.abort();
    };
    await expect(
      soup({ models: inputs }, { out, threads: 1, resume: true, signal: controller.signal, onProgress }),
    ).rejects.toBeInstanceOf(LayerloomError);
    putBack(file, former ?? Buffer.of());
    const resumed = await soup({ models: inputs }, { out, resume: true, checksums: true });
    expect(resumed.shards).toEqual(atOnce.shards);
  });

  it('is not resumed by another recipe or over other inputs, and says why', async () => {
    const root = temporaryDirectory();
    const inputs = models(root);
    const [first = '', second = ''] = inputs;
    await expect(interrupt(root, inputs, true)).rejects.toMatchObject({ code: 'INTERRUPTED' });
    const out = join(root, 'out');
    await expect(soup({ models: inputs, weights: [1, 2] }, { out, resume: true })).rejects.toThrow(
      /weights was \[1,1\] and is \[1,2\]/,
    );
    await expect(soup({ models: inputs, dtype: 'float32' }, { out, resume: true })).rejects.toThrow(/dtype/);
    await expect(soup({ models: [first] }, { out, resume: true })).rejects.toMatchObject({
      code: 'RESUME_MISMATCH',
      exitCode: 2,
    });
    utimesSync(join(second, 'model.safetensors'), 1, 1);
    await expect(soup({ models: inputs }, { out, resume: true })).rejects.toThrow(
      /b\/model\.safetensors has changed/,
    );
    // If the system cannot read the run to continue, it stays.
    const plan = join(stagingPath(out), 'plan.json');
    const kept = readdirSync(join(stagingPath(out), 'checkpoint'));
    rmSync(plan);
    symlinkSync(plan, plan);
    await expect(soup({ models: inputs }, { out, resume: true })).rejects.toMatchObject({
      code: 'READ_FAILED',
      details: { file: plan },
    });
    expect(readdirSync(join(stagingPath(out), 'checkpoint'))).toEqual(kept);
  });

  it('begun anew without resume removes what was left, and says so', async () => {
    const root = temporaryDirectory();
    const inputs = models(root);
    await expect(interrupt(root, inputs, true)).rejects.toMatchObject({ code: 'INTERRUPTED' });
    const { warnings, bytesResumed } = await soup({ models: inputs }, { out: join(root, 'out') });
    expect(warnings).toContainEqual(expect.stringContaining('interrupted merge'));
    expect(bytesResumed).toBe(0);
  });

  it('writes again what was removed from what it had kept, also when interrupted once more', async () => {
    const root = temporaryDirectory();
    const inputs = models(root);
    const out = join(root, 'out');
    await expect(interrupt(root, inputs, true)).rejects.toMatchObject({ code: 'INTERRUPTED' });
    const checkpoint = join(stagingPath(out), 'checkpoint');
    for (const name of readdirSync(checkpoint)) rmSync(join(checkpoint, name));
    // Interrupts the run once the shards have full size but no data.
    const controller = new AbortController();
    const again = soup(
      { models: inputs },
      { out, threads: 1, resume: true, signal: controller.signal, onProgress: () => controller.abort() },
    );
    await expect(again).rejects.toMatchObject({ code: 'INTERRUPTED' });
    const resumed = await soup({ models: inputs }, { out, resume: true, checksums: true });
    const atOnce = await soup({ models: inputs }, { out: join(root, 'again'), checksums: true });
    expect(resumed.shards).toEqual(atOnce.shards);
  });

  it('journals extents and nothing more', async () => {
    const root = temporaryDirectory();
    await expect(interrupt(root, models(root), true)).rejects.toMatchObject({ code: 'INTERRUPTED' });
    const lines = readFileSync(join(stagingPath(join(root, 'out')), 'journal.jsonl'), 'utf8')
      .trim()
      .split('\n');
    for (const line of lines)
      expect(Object.keys(JSON.parse(line) as object)).toEqual(['shard', 'begin', 'end']);
  });

  it('with a plan that cannot be read is not resumed, and does not keep another from beginning', async () => {
    const { root, task, language } = writePair();
    const out = join(root, 'out');
    for (const text of ['', '{}', '{"layerloom": "0.1.0", "method": "soup"}']) {
      mkdirSync(stagingPath(out), { recursive: true });
      writeFileSync(join(stagingPath(out), 'plan.json'), text);
      await expect(soup({ models: [task, language] }, { out, resume: true })).rejects.toMatchObject({
        code: 'RESUME_MISMATCH',
      });
    }
    await soup({ models: [task, language] }, { out });
  });

  it('is kept only where it can be continued', async () => {
    const root = temporaryDirectory();
    const inputs = models(root);
    const onProgress = ({ done }: { done: number }) => {
      if (done > 0) utimesSync(join(inputs[0] ?? '', 'model.safetensors'), 1, 1);
    };
    await expect(
      soup({ models: inputs }, { out: join(root, 'out'), resume: true, onProgress }),
    ).rejects.toMatchObject({ code: 'INPUT_CHANGED' });
    expect(readdirSync(root).sort()).toEqual(['a', 'b']);
  });

  it('aborted before it begins writes nothing', async () => {
    const { root, task, language } = writePair();
    await expect(
      soup({ models: [task, language] }, { out: join(root, 'out'), signal: AbortSignal.abort() }),
    ).rejects.toMatchObject({ code: 'INTERRUPTED' });
    expect(readdirSync(root).sort()).toEqual(['language', 'task']);
  });
});

describe('a caller’s function that throws', () => {
  it.each(['merge', 'checksums'])(
    'in the phase of %s ends the run with what it threw, and nothing is left',
    async (phase) => {
      const { root, task, language } = writePair();
      const onProgress = (progress: { phase: string }) => {
        if (progress.phase === phase) throw new Error('from the caller');
      };
      await expect(
        soup({ models: [task, language] }, { out: join(root, 'out'), checksums: true, onProgress }),
      ).rejects.toThrow('from the caller');
      expect(readdirSync(root).sort()).toEqual(['language', 'task']);
    },
  );
});

describe('a caller’s function that throws at its last call', () => {
  const onProgress = ({ done, total }: { done: number; total: number }) => {
    if (done === total) throw new Error('from the caller');
  };

  it('ends a merge with what it threw, and nothing is left', async () => {
    const { root, task, language } = writePair();
    await expect(soup({ models: [task, language] }, { out: join(root, 'out'), onProgress })).rejects.toThrow(
      'from the caller',
    );
    expect(readdirSync(root).sort()).toEqual(['language', 'task']);
  });

  it('ends an analysis with what it threw', async () => {
    const { root, task, language } = writePair();
    await expect(
      analyze({ base: task, experts: [language] }, { out: join(root, 'out'), onProgress }),
    ).rejects.toThrow('from the caller');
  });
});

it('a caller’s function that throws while thresholds of whole models are found ends the run with what it threw', async () => {
  const root = temporaryDirectory();
  const [base = '', ...models] = ['base', 'a', 'b'].map((name, seed) =>
    writeLarge(join(root, name), 6, 16, seed),
  );
  const onProgress = () => {
    throw new Error('from the caller');
  };
  const recipe = { method: 'ties', base, models, weight: 1, density: 0.2, dialect: 'paper' } as const;
  await expect(planMerge(recipe, { threads: 1, onProgress })).rejects.toThrow('from the caller');
});

describe('an interrupt while checksums are computed', () => {
  it('leaves nothing', async () => {
    const root = temporaryDirectory();
    const models = ['a', 'b'].map((name, seed) => writeLarge(join(root, name), 4, 16, seed));
    const controller = new AbortController();
    const onProgress = ({ phase }: { phase: string }) =>
      phase === 'checksums' ? controller.abort() : undefined;
    await expect(
      soup({ models }, { out: join(root, 'out'), checksums: true, signal: controller.signal, onProgress }),
    ).rejects.toMatchObject({ code: 'INTERRUPTED' });
    expect(readdirSync(root).sort()).toEqual(['a', 'b']);
  });
});

describe('two merges to one output', () => {
  it('exclude each other', async () => {
    const { root, task, language } = writePair();
    const out = join(root, 'out');
    const plan = await planMerge({ method: 'soup', models: [task, language] });
    const held = await openStaging(await checkOutput({ inputs: [] }, out, false), plan, false);
    await expect(runPlan(plan, { out })).rejects.toMatchObject({ code: 'OUTPUT_BUSY', exitCode: 1 });
    await held.discard();
    await runPlan(plan, { out });
  });

  it('are told of an output that another made since it was checked', async () => {
    const { root, task, language } = writePair();
    const out = join(root, 'out');
    const plan = await planMerge({ method: 'soup', models: [task, language] });
    const unseen = await checkOutput(plan, out, false);
    await runPlan(plan, { out });
    await expect(openStaging(unseen, plan, false)).rejects.toMatchObject({ code: 'OUTPUT_EXISTS' });
    expect(existsSync(stagingPath(out))).toBe(false);
  });
});
