import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { alphaFor } from '../../src/core/plan/compile/adapters/factors.js';
import {
  LayerloomError,
  layerSwap,
  merge,
  planMerge,
  type RecipeInput,
  revert,
  runPlan,
  soup,
} from '../../src/index.js';
import { lora, adapterPair as pair, withTensors, writeAdapter } from '../fixtures/adapters.js';
import { bytesOf } from '../fixtures/again.js';
import { fill, llama, llamaShapes, writeCheckpoint } from '../fixtures/checkpoints.js';
import { changesOf, distance, weighted } from '../fixtures/lora-changes.js';
import { readTensors } from '../fixtures/merged.js';

const weights = 'adapter_model.safetensors';
const factor = (module: string, letter: 'A' | 'B') => `base_model.model.${module}.lora_${letter}.weight`;
const layer = (n: number, module: string) => `model.layers.${n}.${module}`;

const configOf = (directory: string) =>
  JSON.parse(readFileSync(join(directory, 'adapter_config.json'), 'utf8'));

const read = async (directory: string) => await readTensors(join(directory, weights));

const failure = async (work: Promise<unknown>): Promise<LayerloomError> => {
  const error = await work.then(
    () => undefined,
    (cause: unknown) => cause,
  );
  if (error instanceof LayerloomError) return error;
  throw new Error(`no error of ours: ${String(error)}`);
};

