import { readFileSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkPlan } from '../../src/core/plan/check/check-plan.js';
import { analyze, merge, planMerge, type RevertParameters, revert } from '../../src/index.js';
import {
  fill,
  llama,
  llamaShapes,
  type Tensors,
  temporaryDirectory,
  writeCheckpoint,
} from '../fixtures/checkpoints.js';
import { readTensors } from '../fixtures/merged.js';
import type { Floating } from '../fixtures/numbers.js';

const layers = 4;

const writeFamily = (dtype: Floating = 'BF16') => {
  const root = temporaryDirectory();
  const options = { dtype, layers, hidden: 48 };
  const [base, expert] = [1, 2].map((seed) => ({
    ...llama(options),
    tensors: {
      ...fill(llamaShapes(options), dtype, seed),
      ...fill({ 'model.extra': [2, 3, 4] }, dtype, seed),
    },
  }));
  return {
    root,
    base: writeCheckpoint(join(root, 'base'), base ?? llama()),
    model: writeCheckpoint(join(root, 'expert'), expert ?? llama()),
    tensors: [base?.tensors ?? {}, expert?.tensors ?? {}] as const,
    out: join(root, 'out'),
  };
};

const layerOf = (name: string): number | undefined => {
  const digits = /layers\.(\d+)\./.exec(name)?.[1];
  return digits === undefined ? undefined : Number(digits);
};

describe('by location', () => {
  it.each<[string, Partial<RevertParameters>, (name: string) => boolean]>([
    [
      'puts first and last layers back',
      { bottom: 1, top: 2 },
      (name) => [0, 2, 3].includes(layerOf(name) ?? -1),
    ],
    [
      'puts what is outside back where asked',
      { bottom: 0, top: 1, others: 'revert' },
      (name) => [undefined, 3].includes(layerOf(name)),
    ],
    [
      'treats block norms as outside where asked',
      { bottom: 1, top: 0, norms: 'average' },
      (name) => layerOf(name) === 0 && !/layernorm/.test(name),
    ],
    [
      'puts the middle back where the first and last layers are to stay',
      { bottom: 1, top: 2, keep: 'top_bottom' },
      (name) => layerOf(name) === 1,
    ],
    [
      'puts the middle and what is outside back where asked',
      { bottom: 2, top: 1, keep: 'top-bottom', others: 'revert' },
      (name) => [undefined, 2].includes(layerOf(name)),
    ],
    [
      'puts only tensors back that a filter matches, a part of the name or a pattern of it',
      { bottom: 1, top: 2, modules: 'q_proj, *.mlp.*' },
      (name) => [0, 2, 3].includes(layerOf(name) ?? -1) && /q_proj|\.mlp\./.test(name),
    ],
    [
      'puts only tensors of a list of filters back, also outside the layers',
      { bottom: 4, top: 0, others: 'revert', modules: ['embed', 'o_proj'] },
      (name) => /embed|o_proj/.test(name),
    ],
  ])('%s', async (_, parameters, isBack) => {
    const { base, model, tensors, out } = writeFamily();
    const { kept } = await revert({ base, model, ...parameters }, { out });
    const merged = await readTensors(out);
    let parametersKept = 0;
    for (const [name, { data }] of Object.entries(merged)) {
      expect(data, name).toEqual(Buffer.from(tensors[isBack(name) ? 0 : 1][name]?.data ?? []));
      if (!isBack(name)) parametersKept += data.length / 2;
    }
    expect(kept?.all.parametersKept).toBe(parametersKept);
  });

  it('has the defaults of the paper, and wants as many layers', async () => {
    const { base, model, out } = writeFamily();
    await expect(revert({ base, model }, { out })).rejects.toMatchObject({
      code: 'TOO_MANY_LAYERS',
      details: { counts: { bottom: 5, top: 2 } },
    });
  });
});

