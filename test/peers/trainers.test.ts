import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { relayout } from '../../src/index.js';

const {
  LAYERLOOM_PYTHON: python = '',
  LAYERLOOM_TRL_PYTHON: trl = '',
  LAYERLOOM_TORCHTUNE_PYTHON: torchtune = '',
  LAYERLOOM_MLX_PYTHON: mlx = '',
  LAYERLOOM_SWIFT_PYTHON: swift = '',
  LAYERLOOM_TRAINERS_TABLE: table,
} = process.env;
const hasPython = python !== '' && spawnSync(python, ['-c', 'import peft, transformers']).status === 0;
const script = fileURLToPath(new URL('trainers/trainers.py', import.meta.url));

interface Case {
  readonly name: string;
  readonly given: string;
  readonly config?: string;
  readonly byTool: boolean;
}

interface Compared extends Case {
  /** The largest difference from the logits of the program's own export. */
  readonly logits: number;
  readonly wrong: readonly string[];
}

const run = <Line>(command: string, ...args: readonly string[]): Line[] =>
  execFileSync(command, [script, ...args], {
    env: { ...process.env, HF_HUB_OFFLINE: '1', OMP_NUM_THREADS: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
    maxBuffer: 2 ** 26,
  })
    .toString()
    .split('\n')
    .filter((line) => line.startsWith('CASE '))
    .map((line) => JSON.parse(line.slice(5)) as Line);

const programs = { layouts: python, trl, torchtune, mlx, swift };

describe.skipIf(!hasPython)('what trainers leave (LAYERLOOM_PYTHON with peft)', () => {
  const work = mkdtempSync(join(tmpdir(), 'layerloom-'));

  beforeAll(() => {
    run(python, 'base', work);
  });
  afterAll(() => rmSync(work, { recursive: true, force: true }));

  describe.each(Object.entries(programs))('%s', (program, itsPython) => {
    it.skipIf(itsPython === '')('is the model that it exports itself', async () => {
      const cases = run<Case>(itsPython, program, work);
      expect(cases.length).toBeGreaterThan(3);
      const lines = [];
      for (const [index, one] of cases.entries()) {
        const ours = join(work, `${program}-ours-${index}`);
        // Adapters of mlx-lm are refused; its own program fuses them.
        if (program === 'mlx' && one.name.endsWith('adapters')) {
          await expect(relayout({ model: one.given }, { out: ours })).rejects.toThrow(
            /python -m mlx_lm fuse/,
          );
          continue;
        }
        await relayout({ model: one.given }, { out: ours, config: one.config });
        lines.push(JSON.stringify({ ...one, ours }));
      }
      const file = join(work, `${program}.jsonl`);
      writeFileSync(file, lines.join('\n'));
      const compared = run<Compared>(python, 'compare', file);
      expect(compared).toHaveLength(lines.length);
      const rows = compared.map(
        ({ name, byTool, logits }) => `| ${name} | ${byTool ? 'the program' : 'its layout'} | ${logits} |\n`,
      );
      if (table !== undefined) writeFileSync(table, rows.join(''), { flag: 'a' });
      for (const { name, logits, wrong } of compared)
        expect([name, wrong, logits < 1e-4]).toEqual([name, [], true]);
    });
  });
});