describe('a layer swap of bare adapters', () => {
  it('copies the factors of swapped layers byte for byte, with their own rank and scale', async () => {
    const { task, language, out } = pair({ rank: 4, alpha: 8 }, { rank: 16, alpha: 8 });
    await layerSwap({ task, language, bottom: 2, top: 1 }, { out });
    const [merged, ofTask, ofLanguage] = [await read(out), await read(task), await read(language)];
    const from = (name: string) => (/layers\.([017])\./.test(name) ? ofLanguage : ofTask);
    for (const [name, tensor] of Object.entries(merged)) expect(tensor).toEqual(from(name)[name]);
    expect(Object.keys(merged)).toHaveLength(Object.keys(ofTask).length);
    const { r, rank_pattern: ranks, lora_alpha: alpha, target_modules: targets } = configOf(out);
    expect([r, alpha, targets]).toEqual([4, 8, ['q_proj', 'gate_proj', 'down_proj']]);
    expect(Object.keys(ranks)).toHaveLength(9);
    expect(ranks['model.layers.7.mlp.down_proj']).toBe(16);
  });

  it('averages products by the ranks of both', async () => {
    const { task, language, out } = pair({ rank: 4, alpha: 8 }, { rank: 8, alpha: 8, dtype: 'BF16' });
    await layerSwap({ task, language, bottom: 2, top: 1, bottomTransition: 2, weights: [3, 1] }, { out });
    const [merged, ofTask, ofLanguage] = [
      await changesOf(out),
      await changesOf(task),
      await changesOf(language),
    ];
    for (const [module, product] of merged.products) {
      const n = Number(/layers\.(\d+)/.exec(module)?.[1]);
      const share = n < 2 || n > 6 ? 0 : n < 4 ? 0.75 : 1;
      const expected = weighted([
        [share, ofTask.products.get(module)],
        [1 - share, ofLanguage.products.get(module)],
      ]);
      expect(distance(product, expected)).toBeLessThan(share === 0.75 ? 2e-7 : 1e-15);
    }
    expect((await read(out))[factor(layer(2, 'mlp.down_proj'), 'A')]?.shape).toEqual([12, 40]);
  });

  it('takes the modules that only one side has, half of them where layers are averaged', async () => {
    const { task, language, out } = pair(
      { targets: ['q_proj', 'o_proj'] },
      { targets: ['q_proj', 'down_proj'] },
    );
    await layerSwap({ task, language, bottom: 2, top: 1, topTransition: 1 }, { out });
    const [merged, ofTask] = [await changesOf(out), await changesOf(task)];
    expect(merged.products.has(layer(1, 'self_attn.o_proj'))).toBe(false);
    expect(merged.products.has(layer(3, 'mlp.down_proj'))).toBe(false);
    expect(merged.products.get(layer(6, 'self_attn.o_proj'))).toEqual(
      weighted([[0.5, ofTask.products.get(layer(6, 'self_attn.o_proj'))]]),
    );
    const name = factor(layer(6, 'self_attn.o_proj'), 'B');
    expect((await read(out))[name]).toEqual((await read(task))[name]);
    expect(configOf(out).target_modules).toContain('model.layers.6.mlp.down_proj');
  });

  it('averages what lies outside the layers as it averages whole models', async () => {
    const options = { targets: ['q_proj', 'embed_tokens'], saved: ['model.norm.weight'] };
    const { task, language, out } = pair({ ...options, rank: 2 }, options);
    await layerSwap({ task, language }, { out });
    const [merged, a, b] = [await changesOf(out), await changesOf(task), await changesOf(language)];
    const [norm, embedding] = ['model.norm.weight', 'model.embed_tokens'];
    const half = (of: 'whole' | 'products', name: string) =>
      weighted([
        [0.5, a[of].get(name)],
        [0.5, b[of].get(name)],
      ]);
    expect(distance(merged.whole.get(norm) ?? [], half('whole', norm))).toBeLessThan(1e-7);
    expect(distance(merged.products.get(embedding) ?? [], half('products', embedding))).toBeLessThan(1e-7);
    expect(configOf(out).modules_to_save).toEqual(['model.norm']);
    const own = join(out, '..', 'own');
    await layerSwap({ task, language, others: 'language' }, { out: own });
    const name = 'base_model.model.model.norm.weight';
    expect((await read(own))[name]).toEqual((await read(language))[name]);
  });

  it("averages a module that one side has saved with the base's", async () => {
    const { task, language, base, out } = pair({}, { saved: ['model.norm.weight'] });
    await layerSwap({ task, language }, { out });
    const norm = (await readTensors(base))['model.norm.weight'];
    const expected = await soup(
      { models: [base, `${base}+${language}`] },
      { out: join(out, '..', 'whole') },
    ).then(({ out: whole }) => readTensors(whole));
    const name = 'base_model.model.model.norm.weight';
    expect(norm?.dtype).toBe('BF16');
    expect((await read(out))[name]?.data).toEqual(expected['model.norm.weight']?.data);
    rmSync(base, { recursive: true });
    const { code, message } = await failure(planMerge({ method: 'layer_swap', task, language }));
    expect(code).toBe('BASE_NEEDED');
    expect(message).toContain('model.norm.weight');
  });

  it('counts the layers of the base, and says so where that is not here', async () => {
    const some = { targets: ['layers.0.self_attn.q_proj', 'layers.4.self_attn.q_proj'] };
    const { task, language, base } = pair(some, some);
    const recipe = { method: 'layer_swap', task, language, bottom: 1, top: 2 } as const;
    const plan = await planMerge(recipe);
    expect(plan.architecture).toMatchObject({ family: 'llama', layers: 8 });
    expect(plan.warnings).toEqual([]);
    rmSync(base, { recursive: true });
    const without = await planMerge(recipe);
    expect(without.architecture.layers).toBe(5);
    expect(without.warnings.join()).toContain('`base`');
    const others = writeCheckpoint(join(base, '..', 'other'), llama({ layers: 12 }));
    expect((await planMerge({ ...recipe, base: others })).architecture.layers).toBe(12);
  });
});

