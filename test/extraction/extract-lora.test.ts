import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { errorOf } from '../../src/cli/text/truncated-text.js';
import { valueAt } from '../../src/core/base/errors/lookup.js';
import type { TensorReference } from '../../src/core/tensor/reference.js';
import { extractLora, instructionSets, openCheckpoint } from '../../src/index.js';
import {
  type LlamaOptions,
  llama,
  type Tensors,
  temporaryDirectory,
  writeCheckpoint,
} from '../fixtures/checkpoints.js';
import { decode, encode, type Floating } from '../fixtures/numbers.js';
import { openAdapter } from '../fixtures/open-adapter.js';

const writeModels = (changes: Tensors = {}, options: LlamaOptions = {}) => {
  const root = temporaryDirectory();
  const own = { layers: 2, hidden: 32, dtype: 'F32', ...options } as const;
  const base = llama({ ...own, seed: 1 });
  const other = llama({ ...own, seed: 2 });
  const expert = { ...other, tensors: { ...other.tensors, ...changes } };
  return {
    root,
    tensors: { base: base.tensors, expert: expert.tensors },
    base: writeCheckpoint(join(root, 'base'), base),
    expert: writeCheckpoint(join(root, 'expert'), expert),
  };
};

const numbersOf = (tensors: Tensors, name: string): number[] => {
  const { dtype, data } = valueAt(new Map(Object.entries(tensors)), name);
  return decode(dtype as Floating, data);
};

const readTensor = (file: string, { begin, end, dtype }: TensorReference): number[] =>
  decode(dtype as Floating, Uint8Array.from(readFileSync(file).subarray(begin, end)));

const norm = (numbers: readonly number[]): number => Math.sqrt(numbers.reduce((sum, x) => sum + x * x, 0));

const changesOf = async (out: string): Promise<Map<string, number[]>> => {
  const { pairs } = await openAdapter(out);
  const file = join(out, 'adapter_model.safetensors');
  return new Map(
    [...pairs].map(([name, { a, b, rank, scale, transposed }]) => {
      const [left, right] = [readTensor(file, b), readTensor(file, a)];
      const [rows, columns] = [b.shape[0] ?? 0, a.shape[1] ?? 0];
      const at = (row: number, column: number) => {
        let sum = 0;
        for (let k = 0; k < rank; k += 1)
          sum += (left[row * rank + k] ?? 0) * (right[k * columns + column] ?? 0);
        return scale * sum;
      };
      const product = transposed
        ? Array.from({ length: rows * columns }, (_, i) => at(i % rows, Math.floor(i / rows)))
        : Array.from({ length: rows * columns }, (_, i) => at(Math.floor(i / columns), i % columns));
      return [name, product];
    }),
  );
};

/** An [n, n] orthonormal matrix: the discrete cosine transform. */
const cosines = (n: number) => (row: number, column: number) =>
  Math.sqrt((row === 0 ? 1 : 2) / n) * Math.cos((Math.PI * (column + 0.5) * row) / n);

const withSpectrum = (rows: number, columns: number, values: readonly number[]): number[] => {
  const [u, v] = [cosines(rows), cosines(columns)];
  return Array.from({ length: rows * columns }, (_, i) =>
    values.reduce((sum, value, k) => sum + value * u(k, Math.floor(i / columns)) * v(k, i % columns), 0),
  );
};

const q = 'model.layers.0.self_attn.q_proj.weight';
const down = 'model.layers.1.mlp.down_proj.weight';

const writeSpectrum = (values: readonly number[], shape: readonly [number, number] = [96, 160]) => {
  const root = temporaryDirectory();
  const elements = shape[0] * shape[1];
  const write = (name: string, numbers: readonly number[]) =>
    writeCheckpoint(join(root, name), {
      tensors: { [q]: { dtype: 'F32', shape, data: encode('F32', numbers) } },
      config: {},
    });
  return {
    out: join(root, 'lora'),
    base: write(
      'base',
      Array.from({ length: elements }, () => 0),
    ),
    expert: write('expert', withSpectrum(...shape, values)),
  };
};

it('gives changes of 0 an error of 0', () => {
  const none = { norm: 0, error: 0 };
  expect(errorOf([none, none])).toBe(0);
  expect(errorOf([none, { norm: 2, error: 0.5 }])).toBe(0.5);
});

