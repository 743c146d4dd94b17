import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { extractLora } from '../../src/index.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';

// extract-lora's adapters of real experts: PEFT loads them, and their errors are as reported and near the
// least.

const { LAYERLOOM_PYTHON: python = '', LAYERLOOM_EXPERTS: experts = '' } = process.env;
const table = process.env['LAYERLOOM_EXTRACT_TABLE'];
const hasPeft = python !== '' && spawnSync(python, ['-c', 'import peft, transformers']).status === 0;
const hasMergekit = hasPeft && spawnSync(python, ['-c', 'import mergekit']).status === 0;

interface Figures {
  readonly rank: number;
  readonly peft: number;
  readonly least: number;
  readonly mergekit?: number;
}

const run = async (file: string, ...args: readonly string[]): Promise<string> =>
  (
    await promisify(execFile)(file, args, {
      maxBuffer: 2 ** 26,
      env: { ...process.env, OMP_NUM_THREADS: '1' },
    })
  ).stdout;

const script = fileURLToPath(new URL('extract_errors.py', import.meta.url));

describe.skipIf(!hasPeft || experts === '')('PEFT (LAYERLOOM_PYTHON with peft, LAYERLOOM_EXPERTS)', () => {
  it.each(['math-1', 'jpn-1'].flatMap((expert) => [8, 32, 128].map((rank) => ({ expert, rank }))))(
    'loads $expert at rank $rank with the errors reported, within 1 % of the least',
    async ({ expert, rank }) => {
      const root = temporaryDirectory();
      const [base, tuned] = [join(experts, 'base'), join(experts, expert)];
      const out = join(root, 'lora');
      const { tensors, seconds } = await extractLora({ base, expert: tuned, rank }, { out });
      const others: string[] = [];
      if (hasMergekit) {
        const theirs = join(root, 'mergekit');
        const models = ['--model', tuned, '--base-model', base, '--out-path', theirs];
        const only = ['--skip-undecomposable', '-e', 'embed_tokens', '-e', 'lm_head'];
        await run(
          join(dirname(python), 'mergekit-extract-lora'),
          ...models,
          '--max-rank',
          String(rank),
          ...only,
        );
        others.push(theirs);
      }
      const figures = JSON.parse(await run(python, script, base, tuned, out, ...others)) as Record<
        string,
        Figures
      >;
      for (const { name, error } of tensors) {
        const { peft, least, mergekit } = figures[name] as Figures;
        expect(Math.abs(peft - error), name).toBeLessThan(1e-4);
        expect(error / least, name).toBeLessThan(1.01);
        if (mergekit !== undefined) expect(error / mergekit, name).toBeLessThan(1.01);
      }
      if (table === undefined) return;
      const rows = tensors.map(({ name, error, layer }) => [
        layer,
        name,
        error,
        figures[name]?.least,
        figures[name]?.mergekit,
      ]);
      mkdirSync(table, { recursive: true });
      writeFileSync(
        join(table, `${expert}-${rank}.json`),
        JSON.stringify({ expert, rank, seconds, rows }, null, 1),
      );
    },
    3_600_000,
  );
});
