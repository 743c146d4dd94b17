import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, parse } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { merge } from '../../src/index.js';

// Mixtures by mergekit-moe, and by layerloom from the same recipes, with routers by layerloom_gates.

const { LAYERLOOM_PYTHON: python = '' } = process.env;
const hasMergekit =
  python !== '' && spawnSync(python, ['-c', 'import mergekit.moe, transformers']).status === 0;
const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));

const run = (...args: readonly string[]): string =>
  execFileSync(python, args, {
    env: {
      ...process.env,
      HF_HUB_OFFLINE: '1',
      OMP_NUM_THREADS: '1',
      PYTHONPATH: path('../../python'),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    maxBuffer: 2 ** 26,
  }).toString();

const lines = <Line>(command: string, work: string): readonly Line[] =>
  run(path('mixtures/mixtures.py'), command, work)
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);

interface Compared {
  readonly name: string;
  readonly tensors: number;
  readonly names: readonly string[];
  readonly differing: readonly string[];
  /** Keys of `config.json` that differ: theirs, ours. */
  readonly config: Readonly<Record<string, readonly unknown[]>>;
}

/**
 * Keys that transformers writes for every model, and mergekit-moe only with whole configurations (DeepSeek).
 */
const incidental = [
  ...['_name_or_path', 'torch_dtype', 'chunk_size_feed_forward', 'id2label', 'is_encoder_decoder'],
  ...['label2id', 'output_attentions', 'output_hidden_states', 'problem_type', 'return_dict'],
];

describe.skipIf(!hasMergekit)('mixtures of dense models (LAYERLOOM_PYTHON with mergekit)', () => {
  const work = mkdtempSync(join(tmpdir(), 'layerloom-'));
  let recipes: readonly string[];

  beforeAll(async () => {
    run(path('mixtures/mixtures.py'), 'make', work);
    run(path('mixtures/mixtures.py'), 'gates', work);
    recipes = readdirSync(join(work, 'recipes'));
    for (const file of recipes)
      await merge(join(work, 'recipes', file), { out: join(work, 'ours', parse(file).name) });
  }, 1_800_000);

  afterAll(() => rmSync(work, { recursive: true, force: true }));

  it("have mergekit-moe's names, bits and configuration", () => {
    const compared = lines<Compared>('compare', work);
    // Four modes in three layouts of llama and mistral, in one of qwen2 and of qwen3; three more, eight of
    // random numbers, two of one model.
    expect(compared).toHaveLength(2 * 12 + 4 + 4 + 3 + 8 + 2);
    for (const { name, tensors, names, differing, config } of compared) {
      expect([name, names]).toEqual([name, []]);
      expect(tensors).toBeGreaterThan(25);
      const isRouter = (tensor: string) => /\.(gate|shared_expert_gate)\.weight$/.test(tensor);
      const others = name.endsWith('random') ? differing.filter((tensor) => !isRouter(tensor)) : differing;
      expect([name, others]).toEqual([name, []]);
      const keys = Object.entries(config).filter(([key]) => !incidental.includes(key));
      const more = keys.filter(([, [theirs]]) => theirs === 'absent').map(([key]) => key);
      expect([name, keys.filter(([key]) => !more.includes(key))]).toEqual([name, []]);
      // Keys that older readers need too.
      expect(['num_experts', 'rope_theta', undefined]).toContain(more[0]);
      expect(more.length).toBeLessThan(2);
    }
  });

  it('are loaded and run by transformers, and are the dense model where their experts are', () => {
    const made = lines<{ name: string; finite: boolean; off?: number }>('logits', work);
    // All except DeepSeek's: two families in four modes, and two of random numbers.
    expect(made).toHaveLength(recipes.length - 2 * 4 - 2);
    for (const { name, finite, off = 0 } of made) {
      expect([name, finite]).toEqual([name, true]);
      expect([name, off < 1e-5]).toEqual([name, true]);
    }
    expect(made.filter(({ off }) => off !== undefined)).toHaveLength(2);
  });
});