describe('extractLora', () => {
  it.each(['F32', 'BF16'] as const)(
    'gives back the expert within the error that it reports, in %s',
    async (dtype) => {
      const { root, base, expert, tensors } = writeModels({}, { dtype });
      const out = join(root, 'lora');
      const result = await extractLora({ base, expert, rank: 4, embedLora: true }, { out });
      const changes = await changesOf(out);
      expect([...changes.keys()].sort()).toEqual(result.tensors.map(({ name }) => name).sort());
      expect(result.tensors).toHaveLength(11);
      for (const { name, rank, error, energy, norm: size } of result.tensors) {
        const before = numbersOf(tensors.base, name);
        const change = numbersOf(tensors.expert, name).map((x, i) => x - (before[i] ?? 0));
        const product = valueAt(changes, name);
        expect(rank).toBe(4);
        expect(size).toBeCloseTo(norm(change), 5);
        expect(norm(change.map((x, i) => x - (product[i] ?? 0))) / norm(change)).toBeCloseTo(error, 5);
        expect(energy).toBeCloseTo(1 - error ** 2, 9);
      }
    },
  );

  it('extracts an adapter again from the base with it', async () => {
    const { root, base, expert } = writeModels();
    const [once, twice] = [join(root, 'once'), join(root, 'twice')];
    const { tensors } = await extractLora({ base, expert, rank: 3 }, { out: once });
    const again = await extractLora({ base, expert: `${base}+${once}`, rank: 3 }, { out: twice });
    expect(again.tensors.map(({ name }) => name)).toEqual(tensors.map(({ name }) => name));
    expect(again.leftOut).toEqual([]);
    expect(again.error).toBeLessThan(1e-5);
    for (const [index, { norm: size, energy }] of tensors.entries())
      expect((again.tensors[index]?.norm ?? 0) / (size * Math.sqrt(energy))).toBeCloseTo(1, 4);
  });

  it('finds the singular values, and the least error that the rank allows', async () => {
    const values = Array.from({ length: 60 }, (_, k) => 0.85 ** k);
    const { base, expert, out } = writeSpectrum(values);
    const { tensors, error } = await extractLora({ base, expert, rank: 12 }, { out });
    const [tensor] = tensors;
    expect(tensor?.singularValues).toHaveLength(12);
    for (const [k, value] of tensor?.singularValues.entries() ?? [])
      expect(value / (values[k] ?? 0)).toBeCloseTo(1, 5);
    const least = norm(values.slice(12)) / norm(values);
    expect(error / least).toBeGreaterThan(1 - 1e-5);
    expect(error / least).toBeLessThan(1.001);
  });

  it.each([
    [64, 300],
    [300, 64],
    [16, 700],
    [100, 101],
  ])('loses nothing but rounding at full rank: %i rows, %i columns', async (rows, columns) => {
    const values = Array.from({ length: Math.min(rows, columns) }, (_, k) => 1 / (1 + k));
    const { out, base, expert } = writeSpectrum(values, [rows, columns]);
    const { error } = await extractLora({ base, expert, rank: values.length }, { out });
    expect(error).toBeLessThan(1e-6);
  });

  it('stays within 1 % of the least error where the spectrum falls slowly', async () => {
    const values = Array.from({ length: 96 }, (_, k) => 1 / Math.sqrt(k + 1));
    const { base, expert, out } = writeSpectrum(values, [96, 160]);
    const { error } = await extractLora({ base, expert, rank: 16 }, { out });
    expect(error / (norm(values.slice(16)) / norm(values))).toBeLessThan(1.01);
  });

  it('chooses with energy the smallest rank of each matrix that keeps the share', async () => {
    const values = Array.from({ length: 40 }, (_, k) => 0.8 ** k);
    const { base, expert, out } = writeSpectrum(values);
    const { tensors } = await extractLora({ base, expert, energy: 0.95 }, { out });
    const share = (rank: number) => (norm(values.slice(0, rank)) / norm(values)) ** 2;
    const rank = values.findIndex((_, k) => share(k + 1) >= 0.95) + 1;
    expect(tensors[0]?.rank).toBe(rank);
    expect(tensors[0]?.energy).toBeCloseTo(share(rank), 5);
    const few = await extractLora({ base, expert, energy: 0.95, rank: 3 }, { out: `${out}-few` });
    expect(few.tensors[0]?.rank).toBe(3);
  });

  it('writes ranks that differ as patterns, and alpha equal to the rank', async () => {
    const { root, base, expert } = writeModels();
    const out = join(root, 'lora');
    const { tensors } = await extractLora({ base, expert, rank: 24, exclude: ['layers.1.mlp'] }, { out });
    expect(tensors.find(({ name }) => name.includes('0.self_attn.k_proj'))?.rank).toBe(16);
    const config: unknown = JSON.parse(readFileSync(join(out, 'adapter_config.json'), 'utf8'));
    expect(config).toMatchObject({
      ...{ r: 24, lora_alpha: 24, rank_pattern: { k_proj: 16 }, alpha_pattern: { k_proj: 16 } },
      target_modules: expect.arrayContaining(['q_proj', 'model.layers.0.mlp.gate_proj']),
    });
    for (const { scale } of (await openAdapter(out)).pairs.values()) expect(scale).toBe(1);
  });

  it('saves modules whole, leaves out what is unchanged, and says how much change is lost', async () => {
    const { base: tensors } = writeModels().tensors;
    const { root, base, expert } = writeModels({ [q]: tensors[q] as Tensors[string] });
    const out = join(root, 'lora');
    const result = await extractLora({ base, expert, rank: 4, saveModules: ['input_layernorm'] }, { out });
    const [saved, extracted] = [result.saved, result.tensors.map(({ name }) => name)];
    expect(saved).toEqual([0, 1].map((layer) => `model.layers.${layer}.input_layernorm.weight`));
    expect(extracted).not.toContain(q);
    expect(result.unchanged).toEqual([q]);
    expect(result.leftOut.map(({ name }) => name)).toContain('model.embed_tokens.weight');
    expect(result.warnings.join()).toMatch(/changed tensors are left out, with \d+\.\d % .*embed_tokens/);
    const { replaced } = await openAdapter(out);
    const { tensors: ofExpert, files } = await openCheckpoint(expert);
    expect([...replaced.keys()].sort()).toEqual([...saved].sort());
    for (const [name, { tensor }] of replaced)
      expect(readTensor(join(out, 'adapter_model.safetensors'), tensor)).toEqual(
        readTensor(files[0]?.path ?? '', valueAt(ofExpert, name)),
      );
  });

  it('gives the same bytes with any number of threads, on every instruction set', () => {
    const { root, base, expert } = writeModels({}, { dtype: 'BF16' });
    const index = fileURLToPath(new URL('../../dist/index.js', import.meta.url));
    const hashes = instructionSets().available.flatMap((isa) => {
      const program = `
        import { extractLora } from ${JSON.stringify(index)};
        for (const threads of [1, 2])
          await extractLora(${JSON.stringify({ base, expert, rank: 5 })}, { out: ${JSON.stringify(join(root, isa))} + threads, threads });
      `;
      execFileSync(process.execPath, ['--input-type=module', '-e', program], {
        env: { ...process.env, LAYERLOOM_ISA: isa },
      });
      return [1, 2].map((threads) =>
        createHash('sha256')
          .update(readFileSync(join(root, `${isa}${threads}`, 'adapter_model.safetensors')))
          .digest('hex'),
      );
    });
    expect(hashes.length).toBeGreaterThanOrEqual(2);
    expect(new Set(hashes).size).toBe(1);
  }, 60_000);

  it('refuses numbers that are not finite, by tensor and model', async () => {
    const { tensors } = writeModels();
    const numbers = numbersOf(tensors.expert, down);
    const poisoned = encode('F32', [Number.NaN, Number.POSITIVE_INFINITY, ...numbers.slice(2)]);
    const { shape = [] } = tensors.expert[down] ?? {};
    const { root, base, expert } = writeModels({ [down]: { dtype: 'F32', shape, data: poisoned } });
    await expect(extractLora({ base, expert, rank: 2 }, { out: join(root, 'lora') })).rejects.toMatchObject({
      code: 'NON_FINITE',
      details: { tensors: [{ tensor: down, model: 'expert', count: 2 }] },
    });
  });

  it.each([
    [{ rank: 0 }, 'rank'],
    [{ rank: 2.5 }, 'rank'],
    [{}, 'rank'],
    [{ energy: 1 }, 'energy'],
    [{ rank: 2, dtype: 'float64' }, 'dtype'],
    [{ rank: 2, seed: -1 }, 'seed'],
    [{ rank: 2, modules: ['('] }, 'modules'],
    [{ rank: 2, modules: ['q_proj\\Z|proj'] }, 'modules'],
    [{ rank: 2, exclude: ['[]q]_proj'] }, 'exclude'],
    [{ rank: 2, modules: ['nothing'] }, 'modules'],
    [{ rank: 2, saveModules: ['nothing'] }, 'saveModules'],
  ] as const)('refuses %j', async (parameters, parameter) => {
    const { root, base, expert } = writeModels();
    await expect(
      extractLora({ base, expert, ...(parameters as { rank: number }) }, { out: join(root, 'lora') }),
    ).rejects.toMatchObject({ code: 'INVALID_PARAMETER', details: { parameter } });
  });

  it('refuses an expert of other shapes', async () => {
    const { root, base } = writeModels();
    const other = writeModels({}, { hidden: 48 });
    await expect(
      extractLora({ base, expert: other.expert, rank: 2 }, { out: join(root, 'lora') }),
    ).rejects.toMatchObject({ code: 'SHAPE_MISMATCH' });
  });
});

