import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, vi } from 'vitest';
import { readVectors } from '../../src/core/measure/analysis/vectors-file.js';
import { type Analysis, type AnalyzeOptions, type AnalyzeParameters, analyze } from '../../src/index.js';
import {
  fill,
  llama,
  llamaConfig,
  llamaShapes,
  type TensorFixture,
  type Tensors,
  temporaryDirectory,
  writeCheckpoint,
} from '../fixtures/checkpoints.js';
import { decode, encode, type Floating } from '../fixtures/numbers.js';

// Slow disks.
vi.setConfig({ testTimeout: 180_000 });

const numbersOf = ({ dtype, data }: TensorFixture): number[] => decode(dtype as Floating, data);

/** MAV of each row, one element at a time: the paper's §3.2. */
const rowsOf = (base: TensorFixture, expert: TensorFixture, rows: 'input' | 'output'): number[] => {
  const [a, b] = [numbersOf(base), numbersOf(expert)];
  const [first = 1, second] = base.shape;
  const [height, width] = second === undefined ? [1, first] : [first, second];
  const byInput = second !== undefined && rows === 'input';
  const sums = Array.from({ length: byInput ? width : height }, () => 0);
  for (const [index, x] of b.entries()) {
    const row = byInput ? index % width : Math.floor(index / width);
    sums[row] = (sums[row] ?? 0) + Math.abs(Math.fround(x - (a[index] ?? 0)));
  }
  return sums.map((sum) => sum / (byInput ? height : width));
};

const mean = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0) / numbers.length;

const changed = (tensors: Tensors, seed: number): Tensors => {
  const deltas = fill(
    Object.fromEntries(Object.entries(tensors).map(([name, { shape }]) => [name, shape])),
    'F32',
    seed,
  );
  return Object.fromEntries(
    Object.entries(tensors).map(([name, tensor]) => {
      const delta = numbersOf(deltas[name] as TensorFixture);
      const moved = numbersOf(tensor).map((x, index) => x + 1e-3 * (delta[index] ?? 0));
      return [name, { ...tensor, data: encode(tensor.dtype as Floating, moved) }];
    }),
  );
};

const writeFamily = (dtype: Floating = 'BF16') => {
  const root = temporaryDirectory();
  const base = llama({ dtype, hidden: 48 });
  const experts = [21, 22, 23].map((seed) => ({ ...base, tensors: changed(base.tensors, seed) }));
  return {
    root,
    base: writeCheckpoint(join(root, 'base'), base),
    experts: experts.map((expert, index) => writeCheckpoint(join(root, `expert-${index + 1}`), expert)),
    tensors: [base.tensors, ...experts.map(({ tensors }) => tensors)],
  };
};

const run = (parameters: AnalyzeParameters, options: Partial<AnalyzeOptions> = {}) => {
  const out = join(temporaryDirectory(), 'analysis');
  return analyze(parameters, { out, ...options });
};

describe.each(['input', 'output'] as const)('by %s rows', (rows) => {
  it.each(['BF16', 'F16', 'F32', 'F64'] as const)('MAV are those of the definition, in %s', async (dtype) => {
    const { base, experts, tensors } = writeFamily(dtype);
    const threshold = 1.3e-5;
    const { experts: analyses } = await run({ base, experts, rows, threshold });
    for (const [index, { tensors: found, meanMav, inverseMav }] of analyses.entries()) {
      const all: number[] = [];
      for (const [name, fixture] of Object.entries(tensors[0] ?? {})) {
        const expected = rowsOf(fixture, tensors[index + 1]?.[name] as TensorFixture, rows);
        all.push(...expected);
        const { rows: count, meanMav: tensorMean = 0, fractionAbove } = found[name] ?? {};
        expect(count).toBe(expected.length);
        expect(tensorMean / mean(expected)).toBeCloseTo(1, 12);
        expect(fractionAbove).toBe(
          expected.filter((mav) => Math.fround(mav) > threshold).length / expected.length,
        );
      }
      expect(meanMav / mean(all)).toBeCloseTo(1, 12);
      expect(inverseMav).toBe(1 / meanMav);
    }
  });
});

