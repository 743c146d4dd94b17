import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  diff,
  extractLora,
  type MergeOptions,
  merge,
  type RecipeInput,
  relayout,
  soup,
} from '../../src/index.js';

const { LAYERLOOM_PYTHON: python = '', LAYERLOOM_PEFTS = '' } = process.env;
const hasPeft = python !== '' && spawnSync(python, ['-c', 'import peft, transformers']).status === 0;
const script = fileURLToPath(new URL('experts/mixtures.py', import.meta.url));

/** Directories with other versions of PEFT, by the version. */
const versions = LAYERLOOM_PEFTS.split(':')
  .filter((entry) => entry !== '')
  .map((entry): readonly [string, string] => [
    entry.slice(0, entry.indexOf('=')),
    entry.slice(entry.indexOf('=') + 1),
  ]);

const run = (args: readonly string[], pythonPath = ''): string =>
  execFileSync(python, [script, ...args], {
    env: { ...process.env, HF_HUB_OFFLINE: '1', OMP_NUM_THREADS: '1', PYTHONPATH: pythonPath },
    stdio: ['ignore', 'pipe', 'pipe'],
    maxBuffer: 2 ** 26,
  }).toString();

interface Compared {
  readonly ours: string;
  readonly names: readonly string[];
  readonly largest: number;
  readonly logits: number;
}

const compare = (pairs: readonly (readonly [ours: string, theirs: string])[]): readonly Compared[] =>
  run(['compare', ...pairs.flat()])
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Compared);

