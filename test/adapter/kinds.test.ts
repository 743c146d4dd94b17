import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { relayout, soup } from '../../src/index.js';
import { kindsOfAdapters } from '../fixtures/adapter-kinds.js';
import { type AdapterFixture, withTensors, writeAdapter } from '../fixtures/adapters.js';
import {
  fill,
  type LlamaOptions,
  llama,
  type TensorFixture,
  type Tensors,
  temporaryDirectory,
  writeCheckpoint,
} from '../fixtures/checkpoints.js';
import { hashOf } from '../fixtures/contents.js';
import { readTensors } from '../fixtures/merged.js';
import { decode, type Floating } from '../fixtures/numbers.js';

const layers = 1;

const write = (root: string, adapter: AdapterFixture, options: LlamaOptions = {}) => {
  const base = llama({ dtype: 'F32', layers, seed: 5, ...options });
  const path = writeCheckpoint(join(root, 'base'), base);
  return { tensors: base.tensors, model: `${path}+${writeAdapter(join(root, 'adapter'), adapter)}` };
};

const merged = async (adapter: AdapterFixture, options?: LlamaOptions) => {
  const root = temporaryDirectory();
  const { tensors, model } = write(root, adapter, options);
  const { out } = await relayout({ model }, { out: join(root, 'out') });
  return { tensors, found: await readTensors(out) };
};

const numbersOf = ({ dtype, data }: TensorFixture): number[] => decode(dtype as Floating, data);

const expectTensors = (
  found: Tensors,
  base: Tensors,
  expected: ReadonlyMap<string, readonly number[]>,
): void => {
  expect(Object.keys(found).sort()).toEqual(Object.keys(base).sort());
  for (const [name, tensor] of Object.entries(base)) {
    const wanted = expected.get(name) ?? numbersOf(tensor);
    const own = numbersOf(found[name] as TensorFixture);
    const largest = Math.max(...wanted.map(Math.abs));
    const error = Math.max(...own.map((number, index) => Math.abs(number - (wanted[index] ?? Number.NaN))));
    expect([name, error <= 5e-7 * largest]).toEqual([name, true]);
  }
};

