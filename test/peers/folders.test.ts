import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { LayerloomError } from '../../src/core/base/errors/errors.js';
import { relayout } from '../../src/index.js';
import { pathToLoad } from '../../src/study/evaluation/harness/loadable.js';

// Random folders are read as transformers and PEFT read them, or refused.

const {
  LAYERLOOM_PYTHON: python = '',
  LAYERLOOM_FOLDERS: count = '300',
  LAYERLOOM_SEED: seed = '1',
} = process.env;
const hasPeft = python !== '' && spawnSync(python, ['-c', 'import peft, transformers']).status === 0;
const script = fileURLToPath(new URL('folders/folders.py', import.meta.url));
/** Folders for each call of Python, to limit the disk use. */
const atOnce = 100;

const run = (...args: readonly string[]): string =>
  execFileSync(python, [script, ...args], {
    env: { ...process.env, HF_HUB_OFFLINE: '1', OMP_NUM_THREADS: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
    maxBuffer: 2 ** 28,
  }).toString();

interface Case {
  readonly address: string;
  readonly expected: string | null;
  /** True for a folder of a model and an adapter. */
  readonly ways?: boolean;
}

/** The outcome here: an output or a refusal; and the path passed to other programs, or a refusal. */
interface Outcome {
  readonly out?: string;
  readonly warnings?: readonly string[];
  readonly code?: string;
  readonly message?: string;
  readonly load?: string;
  readonly loadCode?: string;
}

interface Verdict extends Case {
  readonly notes: readonly string[];
  readonly outcome: string;
  readonly faults: readonly string[];
}

const refusal = (error: unknown): LayerloomError => {
  if (error instanceof LayerloomError) return error;
  throw error;
};

const outcomeOf = async ({ address }: Case, out: string, views: string): Promise<Outcome> => {
  const made = await relayout({ model: address }, { out }).then(
    ({ warnings }): Outcome => ({ out, warnings }),
    (error: unknown): Outcome => ({ code: refusal(error).code, message: refusal(error).message }),
  );
  const load = await pathToLoad(address, views).then(
    (place): Outcome => ({ load: place }),
    (error: unknown): Outcome => ({ loadCode: refusal(error).code }),
  );
  return { ...made, ...load };
};

const verdictsOf = async (root: string, folders: number, from: number): Promise<Verdict[]> => {
  run('make', root, String(folders), String(from));
  const cases = JSON.parse(readFileSync(join(root, 'cases.json'), 'utf8')) as Case[];
  const outcomes: Outcome[] = [];
  for (const [index, one] of cases.entries())
    outcomes.push(await outcomeOf(one, join(root, `out-${index}`), join(root, 'views')));
  writeFileSync(join(root, 'outcomes.json'), JSON.stringify(outcomes));
  const verdicts = JSON.parse(run('check', root)) as Verdict[];
  return verdicts.map((verdict, index) => ({ ...verdict, ...cases[index], ...outcomes[index] }));
};

describe.skipIf(!hasPeft)('random folders (LAYERLOOM_PYTHON with peft and transformers)', () => {
  it('mean what transformers and PEFT load, in merges and in scores, or are refused', async () => {
    const verdicts: Verdict[] = [];
    for (let done = 0; done < Number(count); done += atOnce) {
      const root = mkdtempSync(join(tmpdir(), 'layerloom-folders-'));
      try {
        const folders = Math.min(atOnce, Number(count) - done);
        verdicts.push(...(await verdictsOf(root, folders, Number(seed) * 1000 + done / atOnce)));
      } finally {
        rmSync(root, { recursive: true, force: true });
      }
    }
    process.stderr.write(`${summary(verdicts)}\n`);
    expect(verdicts.filter(({ faults }) => faults.length > 0)).toEqual([]);
    // A folder with a model and an adapter has several meanings, and its model may have two.
    expect(verdicts.filter(({ ways, outcome }) => ways === true && outcome === 'made')).toEqual([]);
    // Refusals are the exception where loaders load.
    const meant = verdicts.filter(({ expected }) => expected !== null);
    expect(meant.filter(({ outcome }) => outcome === 'made').length).toBeGreaterThan(0.8 * meant.length);
  }, 7_200_000);
});

const summary = (verdicts: readonly Verdict[]): string => {
  const counts = new Map<string, number>();
  for (const { expected, outcome } of verdicts) {
    const line = `${expected === null ? 'loaders refuse' : 'loaders load'}: ${outcome}`;
    counts.set(line, (counts.get(line) ?? 0) + 1);
  }
  return [...counts].map(([line, times]) => `${line} ${times}`).join('\n');
};