describe('a weighted sum of bare adapters', () => {
  it('keeps the bits of all factors where the products have one scale', async () => {
    const { task, language, out } = pair({ rank: 4, alpha: 8 }, { rank: 2, alpha: 4, dtype: 'F32' });
    await soup({ models: [task, language] }, { out });
    const module = layer(0, 'self_attn.q_proj');
    const [b, first, second] = await Promise.all(
      [out, task, language].map(async (one) => (await read(one))[factor(module, 'B')]?.data),
    );
    const rows = Array.from({ length: 16 }, (_, row) =>
      Buffer.concat([
        Buffer.from((first as Uint8Array).subarray(row * 16, (row + 1) * 16)),
        Buffer.from((second as Uint8Array).subarray(row * 8, (row + 1) * 8)),
      ]),
    );
    expect(Buffer.from(b as Uint8Array).equals(Buffer.concat(rows))).toBe(true);
    expect(configOf(out)).toMatchObject({ r: 6, lora_alpha: 6, use_rslora: false });
  });

  it('is exact in bfloat16 where weights are powers of two, else one rounding in float32', async () => {
    const { task, language, out } = pair({ dtype: 'BF16' }, { dtype: 'BF16' });
    const dtypesOf = async (given: readonly number[]) => {
      await soup({ models: [task, language], weights: given }, { out, force: true });
      const [merged, a, b] = [await changesOf(out), await changesOf(task), await changesOf(language)];
      const total = given.reduce((sum, weight) => sum + weight, 0);
      const differences = [...merged.products].map(([module, product]) =>
        distance(
          product,
          weighted([
            [(given[0] ?? 0) / total, a.products.get(module)],
            [(given[1] ?? 0) / total, b.products.get(module)],
          ]),
        ),
      );
      const dtypes = new Set(Object.values(await read(out)).map(({ dtype }) => dtype));
      return [Math.max(...differences), [...dtypes].sort()] as const;
    };
    const [exact, own] = await dtypesOf([4, 1]);
    expect(own).toEqual(['BF16']);
    expect(exact).toBeLessThan(1e-14);
    const [rounded, wide] = await dtypesOf([1, 3]);
    expect(wide).toEqual(['BF16', 'F32']);
    expect(rounded).toBeLessThan(2e-7);
  });

  it('folds rsLoRA of one side into alpha, and keeps it where both have it', async () => {
    const rsLora = { rank: 9, alpha: 5, config: { use_rslora: true } };
    const { task, language, out } = pair(rsLora, { rank: 4 });
    await layerSwap({ task, language, bottom: 2, top: 1 }, { out });
    const [merged, a] = [await changesOf(out), await changesOf(task)];
    const module = layer(4, 'mlp.gate_proj');
    expect(configOf(out).use_rslora).toBe(false);
    expect(distance(merged.products.get(module) ?? [], a.products.get(module) ?? [])).toBe(0);
    const both = pair(rsLora, { ...rsLora, rank: 16 });
    await layerSwap({ task: both.task, language: both.language }, { out: both.out });
    expect(configOf(both.out)).toMatchObject({ use_rslora: true, lora_alpha: 5 });
  });

  it('averages the biases of B over the scale of the pair', async () => {
    const module = layer(0, 'self_attn.q_proj');
    const name = `base_model.model.${module}.lora_B.bias`;
    const { root } = pair();
    const biased = (seed: number, alpha: number) =>
      writeAdapter(
        join(root, `biased-${seed}`),
        withTensors(lora({ seed, alpha, config: { lora_bias: true } }), {
          [name]: fill({ it: [16] }, 'F32', seed)['it'],
        }),
      );
    const [one, other, out] = [biased(5, 8), biased(6, 16), join(root, 'out')];
    await soup({ models: [one, other] }, { out });
    const [{ data: got = new Uint8Array() } = {}, a, b] = await Promise.all(
      [out, one, other].map(async (directory) => (await read(directory))[name]),
    );
    const floats = (data: Uint8Array | undefined) => [
      ...new Float32Array(Uint8Array.from(data ?? []).buffer),
    ];
    const { lora_alpha: alpha, r, lora_bias: says } = configOf(out);
    const scale = alpha / r;
    expect(says).toBe(true);
    expect(
      distance(
        floats(got).map((value) => scale * value),
        weighted([
          [0.5 * 2, floats(a?.data)],
          [0.5 * 4, floats(b?.data)],
        ]),
      ),
    ).toBeLessThan(2e-7);
  });

  it('adds the terms of nested merges without writing a product', async () => {
    const { task, language, root, out } = pair();
    const third = writeAdapter(join(root, 'third'), lora({ seed: 3, config: configOf(task) }));
    const recipe: RecipeInput = {
      method: 'layer_swap',
      task: { method: 'soup', models: [task, third] },
      language: { method: 'soup', models: [language, task] },
      bottom: 2,
      top: 1,
      bottomTransition: 1,
    };
    await merge(recipe, { out });
    const module = layer(2, 'self_attn.q_proj');
    const [merged, a, b, c] = await Promise.all([out, task, language, third].map(changesOf));
    const expected = weighted([
      [0.5, a?.products.get(module)],
      [0.25, b?.products.get(module)],
      [0.25, c?.products.get(module)],
    ]);
    expect(distance(merged?.products.get(module) ?? [], expected)).toBeLessThan(1e-14);
    expect((await read(out))[factor(module, 'A')]?.shape).toEqual([12, 16]);
  });

  it('finds an alpha that gives the scale, where there is one', () => {
    for (const rank of [3, 7, 9, 12, 24, 33, 48])
      for (const alpha of [1, 3, 8, 16, 27]) {
        const scale = alpha / Math.sqrt(rank);
        expect(alphaFor(scale, rank, true) / Math.sqrt(rank)).toBe(scale);
        expect(Math.abs(alphaFor(scale, rank, false) / rank / scale - 1)).toBeLessThanOrEqual(2 ** -52);
      }
  });
});