describe.skipIf(!hasPeft)('mixtures of experts (LAYERLOOM_PYTHON with peft and transformers)', () => {
  const work = mkdtempSync(join(tmpdir(), 'layerloom-'));
  const mixtures = () => readdirSync(work).sort();

  beforeAll(() => {
    run(['make', work]);
    for (const [version, directory] of versions) run(['make', work, version], directory);
  }, 900_000);

  afterAll(() => rmSync(work, { recursive: true, force: true }));

  it('with adapters of their experts are the models that merge_and_unload makes', async () => {
    const pairs: (readonly [string, string])[] = [];
    for (const mixture of mixtures())
      for (const adapter of readdirSync(join(work, mixture)).sort()) {
        const at = join(work, mixture, adapter);
        if (!existsSync(join(at, 'adapter_config.json'))) continue;
        for (const base of ['base', 'fused']) {
          const model = `${join(work, mixture, base)}+${at}`;
          const { out } = await relayout({ model }, { out: `${at}-over-${base}` });
          pairs.push([out, `${at}-merged`]);
        }
      }
    // 12 families by all-linear, 11 by parameters in three ways; for each other version 33 mixtures in two
    // ways.
    expect(pairs).toHaveLength(2 * (12 + 33 + 66 * versions.length));
    for (const one of compare(pairs)) {
      const holds = one.names.length === 0 && one.largest < 1e-6 && one.logits < 1e-5;
      expect([one, holds]).toEqual([one, true]);
    }
  }, 900_000);

  it('give PEFT adapters: merged ones of experts, and extracted ones of each expert', async () => {
    const pairs: (readonly [string, string])[] = [];
    for (const mixture of ['mixtral', 'qwen3-moe', 'deepseek-v3', 'gpt-oss', 'granite-moe']) {
      const at = (name: string) => join(work, mixture, name);
      const [base, adapters] = [at('base'), [at('parameters'), at('parameters-2')]];
      const { out } = await soup({ models: adapters }, { out: at('merged-adapter') });
      const models = adapters.map((adapter) => `${base}+${adapter}`);
      const whole = await soup({ models }, { out: at('merged-whole') });
      pairs.push([run(['apply', base, out, at('merged-by-peft')]).trim(), whole.out]);
      // Parameters [experts, rows, columns] are not extracted.
      if (['gpt-oss', 'granite-moe'].includes(mixture)) continue;
      const expert = at('parameters-merged');
      const extracted = await extractLora({ base, expert, rank: 8 }, { out: at('extracted') });
      pairs.push([run(['apply', base, extracted.out, at('extracted-by-peft')]).trim(), expert]);
    }
    for (const one of compare(pairs)) {
      const holds = one.names.length === 0 && one.largest < 2e-6 && one.logits < 2e-5;
      expect([one, holds]).toEqual([one, true]);
    }
  }, 900_000);

  it('of gpt-oss split by Unsloth are merged with a warning of what transformers misses', async () => {
    const [base, split] = ['base', 'split'].map((name) => join(work, 'gpt-oss', name));
    const missing: readonly string[] = JSON.parse(run(['split', String(base), String(split)]));
    expect(missing).toContain('model.layers.0.mlp.experts.gate_up_proj');
    const { warnings } = await relayout({ model: String(split) }, { out: `${split}-out` });
    expect(warnings.join('\n')).toContain('transformers 5 does not find them');
    await expect(soup({ models: [String(base), String(split)] }, { out: `${split}-soup` })).rejects.toThrow(
      /down_projs\.0\.weight/,
    );
  });

  describe('in files with each expert by itself and in fused ones', () => {
    // Three that transformers writes with separate experts, and three that it writes fused.
    const separate = ['mixtral', 'qwen3-moe', 'deepseek-v3'];
    const fused = ['granite-moe', 'gpt-oss', 'llama4'];
    const at = (mixture: string, name: string) => join(work, mixture, name);

    beforeAll(() => {
      for (const mixture of [...separate, ...fused])
        for (const [seed, name] of ['math', 'swh'].entries())
          run([
            'variant',
            at(mixture, 'base'),
            at(mixture, name),
            at(mixture, `${name}-fused`),
            String(seed + 1),
          ]);
    }, 900_000);

    const recipes: Readonly<Record<string, (base: string, math: string, swh: string) => RecipeInput>> = {
      swap: (_, task, language) => ({ method: 'layer_swap', task, language, bottom: 1, top: 0 }),
      soup: (_, math, swh) => ({ method: 'soup', models: [math, swh] }),
      ties: (base, math, swh) => ({
        method: 'ties',
        base,
        models: [math, swh],
        density: 0.5,
        weights: [1, 1],
      }),
      revert: (base, model) => ({ method: 'revert', base, model, bottom: 1, top: 0 }),
      relayout: (_, model) => ({ method: 'relayout', model }),
    };

    it.each([...separate, ...fused])(
      'are one model in every command: %s',
      async (mixture) => {
        const models = (end: '' | '-fused') =>
          [
            at(mixture, end === '' ? 'base' : 'fused'),
            at(mixture, `math${end}`),
            at(mixture, `swh${end}`),
          ] as const;
        const [[base, math, swh], [fusedBase, fusedMath, fusedSwh]] = [models(''), models('-fused')];
        const made = async (recipe: RecipeInput, name: string, options: Partial<MergeOptions> = {}) =>
          (await merge(recipe, { out: at(mixture, `out-${name}`), ...options })).out;
        const pairs: (readonly [string, string])[] = [];
        for (const [name, recipe] of Object.entries(recipes)) {
          const expected = await made(recipe(base, math, swh), `${name}-separate`);
          pairs.push(
            [await made(recipe(fusedBase, fusedMath, fusedSwh), `${name}-fused`), expected],
            [await made(recipe(base, fusedMath, swh), `${name}-mixed`), expected],
            [await made(recipe(base, math, swh), `${name}-to-fused`, { experts: 'fused' }), expected],
          );
        }
        for (const [one, other] of [
          [math, fusedMath],
          [at(mixture, 'out-soup-fused'), at(mixture, 'out-soup-separate')],
        ] as const)
          expect((await diff(one, other)).equal).toBe(true);
        const [a, b] = [at(mixture, 'lora-separate'), at(mixture, 'lora-fused')];
        await extractLora({ base, expert: math, rank: 4 }, { out: a });
        await extractLora({ base: fusedBase, expert: fusedMath, rank: 4 }, { out: b });
        const adapted = async (model: string, adapter: string, name: string) =>
          (await relayout({ model: `${model}+${adapter}` }, { out: at(mixture, name) })).out;
        const one = await adapted(base, a, 'adapted-separate');
        pairs.push([await adapted(fusedBase, b, 'adapted-fused'), one]);
        // Loaded by transformers: the same bits of weights and logits.
        for (const compared of compare(pairs))
          expect(compared).toMatchObject({ names: [], largest: 0, logits: 0 });
        // The soup is the mean of the two, as torch computes it.
        const [mean] = compare([
          [at(mixture, 'out-soup-separate'), run(['mean', math, swh, at(mixture, 'mean')]).trim()],
        ]);
        expect(mean?.largest).toBeLessThan(1e-6);
        expect(mean?.logits).toBeLessThan(1e-5);
      },
      900_000,
    );
  });
});
