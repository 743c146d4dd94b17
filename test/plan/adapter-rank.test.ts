import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  LayerloomError,
  layerSwap,
  merge,
  planMerge,
  type RecipeInput,
  runExperiment,
  runPlan,
  soup,
} from '../../src/index.js';
import { lora, adapterPair as pair, withTensors, writeAdapter } from '../fixtures/adapters.js';
import { fill, temporaryDirectory } from '../fixtures/checkpoints.js';
import { changesOf, distance, weighted } from '../fixtures/lora-changes.js';
import { readTensors } from '../fixtures/merged.js';
import { decode, encode } from '../fixtures/numbers.js';

const weights = 'adapter_model.safetensors';

const read = async (directory: string) => await readTensors(join(directory, weights));
const json = (directory: string, file: string) => JSON.parse(readFileSync(join(directory, file), 'utf8'));
const moduleOf = (parameter: string) => parameter.replace(/\.weight$/, '');

const codeOf = async (work: Promise<unknown>): Promise<string> => {
  const error = await work.then(
    () => undefined,
    (cause: unknown) => cause,
  );
  if (error instanceof LayerloomError) return `${error.code}: ${error.message}`;
  throw new Error(`no error of ours: ${String(error)}`);
};

const norm = (values: readonly number[]): number => Math.sqrt(values.reduce((sum, x) => sum + x * x, 0));

/** Singular values in float64, largest first, by one-sided Jacobi rotations of the columns. */
const singularValues = (matrix: readonly number[], columns: number): number[] => {
  const rows = matrix.length / columns;
  const vectors = Array.from({ length: columns }, (_, j) =>
    Array.from({ length: rows }, (_, i) => matrix[i * columns + j] ?? 0),
  );
  const dot = (a: readonly number[], b: readonly number[]) =>
    a.reduce((sum, x, i) => sum + x * (b[i] ?? 0), 0);
  for (let sweep = 0; sweep < 12; sweep += 1)
    for (let p = 0; p < columns; p += 1)
      for (let q = p + 1; q < columns; q += 1) {
        const [u, v] = [vectors[p] ?? [], vectors[q] ?? []];
        const [uu, vv, uv] = [dot(u, u), dot(v, v), dot(u, v)];
        if (Math.abs(uv) <= 1e-15 * Math.sqrt(uu * vv)) continue;
        const zeta = (vv - uu) / (2 * uv);
        const t = (zeta >= 0 ? 1 : -1) / (Math.abs(zeta) + Math.hypot(1, zeta));
        const [c, s] = [1 / Math.hypot(1, t), t / Math.hypot(1, t)];
        vectors[p] = u.map((x, i) => c * x - s * (v[i] ?? 0));
        vectors[q] = u.map((x, i) => s * x + c * (v[i] ?? 0));
      }
  return vectors.map(norm).sort((a, b) => b - a);
};