it('takes fewer threads where memory is short, and is refused before anything is written where it is for one', async () => {
  const { root, base, expert } = writeModels();
  const out = join(root, 'lora');
  onTestFinished(() => void vi.restoreAllMocks());
  const limit = vi.spyOn(process, 'constrainedMemory').mockReturnValue(30e6);
  await expect(extractLora({ base, expert, rank: 2 }, { out, threads: 4 })).rejects.toMatchObject({
    code: 'MEMORY_NEEDED',
    message: expect.stringMatching(/^model\..* needs 3\d\.\d MB .* has 30\.0 MB; use a smaller rank/),
  });
  expect(readdirSync(root).sort()).toEqual(['base', 'expert']);
  limit.mockReturnValue(48e6);
  const { threads, warnings } = await extractLora({ base, expert, rank: 2 }, { out, threads: 4 });
  expect(threads).toBe(2);
  expect(warnings[0]).toMatch(/^2 of 4 threads are used: each takes 9\.\d+ MB for model\./);
});

it('warns that PEFT cannot load an adapter whose base is itself a base with an adapter', async () => {
  const { root, base, expert } = writeModels();
  const [first, second] = [join(root, 'first'), join(root, 'second')];
  const { warnings } = await extractLora({ base, expert, rank: 1 }, { out: first });
  expect(warnings.join()).not.toContain('base with an adapter');
  const rest = await extractLora({ base: `${base}+${first}`, expert, rank: 2 }, { out: second });
  expect(rest.warnings[0]).toMatch(/first is a base with an adapter, .*merge it to full weights first/);
});

