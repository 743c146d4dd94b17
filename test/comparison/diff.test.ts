import { execFileSync } from 'node:child_process';
import { linkSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { diff, instructionSets, type Progress, relayout, type TensorComparison } from '../../src/index.js';
import {
  type CheckpointFixture,
  fill,
  llama,
  llamaConfig,
  type TensorFixture,
  type Tensors,
  temporaryDirectory,
  writeCheckpoint,
  writeLarge,
  writePair,
} from '../fixtures/checkpoints.js';
import { encode, type Floating, generator } from '../fixtures/numbers.js';
import { differencesOf } from './reference.js';

const dtypes: readonly Floating[] = ['BF16', 'F16', 'F32', 'F64', 'F8_E4M3', 'F8_E5M2'];

const write = (a: CheckpointFixture, b: CheckpointFixture): { root: string; a: string; b: string } => {
  const root = temporaryDirectory();
  return { root, a: writeCheckpoint(join(root, 'a'), a), b: writeCheckpoint(join(root, 'b'), b) };
};

const ofTensors = (a: Tensors, b: Tensors) => write({ tensors: a }, { tensors: b });

const tensor = (dtype: string, shape: readonly number[], data: Uint8Array): TensorFixture => ({
  dtype,
  shape,
  data,
});

const floats = (dtype: Floating, values: readonly number[]): TensorFixture =>
  tensor(dtype, [values.length], encode(dtype, values));

const compare = async (a: TensorFixture, b: TensorFixture): Promise<TensorComparison> => {
  const models = ofTensors({ x: a }, { x: b });
  const { tensors } = await diff(models.a, models.b);
  expect(tensors).toHaveLength(1);
  return tensors[0] as TensorComparison;
};

const changed = (data: Uint8Array, at: number, ...bytes: readonly number[]): Uint8Array => {
  const copy = Uint8Array.from(data);
  copy.set(bytes, at);
  return copy;
};

describe('differences of elements', () => {
  const pairs = dtypes.flatMap((a) => dtypes.map((b) => [a, b] as const));
  const shape = [67, 31];
  const specials = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0, -0, 1e-7];
  const values = (seed: number): number[] => {
    const random = generator(seed);
    return Array.from({ length: 67 * 31 }, () =>
      random() < 0.05 ? (specials[Math.floor(random() * specials.length)] ?? 0) : (random() - 0.5) * 3,
    );
  };
  const one = values(1);
  const random = generator(7);
  const other = values(2).map((value, index) => (random() < 0.5 ? value : (one[index] ?? 0)));

  it('are those of arithmetic in float64, whatever the two dtypes', async () => {
    const named = (side: 0 | 1) =>
      Object.fromEntries(
        pairs.map((pair) => [
          pair.join(),
          tensor(pair[side], shape, encode(pair[side], side === 0 ? one : other)),
        ]),
      );
    const models = ofTensors(named(0), named(1));
    const found = new Map(
      (await diff(models.a, models.b)).tensors.map((compared) => [compared.name, compared]),
    );
    for (const pair of pairs) {
      const [dtypeA, dtypeB] = pair;
      const expected = differencesOf([dtypeA, encode(dtypeA, one)], [dtypeB, encode(dtypeB, other)]);
      expect(found.get(pair.join()), pair.join()).toMatchObject({ state: 'differs' });
      expect(found.get(pair.join())?.difference, pair.join()).toEqual({
        differing: expected.differing,
        differingBits: expected.differingBits,
        nonFinite: expected.nonFinite,
        max: expected.max,
        // The order of the sums is another.
        mean: expect.closeTo(expected.mean, 12),
        rms: expect.closeTo(expected.rms, 12),
        relative: expect.closeTo(expected.relative, 12),
        first: { index: expected.first, position: [Math.floor(expected.first / 31), expected.first % 31] },
      });
      expect(expected.nonFinite).toBeGreaterThan(20);
    }
  });

  it('of dtypes that are not floating are counted, and are no numbers', async () => {
    const widthOf = { BOOL: 1, U8: 1, F8_E8M0: 1, I16: 2, U32: 4, I64: 8, C64: 8 };
    const dataOf = (width: number) => Uint8Array.from({ length: 12 * width }, (_, i) => i % 2);
    const ofAll = (edit: (data: Uint8Array, width: number) => Uint8Array) =>
      Object.fromEntries(
        Object.entries(widthOf).map(([dtype, width]) => [
          dtype,
          tensor(dtype, [4, 3], edit(dataOf(width), width)),
        ]),
      );
    const models = ofTensors(
      ofAll((data) => data),
      ofAll((data, width) => changed(changed(data, 5 * width, 7), 12 * width - 1, 9)),
    );
    const { tensors } = await diff(models.a, models.b);
    expect(tensors).toHaveLength(7);
    for (const { name, state, difference } of tensors) {
      expect(state, name).toBe('differs');
      expect(difference, name).toEqual({
        differing: 2,
        differingBits: 2,
        nonFinite: 0,
        max: null,
        mean: null,
        rms: null,
        relative: null,
        first: { index: 5, position: [1, 2] },
      });
    }
  });

  it.each([
    // The first element with bits in that byte.
    ['F4', 4, 10],
    ['F6_E2M3', 6, 6],
  ])('of %s, smaller than a byte, are found and not counted', async (dtype, bits, index) => {
    const data = new Uint8Array((16 * bits) / 8);
    const found = await compare(tensor(dtype, [16], data), tensor(dtype, [16], changed(data, 5, 0xff)));
    expect(found).toMatchObject({
      state: 'differs',
      difference: { differing: null, differingBits: null, first: { index } },
    });
  });

  it('are none in value where only zeros and NaN have other bits', async () => {
    const a = tensor('BF16', [4], Uint8Array.of(0, 0, 0xc0, 0x7f, 0x80, 0x3f, 0, 0x80));
    const b = tensor('BF16', [4], Uint8Array.of(0, 0x80, 0xc1, 0xff, 0x80, 0x3f, 0, 0));
    const { state, difference } = await compare(a, b);
    expect(state).toBe('sameValues');
    expect(difference).toMatchObject({ differing: 0, differingBits: 3, nonFinite: 1, max: 0, relative: 0 });
    expect(difference?.first.index).toBe(0);
  });

  it('are none in value between a model and its copy in another dtype', async () => {
    const numbers = [1, -0.5, 0.125, -0, Number.NaN];
    const found = await compare(floats('BF16', numbers), floats('F32', numbers));
    expect(found).toMatchObject({
      state: 'sameValues',
      difference: null,
      a: { dtype: 'BF16' },
      b: { dtype: 'F32' },
    });
  });

  it('have no relative size beside a tensor of zeros', async () => {
    const found = await compare(floats('F32', [0, 0]), floats('F32', [0, 3]));
    expect(found.difference).toMatchObject({ differing: 1, max: 3, mean: 1.5, relative: null });
  });

  it('have no mean where no element is finite in both', async () => {
    const found = await compare(floats('F16', [Number.NaN]), floats('F16', [1]));
    expect(found.difference).toMatchObject({ differing: 1, nonFinite: 1, max: null, mean: null, rms: null });
  });

  it('of float64 that overflow are left out like those of infinities', async () => {
    const found = await compare(floats('F64', [1e308, 1]), floats('F64', [-1e308, 2]));
    expect(found.difference).toMatchObject({ differing: 2, nonFinite: 1, max: 1, relative: 1 });
  });

  it('are found of one flipped bit, and measured against the whole tensor, whose other blocks are equal', async () => {
    const count = 3 * 2 ** 22 + 17;
    const at = 2 ** 22 + 12_345;
    // 0.5 everywhere except 1 at the flipped bit.
    const data = new Uint8Array(count).fill(0x30);
    const found = await compare(
      tensor('F8_E4M3', [count], data),
      tensor('F8_E4M3', [count], changed(data, at, 0x38)),
    );
    expect(found.difference).toEqual({
      differing: 1,
      differingBits: 1,
      nonFinite: 0,
      max: 0.5,
      mean: 0.5 / count,
      rms: Math.sqrt(0.25 / count),
      relative: 0.5 / Math.sqrt(count * 0.25),
      first: { index: at, position: [at] },
    });
  });

  it('are none of tensors without elements, and of scalars that are equal', async () => {
    expect(
      await compare(tensor('F32', [0, 4], new Uint8Array()), tensor('F32', [0, 4], new Uint8Array())),
    ).toMatchObject({
      state: 'equal',
      elements: 0,
    });
    expect(
      await compare(tensor('F32', [], new Uint8Array(4)), tensor('F32', [], new Uint8Array(4))),
    ).toMatchObject({
      state: 'equal',
    });
  });
});