describe('other methods over bare adapters', () => {
  it('reverts layers by leaving their factors out', async () => {
    const { task, base, out } = pair();
    await revert({ model: task, base, bottom: 2, top: 1 }, { out });
    const { products } = await changesOf(out);
    expect([...products.keys()].filter((name) => /layers\.[017]\./.test(name))).toEqual([]);
    expect(products.size).toBe(15);
    const [merged, own] = [await read(out), await read(task)];
    for (const [name, tensor] of Object.entries(merged)) expect(tensor).toEqual(own[name]);
  });

  it('scales by task arithmetic, whose base has the rest of the weights', async () => {
    const { task, language, base, out } = pair();
    await merge({ method: 'task_arithmetic', base, models: [task, language], weights: [1, 0.5] }, { out });
    const [merged, a, b] = [await changesOf(out), await changesOf(task), await changesOf(language)];
    const module = layer(3, 'mlp.down_proj');
    const expected = weighted([
      [1, a.products.get(module)],
      [0.5, b.products.get(module)],
    ]);
    expect(distance(merged.products.get(module) ?? [], expected)).toBeLessThan(1e-14);
  });

  it('weighs by magnitude as the same adapters on their base', async () => {
    const { task, language, base } = pair({ alpha: 8 }, { alpha: 32 });
    const weightsOf = async (experts: { task: string; language: string }, more: object) =>
      (await planMerge({ method: 'layer_swap', weights: 'magnitude', ...experts, ...more } as RecipeInput))
        .recipe['magnitude_weights'];
    const whole = { task: `${base}+${task}`, language: `${base}+${language}` };
    const expected = await weightsOf(whole, { base });
    expect(expected).not.toEqual([0.5, 0.5]);
    expect(await weightsOf({ task, language }, { base })).toEqual(expected);
    expect(await weightsOf({ task, language }, {})).toEqual(expected);
  });

  it.each([
    ['no sum', { method: 'slerp', t: 0.5 }],
    ['weights that do not add up to 1', { method: 'linear', weights: [1, 1], normalize: false }],
    ['a sum of trimmed changes without a rank', { method: 'ties', density: 0.5, weights: [1, 1] }],
  ])('refuses %s, with the remedy', async (_words, recipe) => {
    const { task, language, base } = pair();
    const models =
      recipe.method === 'slerp'
        ? { base: task, models: [language] }
        : { models: [task, language], ...(recipe.method === 'ties' ? { base } : {}) };
    const { code, message } = await failure(planMerge({ ...recipe, ...models } as unknown as RecipeInput));
    expect(code).toBe('NO_ADAPTER_FORM');
    expect(message).toContain("`as: 'full'`");
  });

  it('refuses a revert that leaves nothing', async () => {
    const { task, base } = pair();
    const { code } = await failure(planMerge({ method: 'revert', model: task, base, bottom: 8, top: 0 }));
    expect(code).toBe('NO_ADAPTER_FORM');
  });
});