describe('an analysis', () => {
  it('is the same with one thread and with many, over several blocks of rows', async () => {
    const shapes = { 'model.layers.0.mlp.up_proj.weight': [2700, 3300], 'model.norm.weight': [3300] };
    const root = temporaryDirectory();
    // Rows come again after a number of them that no block has.
    const large = (seed: number) => {
      const some = fill({ ...shapes, 'model.layers.0.mlp.up_proj.weight': [97, 3300] }, 'BF16', seed);
      const tensors = Object.entries(shapes).map(([name, shape]) => {
        const data = Buffer.alloc(2 * shape.reduce((product, extent) => product * extent), some[name]?.data);
        return [name, { dtype: 'BF16', shape, data }] as const;
      });
      return { tensors: Object.fromEntries(tensors), config: llamaConfig({ layers: 1 }) };
    };
    const base = writeCheckpoint(join(root, 'base'), large(1));
    const expert = writeCheckpoint(join(root, 'expert'), large(2));
    const files = await Promise.all(
      [1, 3].map(async (threads) => {
        const { out } = await run({ base, experts: [expert, `twin=${expert}`] }, { threads });
        return readdirSync(out).map((name) => [name, readFileSync(join(out, name)).toString('base64')]);
      }),
    );
    expect(files[0]).toEqual(files[1]);
  });

  it('of saved vectors is that of the weights, at any threshold', async () => {
    const { base, experts } = writeFamily();
    const first = await run({ base, experts });
    const from = first.experts.map(({ name }) => join(first.out, `${name}.mav.safetensors`));
    const threshold = 2e-5;
    const [again, fresh] = [await run({ from, threshold }), await run({ base, experts, threshold })];
    expect(again.experts).toEqual(fresh.experts);
    for (const { name } of fresh.experts)
      expect(readFileSync(join(again.out, `${name}.csv`))).toEqual(
        readFileSync(join(fresh.out, `${name}.csv`)),
      );
    expect(again.bytesRead).toBe(0);
  });

  it('reads every input byte once', async () => {
    const { base, experts, tensors } = writeFamily();
    const bytes = Object.values(tensors[0] ?? {}).reduce((total, { data }) => total + data.length, 0);
    expect((await run({ base, experts })).bytesRead).toBe(4 * bytes);
  });

  it('computes the overlap of two experts’ changes', async () => {
    const { base, experts, tensors } = writeFamily('F32');
    const { overlaps } = await run({ base, experts, threshold: 1.3e-5 });
    expect(overlaps.map(({ experts: pair }) => pair.join())).toEqual([
      'expert-1,expert-2',
      'expert-1,expert-3',
      'expert-2,expert-3',
    ]);
    const [one, two] = [1, 3].map((model) =>
      Object.keys(tensors[0] ?? {}).flatMap((name) => {
        const base = numbersOf(tensors[0]?.[name] as TensorFixture);
        return numbersOf(tensors[model]?.[name] as TensorFixture).map((x, index) =>
          Math.fround(x - (base[index] ?? 0)),
        );
      }),
    );
    const dot = (a: readonly number[] = [], b: readonly number[] = []) =>
      a.reduce((sum, x, index) => sum + x * (b[index] ?? 0), 0);
    const both =
      one?.flatMap((x, index) =>
        x !== 0 && two?.[index] !== 0 ? [Math.sign(x) === Math.sign(two?.[index] ?? 0)] : [],
      ) ?? [];
    expect(overlaps[1]?.whole.cosine).toBeCloseTo(
      dot(one, two) / Math.sqrt(dot(one, one) * dot(two, two)),
      8,
    );
    expect(overlaps[1]?.whole.signAgreement).toBe(both.filter(Boolean).length / both.length);
    expect(overlaps[1]?.parts.map(({ layer }) => layer)).toEqual([null, 0, 1, 2, 3, 4, 5, 6, 7]);
  });

  it('has no cosine of changes whose products overflow', async () => {
    const { root, base, experts, tensors } = writeFamily('F32');
    const name = 'model.layers.3.self_attn.q_proj.weight';
    const numbers = numbersOf(tensors[1]?.[name] as TensorFixture);
    numbers[5] = 3e38;
    const far = { ...(tensors[1]?.[name] as TensorFixture), data: encode('F32', numbers) };
    const config = llamaConfig({ hidden: 48, dtype: 'F32' });
    const expert = writeCheckpoint(join(root, 'far'), { tensors: { ...tensors[1], [name]: far }, config });
    const { overlaps } = await run({ base, experts: [expert, experts[1] ?? ''] });
    const cosines = overlaps[0]?.parts.map(({ cosine }) => cosine);
    expect(cosines?.map((cosine) => cosine === null)).toEqual([0, 0, 0, 0, 1, 0, 0, 0, 0].map(Boolean));
    expect(overlaps[0]?.whole.cosine).toBeNull();
  });

  it('gives families with other modules the columns they have', async () => {
    const root = temporaryDirectory();
    const shapes = {
      'gpt_neox.embed_in.weight': [10, 8],
      'gpt_neox.layers.0.attention.query_key_value.weight': [24, 8],
      'gpt_neox.layers.0.mlp.dense_h_to_4h.weight': [32, 8],
      'gpt_neox.layers.0.experts.0.w1.weight': [6, 8],
      'gpt_neox.layers.0.experts.1.w1.weight': [6, 8],
    };
    const [base = '', expert = ''] = ['base', 'expert'].map((name, seed) =>
      writeCheckpoint(join(root, name), {
        tensors: fill(shapes, 'F32', seed),
        config: { model_type: 'gpt_neox' },
      }),
    );
    const { out } = await run({ base, experts: [expert], threshold: 0 });
    expect(readFileSync(join(out, 'expert.csv'), 'utf8')).toBe(
      'layer,attention.query_key_value.weight,mlp.dense_h_to_4h.weight,experts.*.w1.weight\n0,1.000000,1.000000,1.000000\n',
    );
  });
});