const expectRows = async (
  out: string,
  [base, expert]: readonly [Tensors, Tensors],
  vectors: ReadonlyMap<string, Float32Array>,
  rows: 'input' | 'output',
  threshold: number,
) => {
  let kept = 0;
  for (const [name, { data, shape }] of Object.entries(await readTensors(out))) {
    const width = data.length / shape.reduce((a, b) => a * b, 1);
    const [, columns = 0] = shape;
    const vector = vectors.get(name);
    for (let element = 0; element < data.length / width; element += 1) {
      const row =
        shape.length === 1 ? 0 : rows === 'input' ? element % columns : Math.floor(element / columns);
      const keeps = vector === undefined || (vector[row] ?? 0) >= threshold;
      if (keeps && vector !== undefined) kept += 1;
      const [from, to] = [element * width, (element + 1) * width];
      const source = (keeps ? expert : base)[name]?.data.subarray(from, to);
      if (Buffer.compare(data.subarray(from, to), source ?? new Uint8Array()) !== 0)
        throw new Error(`element ${element} of ${name} is not that of ${keeps ? 'expert' : 'base'}`);
    }
  }
  return kept;
};

const analyse = async (base: string, model: string, rows: 'input' | 'output', out: string) => {
  const { readVectors } = await import('../../src/core/measure/analysis/vectors-file.js');
  await analyze({ base, experts: [model], rows }, { out });
  return (await readVectors(join(out, 'expert.mav.safetensors'))).vectors;
};

describe.each(['input', 'output'] as const)('by %s rows', (rows) => {
  it.each(['BF16', 'F32', 'F64'] as const)(
    'takes the base’s bits where the MAV is below the threshold, in %s',
    async (dtype) => {
      const { root, base, model, tensors, out } = writeFamily(dtype);
      const vectors = await analyse(base, model, rows, join(root, 'analysis'));
      const threshold = 0.035;
      const { kept } = await revert({ base, model, threshold, rows }, { out, sliceBytes: 4096 });
      const count = await expectRows(out, tensors, vectors, rows, threshold);
      expect(count).toBeGreaterThan(0);
      expect(kept?.all.parametersKept).toBe(count + 24);
      expect(kept?.tensors['model.layers.0.self_attn.k_proj.weight']?.rows).toBe(rows === 'input' ? 48 : 24);
      const saved = JSON.parse(readFileSync(join(out, 'layerloom.json'), 'utf8')) as { kept: unknown };
      expect(saved.kept).toEqual(kept);
    },
  );

  it('takes the largest threshold that keeps a share of the parameters', async () => {
    const { root, base, model, tensors, out } = writeFamily();
    const vectors = await analyse(base, model, rows, join(root, 'analysis'));
    const { recipe } = await revert({ base, model, targetKept: 0.75, rows }, { out });
    const threshold = recipe['threshold'] as number;
    const total = Object.entries(tensors[0]).reduce(
      (sum, [name, { data }]) => sum + (vectors.has(name) ? data.length / 2 : 0),
      0,
    );
    expect((await expectRows(out, tensors, vectors, rows, threshold)) / total).toBeGreaterThanOrEqual(0.75);
    // The next larger MAV keeps less.
    const next = Math.min(
      ...[...vectors.values()].flatMap((vector) => [...vector].filter((mav) => mav > threshold)),
    );
    const above = [...vectors].reduce((sum, [name, vector]) => {
      const each = (tensors[0][name]?.data.length ?? 0) / 2 / vector.length;
      return sum + each * vector.filter((mav) => mav >= next).length;
    }, 0);
    expect(above / total).toBeLessThan(0.75);
  });
});