describe('a rank for averages of adapters', () => {
  it('truncates averaged layers as the singular value decomposition does, and reports their errors', async () => {
    const { task, language, out } = pair({ rank: 6, alpha: 8 }, { rank: 8, alpha: 32 });
    const recipe = { task, language, bottom: 2, top: 1, bottomTransition: 2, weights: [3, 1] } as const;
    const { truncated = [] } = await layerSwap({ ...recipe, rank: 5 }, { out });
    const [merged, ofTask, ofLanguage] = [
      await changesOf(out),
      await changesOf(task),
      await changesOf(language),
    ];
    expect(truncated.map(({ layer }) => layer)).toEqual([2, 2, 2, 3, 3, 3]);
    for (const { parameter, rank, exactRank, norm: size, error } of truncated) {
      expect([rank, exactRank]).toEqual([5, 14]);
      const module = moduleOf(parameter);
      const exact = weighted([
        [0.75, ofTask.products.get(module)],
        [0.25, ofLanguage.products.get(module)],
      ]);
      const product = merged.products.get(module) ?? [];
      const found = norm(exact.map((x, i) => x - (product[i] ?? 0))) / norm(exact);
      expect(size / norm(exact)).toBeCloseTo(1, 6);
      expect(error / found).toBeCloseTo(1, 5);
      const columns = (await read(out))[`base_model.model.${module}.lora_A.weight`]?.shape[1] ?? 0;
      const least = norm(singularValues(exact, columns).slice(5)) / norm(exact);
      expect(least).toBeGreaterThan(0.1);
      expect(found / least).toBeLessThan(1.01);
    }
    expect(json(out, 'layerloom.json').truncated).toEqual(truncated);
  });

  it('copies swapped layers byte for byte, at ranks of their own', async () => {
    const { task, language, out } = pair({ rank: 4, dtype: 'BF16' }, { rank: 16, dtype: 'BF16' });
    await layerSwap({ task, language, bottom: 2, top: 1, topTransition: 1, rank: 3 }, { out });
    const [merged, ofTask, ofLanguage] = [await read(out), await read(task), await read(language)];
    for (const [name, tensor] of Object.entries(merged)) {
      const layer = Number(/layers\.(\d+)/.exec(name)?.[1]);
      if (layer === 6) expect(tensor.shape[name.includes('lora_A') ? 0 : 1]).toBe(3);
      else expect(tensor).toEqual((layer < 2 || layer > 6 ? ofLanguage : ofTask)[name]);
      expect(tensor.dtype).toBe('BF16');
    }
    expect(Object.keys(merged)).toEqual(Object.keys(ofTask));
    await changesOf(out);
  });

  it('keeps sums exact that have no higher rank, and those that have one no further than float32', async () => {
    const { root, task, language, out } = pair({ rank: 4 }, { rank: 4 });
    const { warnings, truncated: none } = await soup({ models: [task, language], rank: 8 }, { out });
    expect(none).toBeUndefined();
    expect(warnings).toEqual([expect.stringContaining('rank 8 truncates nothing')]);
    await soup({ models: [task, language] }, { out: join(root, 'exact') });
    expect(await read(out)).toEqual(await read(join(root, 'exact')));
    // The two share the rows of A: eight columns side by side, of rank 4.
    const shared = lora({ seed: 2, rank: 4, config: { base_model_name_or_path: join(root, 'base') } });
    const own = await read(task);
    const same = Object.fromEntries(Object.entries(own).filter(([name]) => name.includes('lora_A')));
    const sibling = writeAdapter(join(root, 'sibling'), withTensors(shared, same as never));
    const four = join(root, 'four');
    const { truncated = [] } = await soup({ models: [task, sibling], rank: 4 }, { out: four });
    expect(truncated).toHaveLength(24);
    const [merged, ofTask, ofSibling] = [
      await changesOf(four),
      await changesOf(task),
      await changesOf(sibling),
    ];
    for (const { parameter, error } of truncated) {
      expect(error).toBeLessThan(1e-6);
      const module = moduleOf(parameter);
      const exact = weighted([
        [0.5, ofTask.products.get(module)],
        [0.5, ofSibling.products.get(module)],
      ]);
      expect(distance(merged.products.get(module) ?? [], exact)).toBeLessThan(2e-6);
    }
  });

  it('truncates with rsLoRA, biases of B, embeddings, transposed matrices and whole tensors beside', async () => {
    const options = {
      targets: ['q_proj', 'down_proj', 'embed_tokens'],
      saved: ['model.norm.weight'],
      config: { use_rslora: true, fan_in_fan_out: true },
    };
    const { root, base, task, language, out } = pair(options, { ...options, rank: 6 });
    // An unknown family, so that the adapters' configuration decides which layers are transposed.
    const { model_type: _, ...config } = json(base, 'config.json');
    writeFileSync(join(base, 'config.json'), JSON.stringify(config));
    const { truncated = [] } = await soup({ models: [task, language], rank: 7 }, { out });
    expect(truncated).toHaveLength(17);
    expect(truncated.find(({ layer }) => layer === null)?.parameter).toBe('model.embed_tokens.weight');
    await soup({ models: [task, language] }, { out: join(root, 'exact') });
    const [cut, exact] = [await changesOf(out), await changesOf(join(root, 'exact'))];
    expect(cut.whole).toEqual(exact.whole);
    for (const { parameter, error } of truncated) {
      const [own, all] = [cut, exact].map(({ products }) => products.get(moduleOf(parameter)) ?? []);
      const found = norm((all ?? []).map((x, i) => x - (own?.[i] ?? 0))) / norm(all ?? []);
      expect(error / found).toBeCloseTo(1, 4);
    }
    expect(json(out, 'adapter_config.json').use_rslora).toBe(true);
  });

  it('adds biases of B at the scale of truncated pairs', async () => {
    const root = temporaryDirectory();
    const name = 'base_model.model.model.layers.0.self_attn.q_proj.lora_B.bias';
    const biased = (seed: number, alpha: number) =>
      writeAdapter(
        join(root, `biased-${seed}`),
        withTensors(lora({ seed, alpha, config: { lora_bias: true } }), {
          [name]: fill({ it: [16] }, 'F32', seed)['it'],
        }),
      );
    const [one, other, out] = [biased(5, 8), biased(6, 16), join(root, 'out')];
    await soup({ models: [one, other], rank: 3 }, { out });
    const [got, a, b] = await Promise.all(
      [out, one, other].map(async (directory) => {
        const { data = new Uint8Array() } = (await read(directory))[name] ?? {};
        return decode('F32', data);
      }),
    );
    const { lora_alpha: alpha, r } = json(out, 'adapter_config.json');
    expect(alpha).toBe(r);
    const expected = weighted([
      [0.5 * 2, a],
      [0.5 * 4, b],
    ]);
    expect(distance(got ?? [], expected)).toBeLessThan(2e-7);
  });

  it('reports the errors of all averages when it continues an interrupted merge', async () => {
    const { task, language, out } = pair();
    const recipe = { models: [task, language], rank: 3 };
    const controller = new AbortController();
    const onProgress = ({ phase, done }: { phase: string; done: number }) => {
      if (phase === 'merge' && done > 0) controller.abort();
    };
    const stopped = soup(recipe, { out, threads: 1, resume: true, signal: controller.signal, onProgress });
    expect(await codeOf(stopped)).toContain('INTERRUPTED');
    const resumed = await soup(recipe, { out, resume: true });
    const again = await soup(recipe, { out: `${out}-again` });
    expect(resumed.truncated).toEqual(again.truncated);
    expect(await read(out)).toEqual(await read(`${out}-again`));
  });

  it('makes the same bytes from its card, with any number of threads, and from a plan as JSON', async () => {
    const { root, base, task } = pair({ rank: 6 });
    const other = writeAdapter(
      join(root, 'other'),
      lora({ seed: 5, config: { base_model_name_or_path: base } }),
    );
    const averaged = { method: 'soup', models: [task, other], rank: 3 } as const;
    const outs = ['a', 'b', 'c'].map((name) => join(root, name));
    const [one = '', two = '', three = ''] = outs;
    await merge(averaged as RecipeInput, { out: one, threads: 1 });
    await merge(join(one, 'README.md'), { out: two, threads: 2 });
    const plan = JSON.parse(JSON.stringify(await planMerge(averaged as RecipeInput)));
    await runPlan(plan, { out: three, threads: 2 });
    const bytes = outs.map((directory) => readFileSync(join(directory, weights)).toString('base64'));
    expect(bytes[1]).toBe(bytes[0]);
    expect(bytes[2]).toBe(bytes[0]);
  });

  it('refuses ranks that are none, whole models, nested recipes, batches, and numbers that are not finite', async () => {
    const { root, base, task, language, out } = pair();
    const rankOf = (rank: unknown) => soup({ models: [task, language], rank } as never, { out });
    for (const rank of [0, 1.5, -1, '8', 5000])
      expect(await codeOf(rankOf(rank))).toContain('INVALID_PARAMETER');
    const full = { models: [`${base}+${task}`, `${base}+${language}`], rank: 4 };
    expect(await codeOf(soup(full, { out }))).toContain("`as: 'adapter'`");
    const nested = { method: 'soup', models: [task, language], rank: 4 } as const;
    expect(await codeOf(soup({ models: [nested, task] } as never, { out }))).toContain(
      'in the place of a model',
    );
    const file = join(root, 'experiment.yaml');
    writeFileSync(
      file,
      `base: ${base}\ntasks: {a: ${task}}\nlanguages: {x: {b: ${language}}}\nmerges:\n  - {name: one, method: layer_swap, bottom: 2, top: 1, rank: 4}\n`,
    );
    expect(await codeOf(runExperiment(file, { out }))).toContain('no rank in a batch');
    expect(await codeOf(soup({ models: [task, language], rank: 4, dtype: 'float64' }, { out }))).toContain(
      'dtype',
    );
    const name = 'base_model.model.model.layers.0.self_attn.q_proj.lora_B.weight';
    const broken = lora({ seed: 2, config: { base_model_name_or_path: base } });
    const { shape = [] } = broken.tensors[name] ?? {};
    const data = encode('F32', new Array(Number(shape[0]) * Number(shape[1])).fill(Number.NaN));
    const bad = writeAdapter(
      join(root, 'bad'),
      withTensors(broken, { [name]: { dtype: 'F32', shape, data } }),
    );
    const message = await codeOf(soup({ models: [task, bad], rank: 4 }, { out }));
    expect(message).toContain('NON_FINITE');
    expect(message).toContain('model.layers.0.self_attn.q_proj.weight');
    // Pruning would remove it, wherever it is.
    for (const models of [
      [task, bad],
      [bad, task],
    ])
      for (const method of ['ties', 'breadcrumbs'] as const) {
        const pruned = { method, base, models, weight: 1, density: 0.3, rank: 4 } as RecipeInput;
        expect(await codeOf(merge(pruned, { out }))).toContain('NON_FINITE');
      }
  });

  it('refuses plans whose factors contradict each other', async () => {
    const { task, language, out } = pair();
    const plan = JSON.parse(
      JSON.stringify(await planMerge({ method: 'soup', models: [task, language], rank: 4 } as RecipeInput)),
    );
    const changed = async (change: (expression: Record<string, unknown>) => void) => {
      const copy = structuredClone(plan);
      change(copy.shards[0].tensors[0].expression);
      return await codeOf(runPlan(copy, { out }));
    };
    for (const change of [
      (one: Record<string, unknown>) => Object.assign(one, { of: 'another' }),
      (one: Record<string, unknown>) => Object.assign(one, { side: 'left' }),
      (one: Record<string, unknown>) => Object.assign(one, { shape: [1, 1] }),
      (one: Record<string, unknown>) => Object.assign(one, { terms: [] }),
    ])
      expect(await changed(change)).toContain('PLAN_INVALID');
  });
});