describe('rows that are not finite', () => {
  const poisoned = async (allowNonFinite: boolean) => {
    const {
      root,
      base,
      tensors,
      experts: [, other = ''],
    } = writeFamily('F32');
    const name = 'model.layers.3.self_attn.q_proj.weight';
    const [first, second] = [tensors[1] ?? {}, tensors[1]?.[name] as TensorFixture];
    const numbers = numbersOf(second);
    numbers[5] = Number.NaN;
    numbers[48 + 5] = Number.POSITIVE_INFINITY;
    numbers[7] = Number.NEGATIVE_INFINITY;
    const expert = writeCheckpoint(join(root, 'poisoned'), {
      tensors: { ...first, [name]: { ...second, data: encode('F32', numbers) } },
      config: llamaConfig({ hidden: 48, dtype: 'F32' }),
    });
    return { name, result: run({ base, experts: [expert, other], allowNonFinite }) };
  };

  it('are refused, named and counted', async () => {
    const { name, result } = await poisoned(false);
    await expect(result).rejects.toMatchObject({
      code: 'NON_FINITE',
      exitCode: 3,
      details: { tensors: [{ tensor: name, model: 'poisoned', count: 3 }] },
    });
  });

  it('are left out and said to be, where that is allowed', async () => {
    const { name, result } = await poisoned(true);
    const { experts, warnings, out, overlaps } = await result;
    expect(overlaps.map(({ whole }) => Number.isFinite(whole.cosine))).toEqual([true]);
    expect(experts[0]?.tensors[name]?.nonFiniteRows).toBe(2);
    expect(Number.isFinite(experts[0]?.meanMav)).toBe(true);
    expect(warnings).toEqual([expect.stringContaining(`${name} of poisoned: 3 elements`)]);
    const { vectors } = await readVectors(join(out, 'poisoned.mav.safetensors'));
    expect([...(vectors.get(name) ?? [])].flatMap((mav, row) => (Number.isNaN(mav) ? [row] : []))).toEqual([
      5, 7,
    ]);
  });
});