describe('a revert of certain tensors', () => {
  it('by rows keeps the others whole, and a share of those tensors', async () => {
    const { root, base, model, tensors, out } = writeFamily();
    const all = await analyse(base, model, 'input', join(root, 'analysis'));
    const vectors = new Map([...all].filter(([name]) => name.includes('.mlp.')));
    const { recipe } = await revert({ base, model, targetKept: 0.6, modules: '*.mlp.*' }, { out });
    const threshold = recipe['threshold'] as number;
    expect(recipe['modules']).toEqual(['*.mlp.*']);
    const total = [...vectors.keys()].reduce(
      (sum, name) => sum + (tensors[0][name]?.data.length ?? 0) / 2,
      0,
    );
    const share = (await expectRows(out, tensors, vectors, 'input', threshold)) / total;
    expect(share).toBeGreaterThanOrEqual(0.6);
    expect(share).toBeLessThan(0.7);
  });

  it('warns of a filter that matches no tensor, and is refused under strict', async () => {
    const { base, model } = writeFamily();
    const recipe = { method: 'revert', base, model, bottom: 1, top: 1, modules: 'mlp,qproj' } as const;
    const { warnings } = await planMerge(recipe);
    expect(warnings.join()).toContain('filter qproj');
    expect(warnings.join()).not.toContain('filter mlp');
    await expect(planMerge(recipe, { strict: true })).rejects.toMatchObject({ code: 'INVALID_PARAMETER' });
  });

  it('is the same again from its own complete recipe', async () => {
    const { root, base, model, out } = writeFamily();
    const keep = { bottom: 1, top: 1, keep: 'top-bottom', modules: 'mlp' } as const;
    const { recipe } = await revert({ base, model, ...keep }, { out });
    expect(recipe).toMatchObject({ keep: 'top_bottom', modules: ['mlp'] });
    await merge(join(out, 'layerloom.json'), { out: join(root, 'again') });
    expect(await readTensors(join(root, 'again'))).toEqual(await readTensors(out));
  });
});

describe('a revert by rows', () => {
  it('of a saved analysis is that of the weights', async () => {
    const { root, base, model, out } = writeFamily();
    // The two have equal sizes and headers, and maybe equal times within one clock tick.
    utimesSync(join(base, 'model.safetensors'), 1, 1);
    await analyze({ base, experts: [model] }, { out: join(root, 'analysis') });
    const analysis = join(root, 'analysis');
    await revert({ base, model, targetKept: 0.5 }, { out });
    await revert({ base, model, targetKept: 0.5 }, { out: join(root, 'again'), analysis });
    expect(await readTensors(join(root, 'again'))).toEqual(await readTensors(out));
    await expect(
      revert(
        { base: `start=${model}`, model: `expert=${base}`, targetKept: 0.5 },
        { out: join(root, 'other'), analysis },
      ),
    ).rejects.toMatchObject({ code: 'ANALYSIS_MISMATCH' });
    await expect(
      revert({ base, model, targetKept: 0.5, rows: 'output' }, { out: join(root, 'other'), analysis }),
    ).rejects.toMatchObject({ code: 'ANALYSIS_MISMATCH' });
  });

  it('is a plan in JSON, which says what it keeps', async () => {
    const { base, model } = writeFamily();
    const plan = await planMerge({ method: 'revert', base, model, threshold: 0.035 });
    expect(checkPlan(JSON.parse(JSON.stringify(plan)))).toEqual(plan);
  });

  it.each<[string, Partial<RevertParameters>]>([
    ['a threshold below 0', { threshold: -1e-5 }],
    ['a share of nothing', { targetKept: 0 }],
    ['a share of more than all', { targetKept: 1.5 }],
    ['a threshold and a share', { threshold: 1e-5, targetKept: 0.5 }],
    ['rows and layers at once', { threshold: 1e-5, bottom: 1 }],
    ['rows without a threshold', { rows: 'input' }],
    ['rows and what is to stay at once', { threshold: 1e-5, keep: 'middle' }],
    ['neither the middle nor the ends', { keep: 'top' as 'middle' }],
    ['an empty filter', { modules: 'q_proj,,k_proj' }],
    ['no filters', { modules: [] }],
  ])('is refused with %s', async (_, parameters) => {
    const { base, model } = writeFamily();
    await expect(planMerge({ method: 'revert', base, model, ...parameters })).rejects.toMatchObject({
      code: 'INVALID_PARAMETER',
    });
  });
});