describe('the form of the output', () => {
  it('is an adapter of bare adapters, full weights of BASE+ADAPTER, and what --as says', async () => {
    const { task, language, base, root } = pair();
    const merged = async (name: string, models: readonly string[], as?: 'adapter' | 'full') => {
      const out = join(root, name);
      await soup({ models, base }, { out, as });
      return out;
    };
    const whole = [`${base}+${task}`, `${base}+${language}`];
    const [adapter, full] = [await merged('a', [task, language]), await merged('b', whole)];
    expect(readdirSync(adapter).sort()).toEqual(
      ['README.md', 'adapter_config.json', weights, 'layerloom.json'].sort(),
    );
    expect(readdirSync(full)).toContain('model.safetensors.index.json');
    expect(bytesOf(await merged('c', [task, language], 'full'))).toEqual(bytesOf(full));
    expect(bytesOf(await merged('d', whole, 'adapter'))).toEqual(bytesOf(adapter));
    const named = join(root, 'e');
    await merge({ method: 'soup', models: [task, language], as: 'full' }, { out: named });
    expect(bytesOf(named)).toEqual(bytesOf(full));
  });

  it('is one error of mixed forms, and of a base that is missing', async () => {
    const { task, language, base } = pair();
    const mixed = await failure(planMerge({ method: 'layer_swap', task, language: `${base}+${language}` }));
    expect(mixed.code).toBe('FORMS_MIXED');
    const plain = await failure(planMerge({ method: 'soup', models: [base, task] }, { as: 'adapter' }));
    expect(plain.code).toBe('NO_ADAPTER_FORM');
    rmSync(base, { recursive: true });
    const missing = await failure(planMerge({ method: 'layer_swap', task, language }, { as: 'full' }));
    expect(missing.code).toBe('BASE_NEEDED');
    expect(missing.message).toContain(base);
  });

  it('refuses DoRA adapters, whose sum is none, and merges them with their base', async () => {
    const { task, language, base } = pair({}, { config: { use_dora: true } });
    const refused = await failure(planMerge({ method: 'layer_swap', task, language }));
    expect(refused.code).toBe('ADAPTER_UNSUPPORTED');
    expect(refused.message).toContain('use_dora divides by norms');
    const models = [`${base}+${task}`, `${base}+${language}`];
    expect((await planMerge({ method: 'soup', models })).form).toBeUndefined();
  });

  it('refuses one adapter of models that have it on two bases, naming both', async () => {
    const { task, language, base, root } = pair();
    const other = join(root, 'another-base');
    cpSync(base, other, { recursive: true });
    const models = [`${base}+${task}`, `${other}+${language}`];
    const { code, message } = await failure(planMerge({ method: 'soup', models }, { as: 'adapter' }));
    expect(code).toBe('ADAPTERS_DIFFER');
    expect(message).toContain(`their base (${other} against ${base})`);
  });

  it.each([
    ['fan_in_fan_out', 'ADAPTERS_DIFFER', { config: { fan_in_fan_out: true } }],
    ['the base', 'ADAPTERS_DIFFER', { config: { base_model_name_or_path: 'org/another' } }],
    ['shapes', 'ADAPTER_MISMATCH', { shapes: llamaShapes({ hidden: 32 }) }],
  ])('refuses adapters that differ in %s', async (_what, code, language) => {
    const { task, language: other } = pair({}, language);
    expect((await failure(planMerge({ method: 'layer_swap', task, language: other }))).code).toBe(code);
  });
});

describe('an adapter that is written', () => {
  it('goes the way of every merge: plan as JSON, dry run, resume, checksums, and again from its card', async () => {
    const { task, language, root, out } = pair();
    writeFileSync(join(task, 'tokenizer_config.json'), '{"model_max_length": 8}');
    const plan = await planMerge({ method: 'layer_swap', task, language, bottomTransition: 1 });
    expect(plan.form).toBe('adapter');
    const result = await runPlan(JSON.parse(JSON.stringify(plan)), { out, resume: true, checksums: true });
    expect(result.shards).toMatchObject([{ file: weights, sha256: expect.any(String) }]);
    expect(readdirSync(out)).toContain('tokenizer_config.json');
    const card = readFileSync(join(out, 'README.md'), 'utf8');
    expect(card).toContain('library_name: peft');
    expect(card).not.toContain(root);
    const again = join(root, 'again');
    writeFileSync(join(root, 'card.md'), card);
    await merge(join(root, 'card.md'), { out: again });
    expect(bytesOf(again)).toEqual(bytesOf(out));
    await runPlan(plan, { out, force: true });
    expect(JSON.parse(readFileSync(join(out, 'layerloom.json'), 'utf8')).form).toBe('adapter');
  });

  it('is that of the input where nothing changes', async () => {
    const { task, out } = pair();
    const plan = await planMerge({ method: 'soup', models: [task] });
    expect(plan.shards[0]?.verbatim).toBeDefined();
    await runPlan(plan, { out });
    expect(readFileSync(join(out, weights)).equals(readFileSync(join(task, weights)))).toBe(true);
  });

  it('is a model of the next merge', async () => {
    const { task, language, base, root, out } = pair();
    await layerSwap({ task, language, bottomTransition: 1 }, { out });
    const next = join(root, 'next');
    await soup({ models: [out, task] }, { out: next });
    expect((await changesOf(next)).products.size).toBe(24);
    await revert({ model: `${base}+${out}`, base }, { out: join(root, 'full') });
  });
});