describe('the published tables', () => {
  const figures = fileURLToPath(new URL('../../docs/figures', import.meta.url));
  const header =
    readFileSync(join(figures, 'figure-4-math-1.csv'), 'utf8').split('\n')[0]?.split(',').slice(1) ?? [];
  const names = [
    'self_attn.q_proj',
    'self_attn.k_proj',
    'self_attn.v_proj',
    'self_attn.o_proj',
    'mlp.gate_proj',
    'mlp.up_proj',
    'mlp.down_proj',
  ];
  const widths = [4096, 4096, 4096, 4096, 4096, 4096, 14336];
  const columnNames = ['wq', 'wk', 'wv', 'wo', 'w1', 'w3', 'w2'];
  /** Figure/layer/column. */
  const misprints: Record<string, true> = {
    '5/8/w2': true,
    '5/31/w3': true,
    '6/24/wo': true,
    '7/24/wv': true,
    '8/24/wv': true,
    '8/30/wv': true,
  };
  const outputs = 4;
  const bf16 = (bits: number, count: number) =>
    Buffer.from(Uint16Array.from({ length: count }, () => bits).buffer);

  /** Weights of real width: a table's share of rows changed from 1 by 2⁻¹⁰. */
  const writeExpert = (root: string, table: readonly (readonly number[])[]) => {
    const tensorsOf = (changes: boolean): Tensors =>
      Object.fromEntries(
        table.flatMap((row, layer) =>
          row.map((fraction, column) => {
            const width = widths[column] ?? 0;
            const data = bf16(0x3f80, outputs * width);
            const rows = changes ? Math.round(fraction * width) : 0;
            // Changes about every ninth row instead of the first ones, in all its outputs.
            for (let n = 0; n < rows; n += 1)
              for (let output = 0; output < outputs; output += 1)
                data.writeUInt16LE(0x3f81, 2 * (output * width + ((n * 5) % width)));
            return [
              `model.layers.${layer}.${names[column]}.weight`,
              { dtype: 'BF16', shape: [outputs, width], data },
            ];
          }),
        ),
      );
    const config = llamaConfig({ layers: 32, hidden: 4096 });
    return {
      base: writeCheckpoint(join(root, 'base'), { tensors: tensorsOf(false), config }),
      expert: writeCheckpoint(join(root, 'expert'), { tensors: tensorsOf(true), config }),
    };
  };

  it.each(readdirSync(figures))('come back from weights that changed so: %s', async (figure) => {
    const lines = readFileSync(join(figures, figure), 'utf8').trim().split('\n').slice(1);
    const table = lines.map((line) => line.split(',').slice(1).map(Number));
    const { base, expert } = writeExpert(temporaryDirectory(), table);
    const { out } = await run({ base, experts: [expert], threshold: 1e-3 });
    // Six printed cells are one digit off a multiple of the row count; compares with the nearest multiple.
    const expected = table.map((row, layer) =>
      row.map((value, column) => {
        const printed = lines[layer]?.split(',')[column + 1] ?? '';
        return misprints[`${figure.slice(7, 8)}/${layer}/${columnNames[column]}`] === undefined
          ? printed
          : (Math.round(value * (widths[column] ?? 1)) / (widths[column] ?? 1)).toFixed(6);
      }),
    );
    const rows = expected.map((row, layer) => [layer, ...row].join(','));
    expect(readFileSync(join(out, 'expert.csv'), 'utf8')).toBe(
      `${[['layer', ...header].join(','), ...rows].join('\n')}\n`,
    );
  });
});