describe('BASE+ADAPTER of another kind than LoRA', () => {
  it.each(kindsOfAdapters)('is what PEFT documents: $name', async ({ adapter, expected }) => {
    const { tensors, found } = await merged(adapter);
    const wanted = expected(tensors);
    expect(wanted.size).toBeGreaterThan(0);
    expectTensors(found, tensors, wanted);
  });

  it.each(kindsOfAdapters)('lacks no tensor without an error: $name', async ({ adapter, required }) => {
    const moduleOf = (name: string) => /^(.+)\.\w+(\.weight)?$/.exec(name)?.[1];
    const isMissed = (name: string) =>
      name.includes('tokens') || required.filter((one) => moduleOf(one) === moduleOf(name)).length > 1;
    for (const name of required.filter(isMissed)) {
      const root = temporaryDirectory();
      const { model } = write(root, withTensors(adapter, { [name]: undefined }));
      await expect(relayout({ model }, { out: join(root, 'out') })).rejects.toMatchObject({
        code: expect.stringMatching(/^(ADAPTER_INVALID|NOT_A_CHECKPOINT)$/),
      });
    }
  });

  it.each(kindsOfAdapters)('has no tensor of another shape: $name', async ({ adapter, required }) => {
    for (const name of required)
      for (const wrong of shapesBeside(adapter.tensors[name]?.shape ?? [])) {
        const root = temporaryDirectory();
        const tensor = fill({ it: wrong }, 'F32', 2)['it'];
        const { model } = write(root, withTensors(adapter, { [name]: tensor }));
        const refused = relayout({ model }, { out: join(root, 'out') });
        await expect(refused, `${name} ${wrong.join()}`).rejects.toMatchObject({
          code: expect.stringMatching(/^ADAPTER_(INVALID|MISMATCH)$/),
        });
      }
  });

  it.each(kindsOfAdapters)('has no key that is unknown: $name', async ({ adapter }) => {
    const root = temporaryDirectory();
    const config = { ...adapter.config, a_key_of_tomorrow: 2 };
    const { model } = write(root, { ...adapter, config });
    await expect(relayout({ model }, { out: join(root, 'out') })).rejects.toMatchObject({
      code: 'ADAPTER_UNSUPPORTED',
      message: expect.stringContaining('a_key_of_tomorrow'),
    });
  });

  it.each([
    ['VeRA', { save_projection: false }, /save_projection/],
    ['OFT by a series', { oft_block_size: null }, /before 0\.15/],
    ['BOFT', { boft_block_size: 'x' }, /boft_block_size/],
    ['LoHa', { r: 0 }, /r:/],
    ['AdaLoRA', { init_r: 2 }, /above init_r 2/],
    ['HRA', { r: 2 }, /r 2/],
    ['trainable tokens', { token_indices: [7, 7, 1, 2] }, /several rows for one token/],
    ['trainable tokens', { token_indices: [7, 24, 1, 2] }, /up to token 24/],
    ['trainable tokens', { token_indices: [-1, 2, 1, 0] }, /token_indices/],
    ['tokens beside LoRA', { trainable_token_indices: { wte: [1, 2] } }, /names no tokens/],
  ])('%s is refused with %j', async (kind, config, message) => {
    const adapter = kindsOfAdapters.find(({ name }) => name === kind)?.adapter;
    if (adapter === undefined) throw new Error(`there is no ${kind}`);
    const root = temporaryDirectory();
    const { model } = write(root, { ...adapter, config: { ...adapter.config, ...config } });
    await expect(relayout({ model }, { out: join(root, 'out') })).rejects.toMatchObject({
      code: expect.stringMatching(/^ADAPTER_/),
      message: expect.stringMatching(message),
    });
  });

  it.each([
    ['LoHa', { hada_t1: [2, 3, 1, 1], hada_t2: [2, 3, 1, 1] }, /hada_t1 and its factors do not fit/],
    ['LoKr with a whole and a divided factor', { lokr_t2: [2, 2, 1, 1] }, /lokr_t2 and its factors do not/],
  ])('%s is refused over a linear layer with %j', async (kind, cores, message) => {
    const adapter = kindsOfAdapters.find(({ name }) => name === kind)?.adapter;
    if (adapter === undefined) throw new Error(`there is no ${kind}`);
    const module = 'base_model.model.model.layers.0.self_attn.q_proj';
    const added = Object.entries(cores).map(([part, shape]) => [`${module}.${part}`, shape] as const);
    const root = temporaryDirectory();
    const { model } = write(root, withTensors(adapter, fill(Object.fromEntries(added), 'F32', 3)));
    await expect(relayout({ model }, { out: join(root, 'out') })).rejects.toMatchObject({
      code: 'ADAPTER_MISMATCH',
      message: expect.stringMatching(message),
    });
  });

  it.each(['model.embed_tokens', 'lm_head'])(
    'unties the head from embeddings if it replaces %s',
    async (module) => {
      const name = `base_model.model.${module}.ln_tuning_layers.weight`;
      const given = fill({ [name]: [24, 16] }, 'F32', 9)[name];
      const { tensors, found } = await merged(
        {
          config: { peft_type: 'LN_TUNING', target_modules: [module] },
          // PEFT saves the weights below too.
          tensors: {
            [name]: given as TensorFixture,
            ...fill({ [`base_model.model.${module}.base_layer.weight`]: [24, 16] }, 'F32', 8),
          },
        },
        { tied: true },
      );
      const embeddings = tensors['model.embed_tokens.weight'];
      for (const own of ['model.embed_tokens', 'lm_head'])
        expect(numbersOf(found[`${own}.weight`] as TensorFixture)).toEqual(
          numbersOf((own === module ? given : embeddings) as TensorFixture),
        );
    },
  );

  it('merges no adapters alone, whose sum is no adapter', async () => {
    for (const { adapter } of kindsOfAdapters) {
      const root = temporaryDirectory();
      const [a = '', b = ''] = ['a', 'b'].map((name) => writeAdapter(join(root, name), adapter));
      await expect(soup({ models: [a, b] }, { out: join(root, 'out') })).rejects.toMatchObject({
        code: 'ADAPTER_UNSUPPORTED',
        message: expect.stringContaining('BASE+ADAPTER'),
      });
    }
  });

  it('has the same bits in a soup and written out', async () => {
    for (const { adapter } of kindsOfAdapters) {
      const root = temporaryDirectory();
      const { model } = write(root, adapter, { dtype: 'BF16' });
      const [base = ''] = model.split('+');
      const { out: full } = await relayout({ model }, { out: join(root, 'full') });
      const one = await soup({ models: [model, base] }, { out: join(root, 'one') });
      const other = await soup({ models: [full, base] }, { out: join(root, 'other') });
      expect(hashOf(one.out)).toBe(hashOf(other.out));
    }
  });

  it.each(kindsOfAdapters.filter(({ isCopied }) => !isCopied))(
    'is refused with NaN among its numbers: $name',
    async ({ adapter, required }) => {
      for (const name of required) {
        const { shape } = adapter.tensors[name] as TensorFixture;
        const data = new Uint8Array(shape.reduce((product, extent) => product * extent, 4));
        new DataView(data.buffer).setFloat32(0, Number.NaN, true);
        const root = temporaryDirectory();
        const { model } = write(root, withTensors(adapter, { [name]: { dtype: 'F32', shape, data } }));
        await expect(relayout({ model }, { out: join(root, 'out') })).rejects.toMatchObject({
          code: 'NON_FINITE',
        });
      }
    },
  );

  // A shared rotation fits each number of inputs that its size divides.
  it.each(kindsOfAdapters.filter(({ name }) => !name.includes('shared')))(
    'is refused over a tensor that it does not fit: $name',
    async ({ adapter }) => {
      const root = temporaryDirectory();
      const { model } = write(root, adapter, { hidden: 32 });
      await expect(relayout({ model }, { out: join(root, 'out') })).rejects.toMatchObject({
        code: expect.stringMatching(/^ADAPTER_(INVALID|MISMATCH)$/),
      });
    },
  );
});

/** Shapes that are wrong by one, by an axis, or by a dimension. */
const shapesBeside = (shape: readonly number[]): number[][] => [
  ...shape.map((_, axis) => shape.map((extent, at) => (at === axis ? extent + 1 : extent))),
  [...shape, 2],
  [shape.reduce((product, extent) => product * extent, 1) + 1],
];