/** A tensor of many elements without equal tiles. */
const repeated = (dtype: 'BF16' | 'F16', count: number, seed: number): TensorFixture => {
  const random = generator(seed);
  const some = encode(
    dtype,
    Array.from({ length: 1009 }, () => random() - 0.5),
  );
  const data = new Uint8Array(2 * count);
  for (let at = 0; at < data.length; at += some.length) data.set(some.subarray(0, data.length - at), at);
  return tensor(dtype, [count], data);
};

describe('numbers', () => {
  it('are the same bits on every instruction set and for every number of threads', () => {
    // Every dtype except bfloat16, the last tile cut, and one tensor of two blocks.
    const shapes = Object.fromEntries(dtypes.map((dtype) => [dtype, [97, 53]]));
    const ofSeed = (seed: number, dtypeOf: (name: string) => Floating): Tensors => ({
      ...Object.fromEntries(
        Object.entries(shapes).map(([name, shape]) => [
          name,
          fill({ [name]: shape }, dtypeOf(name), seed)[name] as TensorFixture,
        ]),
      ),
      big: repeated('BF16', 2 ** 22 + 12_345, seed),
    });
    const models = ofTensors(
      ofSeed(1, () => 'BF16'),
      ofSeed(2, (name) => name as Floating),
    );
    const program = `
      import { diff } from ${JSON.stringify(fileURLToPath(new URL('../../dist/index.js', import.meta.url)))};
      const found = [];
      for (const threads of [1, 3])
        found.push(JSON.stringify((await diff(${JSON.stringify(models.a)}, ${JSON.stringify(models.b)}, { threads })).tensors));
      console.log(new Set(found).size, found[0]);
    `;
    const answers = instructionSets().available.map((isa) =>
      execFileSync(process.execPath, ['--input-type=module', '-e', program], {
        encoding: 'utf8',
        maxBuffer: 2 ** 26,
        env: { ...process.env, LAYERLOOM_ISA: isa },
      }),
    );
    expect(answers[0]).toMatch(/^1 \[/);
    expect(answers[0]?.match(/"differs"/g)).toHaveLength(7);
    expect(new Set(answers).size).toBe(1);
  }, 60_000);
});

describe('a comparison of models', () => {
  it('finds the layers that a merge took from the other expert', async () => {
    const { root, task, language, tensors } = writePair();
    const mixed = Object.fromEntries(
      Object.entries(tensors.task).map(([name, own]) => [
        name,
        /layers\.[01]\./.test(name) ? (tensors.language[name] as TensorFixture) : own,
      ]),
    );
    const merged = writeCheckpoint(join(root, 'merged'), { tensors: mixed, config: llamaConfig() });
    const ofTask = await diff(task, merged);
    const layers = new Set(ofTask.tensors.filter(({ state }) => state !== 'equal').map(({ layer }) => layer));
    expect([...layers]).toEqual([0, 1]);
    expect(ofTask).toMatchObject({
      equal: false,
      sameValues: false,
      sideFiles: [{ name: 'config.json', state: 'equal' }],
    });
    const ofLanguage = await diff(language, merged, { only: 'model.layers.1.*' });
    expect(ofLanguage.tensors).toHaveLength(8);
    expect(ofLanguage.equal).toBe(true);
  });

  it('finds a model equal in another layout', async () => {
    const { root, task } = writePair({ dtype: 'F16' });
    const out = join(root, 'laid-out');
    await relayout({ model: task }, { out, layout: 'layer' });
    const { equal, sideFiles, a, b } = await diff(task, out);
    expect(equal).toBe(true);
    expect(sideFiles.map(({ state }) => state)).toEqual(['equal']);
    expect([a.parameters, a.tensors, a.layers]).toEqual([b.parameters, b.tensors, b.layers]);
  });

  it('reads nothing of files that both link to', async () => {
    const { root, task } = writePair();
    mkdirSync(join(root, 'linked'));
    linkSync(join(task, 'model.safetensors'), join(root, 'linked/model.safetensors'));
    expect(await diff(task, join(root, 'linked'))).toMatchObject({ equal: true, bytesRead: 0 });
    expect(await diff(task, task)).toMatchObject({ equal: true, bytesRead: 0 });
  });

  it('tells tensors that only one has, and those of another shape or dtype', async () => {
    const common = { same: floats('BF16', [1]) };
    const models = ofTensors(
      { ...common, a: floats('BF16', [1, 2]), shape: floats('BF16', [1, 2]), dtype: floats('BF16', [1]) },
      {
        ...common,
        b: floats('F32', [1, 2, 3]),
        shape: tensor('BF16', [2, 1], encode('BF16', [1, 2])),
        dtype: tensor('I16', [1], new Uint8Array(2)),
      },
    );
    const { tensors, equal, sameValues } = await diff(models.a, models.b);
    expect({ equal, sameValues }).toEqual({ equal: false, sameValues: false });
    expect(Object.fromEntries(tensors.map(({ name, state }) => [name, state]))).toEqual({
      same: 'equal',
      a: 'onlyInA',
      b: 'onlyInB',
      shape: 'otherShape',
      dtype: 'otherDtype',
    });
    expect(tensors.find(({ name }) => name === 'b')).toMatchObject({
      a: null,
      b: { dtype: 'F32', shape: [3] },
      elements: 3,
      difference: null,
    });
  });

  it('tells which keys of side files differ', async () => {
    const model = llama();
    const config = {
      ...llamaConfig(),
      rope: { theta: 1, kind: { deep: { deeper: 1 } } },
      list: [1, 2],
      long: 'x'.repeat(300),
    };
    const files = { 'tokenizer.json': '{"a": 1, "b": 2}', 'merges.txt': 'a b', 'vocab.json': '{"x": 1}' };
    const models = write(
      { ...model, config, files: { ...files, 'tokenizer_config.json': '{}' } },
      {
        ...model,
        config: {
          ...config,
          num_hidden_layers: 9,
          rope: { theta: 2, kind: { deep: { deeper: 2 } } },
          list: [1, 3],
          long: 'y',
          added: null,
        },
        files: { ...files, 'tokenizer.json': '{"b":2,"a":1}', 'merges.txt': 'a c', LICENSE: 'free' },
      },
    );
    const { equal, sideFiles } = await diff(models.a, models.b);
    expect(equal).toBe(true);
    expect(sideFiles).toEqual([
      { name: 'LICENSE', state: 'onlyInB', keys: [] },
      {
        name: 'config.json',
        state: 'differs',
        keys: [
          { key: 'num_hidden_layers', a: '8', b: '9' },
          { key: 'rope.theta', a: '1', b: '2' },
          { key: 'rope.kind.deep', a: '{"deeper":1}', b: '{"deeper":2}' },
          { key: 'list', a: '[1,2]', b: '[1,3]' },
          { key: 'long', b: '"y"' },
          { key: 'added', a: null, b: 'null' },
        ],
      },
      { name: 'merges.txt', state: 'differs', keys: [] },
      { name: 'tokenizer.json', state: 'sameContent', keys: [] },
      { name: 'tokenizer_config.json', state: 'onlyInA', keys: [] },
      { name: 'vocab.json', state: 'equal', keys: [] },
    ]);
  });

  it('reports its progress in bytes of weights', async () => {
    const { task, language } = writePair();
    const reports: Progress[] = [];
    const { bytesRead } = await diff(task, language, { onProgress: (report) => reports.push(report) });
    expect(reports.at(-1)).toEqual({ phase: 'comparison', done: bytesRead, total: bytesRead });
  });

  it('stops when its signal is aborted', async () => {
    const root = temporaryDirectory();
    const [a, b] = [1, 2].map((seed) => writeLarge(join(root, `${seed}`), 2, 8, seed));
    const controller = new AbortController();
    const running = diff(a ?? '', b ?? '', { threads: 1, signal: controller.signal });
    controller.abort();
    await expect(running).rejects.toMatchObject({ code: 'INTERRUPTED' });
  });
});

describe('a comparison refuses', () => {
  it('a truncated file, and names it', async () => {
    const { task, language } = writePair();
    const file = join(language, 'model.safetensors');
    writeFileSync(file, readFileSync(file).subarray(0, -100));
    await expect(diff(task, language)).rejects.toThrow(file);
  });

  it("an adapter, a file of ONNX, and a directory of neither's weights", async () => {
    const { root, task } = writePair();
    mkdirSync(join(root, 'adapter'));
    writeFileSync(join(root, 'adapter/adapter_model.safetensors'), '');
    await expect(diff(task, join(root, 'adapter'))).rejects.toMatchObject({
      code: 'NOT_A_CHECKPOINT',
      message: expect.stringContaining('it is an adapter without its adapter_config.json'),
    });
    writeFileSync(join(root, 'adapter/adapter_config.json'), '{}');
    await expect(diff(task, join(root, 'adapter'))).rejects.toMatchObject({ code: 'ADAPTER_WITHOUT_BASE' });
    writeFileSync(join(root, 'model.onnx'), 'ONNX');
    await expect(diff(join(root, 'model.onnx'), task)).rejects.toMatchObject({ code: 'NOT_A_CHECKPOINT' });
    await expect(diff(root, task)).rejects.toMatchObject({ code: 'NOT_A_CHECKPOINT' });
  });

  it("Meta's names beside Hugging Face's", async () => {
    const models = ofTensors(
      { 'layers.0.attention.wq.weight': floats('BF16', [1]) },
      { 'model.layers.0.self_attn.q_proj.weight': floats('BF16', [1]) },
    );
    await expect(diff(models.a, models.b)).rejects.toMatchObject({ code: 'NAMING_MISMATCH' });
  });

  it('a pattern that names no tensor', async () => {
    const { task, language } = writePair();
    await expect(diff(task, language, { only: 'lm_head*' })).rejects.toMatchObject({
      code: 'INVALID_PARAMETER',
      details: { parameter: 'only', value: 'lm_head*' },
    });
  });

  it('a number of threads that is none, before it reads', async () => {
    const { task, language } = writePair();
    await expect(diff(task, language, { threads: 0 })).rejects.toMatchObject({ code: 'INVALID_PARAMETER' });
  });

  it('a file to write of an unknown kind, and one that is there', async () => {
    const { root, task, language } = writePair();
    await expect(diff(task, language, { out: join(root, 'x.pdf') })).rejects.toMatchObject({
      code: 'INVALID_PARAMETER',
    });
    const out = join(root, 'x.svg');
    writeFileSync(out, 'mine');
    await expect(diff(task, language, { out })).rejects.toMatchObject({
      code: 'OUTPUT_EXISTS',
      message: `${out} exists; choose another file, or \`force\` to replace it`,
    });
    await diff(task, language, { out, force: true });
    expect(readFileSync(out, 'utf8')).toMatch(/^<svg/);
  });
});