describe('what is refused', () => {
  it.each<[string, (family: ReturnType<typeof writeFamily>) => AnalyzeParameters, string]>([
    ['a threshold below 0', ({ base, experts }) => ({ base, experts, threshold: -1 }), 'INVALID_PARAMETER'],
    [
      'a threshold that is none',
      ({ base, experts }) => ({ base, experts, threshold: Number.NaN }),
      'INVALID_PARAMETER',
    ],
    ['no expert', ({ base }) => ({ base }), 'INVALID_PARAMETER'],
    [
      'a name that is another file’s',
      ({ base, experts: [expert] }) => ({ base, experts: [`overlap=${expert}`] }),
      'INVALID_PARAMETER',
    ],
    [
      'names that are one on some file systems',
      ({ base, experts: [a, b] }) => ({ base, experts: [`A=${a}`, `a=${b}`] }),
      'NAME_CLASH',
    ],
    ['no base', ({ experts }) => ({ experts }), 'INVALID_PARAMETER'],
    [
      'rows of another kind',
      ({ base, experts }) => ({ base, experts, rows: 'columns' as never }),
      'INVALID_PARAMETER',
    ],
    [
      'two experts of one name',
      ({ base, experts: [expert = ''] }) => ({ base, experts: [expert, expert] }),
      'NAME_CLASH',
    ],
    [
      'vectors that are weights',
      ({ base }) => ({ from: [join(base, 'model.safetensors')] }),
      'VECTORS_INVALID',
    ],
    [
      'another architecture',
      ({ root, base }) => ({
        base,
        experts: [writeCheckpoint(join(root, 'other'), llama({ layers: 3, hidden: 48 }))],
      }),
      'LAYER_COUNT_MISMATCH',
    ],
  ])('%s', async (_, parameters, code) => {
    await expect(run(parameters(writeFamily()))).rejects.toMatchObject({ code });
  });

  it('a directory that holds a checkpoint', async () => {
    const { base, experts } = writeFamily();
    await expect(run({ base, experts }, { out: base })).rejects.toMatchObject({
      code: 'OUTPUT_INSIDE_INPUT',
    });
    await expect(run({ base, experts }, { out: '/proc/analysis' })).rejects.toMatchObject({
      code: 'WRITE_FAILED',
    });
  });

  it('vectors whose metadata is damaged, and of rows of two kinds', async () => {
    const { base, experts } = writeFamily();
    const [one, two] = [await run({ base, experts }), await run({ base, experts, rows: 'output' })];
    const [first, other] = [
      join(one.out, 'expert-1.mav.safetensors'),
      join(two.out, 'expert-2.mav.safetensors'),
    ];
    await expect(run({ from: [first, other] })).rejects.toMatchObject({ code: 'VECTORS_INVALID' });
    await expect(run({ from: [first], rows: 'output' })).rejects.toMatchObject({ code: 'INVALID_PARAMETER' });
    const text = readFileSync(first).toString('latin1');
    for (const [what, damaged] of [
      ['{\\"name\\"', 'x\\"name\\"'],
      ['\\"parametersPerRow\\"', '\\"parametersPerRoW\\"'],
    ] as const) {
      expect(text).toContain(what);
      writeFileSync(other, text.replaceAll(what, damaged), 'latin1');
      await expect(run({ from: [other] })).rejects.toMatchObject({ code: 'VECTORS_INVALID', exitCode: 3 });
    }
  });

  it('published tables that are none', async () => {
    const { root, base, experts } = writeFamily();
    for (const text of ['layer,a\n0,abc\n', 'layer,a,b\n0,1\n', 'layer,a\n0,2\n', 'x']) {
      writeFileSync(join(root, 'table.csv'), text);
      await expect(run({ base, experts, compare: [join(root, 'table.csv')] })).rejects.toMatchObject({
        code: 'INVALID_PARAMETER',
      });
    }
  });

  it('an expert equal to its base is said to have no weight', async () => {
    const { base } = writeFamily();
    const { experts, warnings } = await run({ base, experts: [`same=${base}`] });
    expect((experts[0] as Analysis).inverseMav).toBeNull();
    expect(warnings).toEqual([expect.stringContaining('same equals the base')]);
  });

  it('shapes that differ are listed', async () => {
    const { root, base } = writeFamily();
    const other = writeCheckpoint(join(root, 'wider'), {
      tensors: fill(llamaShapes({ hidden: 64 }), 'BF16', 1),
    });
    writeFileSync(join(other, 'config.json'), JSON.stringify(llamaConfig({ hidden: 48 })));
    await expect(run({ base, experts: [other] })).rejects.toMatchObject({
      code: 'SHAPE_MISMATCH',
      exitCode: 3,
    });
  });
});