const writeMatrices = (
  shapes: Readonly<Record<string, readonly [number, number]>>,
  config: Readonly<Record<string, unknown>>,
) => {
  const root = temporaryDirectory();
  const write = (directory: string, seed: number) => {
    const tensors = Object.entries(shapes).map(([name, shape], index) => {
      const numbers = Array.from({ length: shape[0] * shape[1] }, (_, i) => Math.sin(seed * (i + 1) + index));
      return [name, { dtype: 'F32' as const, shape, data: encode('F32', numbers) }] as const;
    });
    return writeCheckpoint(join(root, directory), { tensors: Object.fromEntries(tensors), config });
  };
  return { out: join(root, 'lora'), base: write('base', 1), expert: write('expert', 2) };
};

const settingsOf = (out: string): Record<string, unknown> =>
  JSON.parse(readFileSync(join(out, 'adapter_config.json'), 'utf8'));

describe('modules to which PEFT gives factors', () => {
  const square = [8, 8] as const;

  it.each([
    ['the router of a mixture', 'mixtral', 'mlp.gate', ['mlp.experts.0.w1', 'self_attn.q_proj']],
    ['the router of another', 'granitemoe', 'block_sparse_moe.router.layer', ['self_attn.q_proj']],
    [
      'what experts have by the same name',
      'qwen2_moe',
      'mlp.shared_expert.up_proj',
      ['mlp.experts.0.up_proj'],
    ],
    ['the projection behind a state space', 'mamba2', 'mixer.out_proj', ['mixer.in_proj'], 'backbone.layers'],
    [
      'an embedding of positions',
      't5',
      'layer.0.SelfAttention.relative_attention_bias',
      ['layer.0.SelfAttention.q'],
      'encoder.block',
    ],
  ])('leaves out %s, and says so', async (_, type, left, taken, stack = 'model.layers') => {
    const nameOf = (module: string) => `${stack}.1.${module}.weight`;
    const shapes = Object.fromEntries([left, ...taken].map((module) => [nameOf(module), square]));
    const { out, base, expert } = writeMatrices(shapes, { model_type: type });
    const { tensors, leftOut } = await extractLora({ base, expert, rank: 2 }, { out });
    expect(tensors.map(({ name }) => name).sort()).toEqual(taken.map(nameOf).sort());
    expect(leftOut.map(({ name }) => name)).toEqual([nameOf(left)]);
  });

  it('takes them where their names are given', async () => {
    const gate = 'model.layers.0.mlp.gate.weight';
    const { out, base, expert } = writeMatrices({ [gate]: square }, { model_type: 'mixtral' });
    const { tensors } = await extractLora({ base, expert, rank: 2, modules: ['gate'] }, { out });
    expect(tensors.map(({ name }) => name)).toEqual([gate]);
  });

  it('writes the factors of a Conv1D, which is stored as [in, out], as those of its transpose', async () => {
    const name = 'transformer.h.0.attn.c_attn.weight';
    const { out, base, expert } = writeMatrices({ [name]: [8, 24] }, { model_type: 'gpt2' });
    const result = await extractLora({ base, expert, rank: 8 }, { out });
    expect(settingsOf(out)).toMatchObject({ fan_in_fan_out: true, target_modules: ['c_attn'] });
    const { pairs } = await openAdapter(out);
    const { a, b } = valueAt(pairs, name);
    expect([a.shape, b.shape]).toEqual([
      [8, 8],
      [24, 8],
    ]);
    expect(result.error).toBeLessThan(1e-5);
    const again = await extractLora({ base, expert: `${base}+${out}`, rank: 8 }, { out: `${out}-again` });
    expect(again.tensors[0]?.norm).toBeCloseTo(result.tensors[0]?.norm ?? 0, 3);
  });

  it.each([
    ['llava', 'language_model.model.layers.0.'],
    ['qwen2_5_vl', 'model.layers.0.'],
    ['gemma3', 'model.language_model.layers.0.'],
  ])('names modules of %s as transformers 5 loads them', async (model_type, place) => {
    const [own, others] = [`${place}mlp.up_proj.weight`, 'vision_tower.layers.0.mlp.up_proj.weight'];
    const { out, base, expert } = writeMatrices(
      { [own]: square, [others]: square },
      { model_type, text_config: {} },
    );
    const result = await extractLora({ base, expert, rank: 8 }, { out });
    expect(result.tensors.map(({ name }) => name)).toEqual([own]);
    expect(settingsOf(out)['target_modules']).toEqual(['model.language_model.layers.0.mlp.up_proj']);
    const again = await extractLora({ base, expert: `${base}+${out}`, rank: 8 }, { out: `${out}-again` });
    expect(again.tensors.map(({ name }) => name)).toEqual([own]);
  });

  it.each([
    [['LlamaForCausalLM'], false, 'CAUSAL_LM'],
    [['GPT2LMHeadModel'], false, 'CAUSAL_LM'],
    [undefined, false, 'CAUSAL_LM'],
    [['BertForMaskedLM'], false, null],
    [['LlamaForSequenceClassification'], false, null],
    [['T5ForConditionalGeneration'], true, null],
    [['BertModel'], false, null],
  ])('names the task of decoders that generate: %j', async (architectures, is_encoder_decoder, task) => {
    const config = { model_type: 'any', is_encoder_decoder, ...(architectures && { architectures }) };
    const { out, base, expert } = writeMatrices({ 'model.layers.0.mlp.up_proj.weight': square }, config);
    await extractLora({ base, expert, rank: 2 }, { out });
    expect(settingsOf(out)['task_type']).toBe(task);
  });
});
