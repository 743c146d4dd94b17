import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { relayout } from '../../src/index.js';
import { type AdapterFixture, writeAdapter } from '../fixtures/adapters.js';
import {
  fill,
  llama,
  type TensorFixture,
  temporaryDirectory,
  writeCheckpoint,
} from '../fixtures/checkpoints.js';
import { readTensors } from '../fixtures/merged.js';
import { decode } from '../fixtures/numbers.js';

const [convolution, embeddings] = ['model.vision.conv', 'model.embed_tokens'];
const [outputs, inputs, kernel] = [6, 4, 6];

type Numbers = readonly number[];
type Part = (name: string) => Numbers;

const numbersOf = ({ dtype, data }: TensorFixture): number[] => decode(dtype as 'F32', data);

const at = <T>(list: readonly T[], index: number): T => {
  const found = list[index];
  if (found === undefined) throw new Error(`there is no element ${index}`);
  return found;
};

const prefix = (module: string): string => `base_model.model.${module}.`;

const written = async (module: string, config: object, shapes: Readonly<Record<string, Numbers>>) => {
  const root = temporaryDirectory();
  const base = llama({ dtype: 'F32', layers: 1, seed: 5, tied: false });
  const weights = fill(
    { [`${convolution}.weight`]: [outputs, inputs, 3, 2], [`${convolution}.bias`]: [outputs] },
    'F32',
    6,
  );
  const tensors = { ...base.tensors, ...weights };
  const path = writeCheckpoint(join(root, 'base'), { ...base, tensors });
  const named = Object.fromEntries(
    Object.entries(shapes).map(([part, shape]) => [prefix(module) + part, shape]),
  );
  const adapter: AdapterFixture = {
    config: { ...config, target_modules: [module] },
    tensors: fill(named, 'F32', 9),
  };
  const model = `${path}+${writeAdapter(join(root, 'adapter'), adapter)}`;
  const { out } = await relayout({ model }, { out: join(root, 'out') });
  const part: Part = (name) => numbersOf(adapter.tensors[prefix(module) + name] as TensorFixture);
  return { tensors, part, found: await readTensors(out) };
};

/** Σ core[i, j, k] · a[i, p] · b[j, q] by [p][q][k]. */
const tucker = (part: Part, [core, a, b]: readonly [string, string, string], wide: number, high: number) => {
  const [t, left, right] = [part(core), part(a), part(b)];
  return (p: number, q: number, k: number): number => {
    let sum = 0;
    for (let i = 0; i < 2; i += 1)
      for (let j = 0; j < 2; j += 1)
        sum += at(t, (2 * i + j) * kernel + k) * at(left, i * high + p) * at(right, j * wide + q);
    return sum;
  };
};

/** Multiplies blocks of four columns by I + 2Q + 2Q² + 2Q³ + Q⁴, transposed if asked. */
const rotated = (weight: Numbers, upper: Numbers, columns: number, transposed: boolean): number[] => {
  const square = (of: (i: number, j: number) => number) =>
    Array.from({ length: 4 }, (_, i) => Array.from({ length: 4 }, (_, j) => of(i, j)));
  const blocks = Array.from({ length: upper.length / 6 }, (_, block) => {
    const above = (i: number, j: number) => at(upper, 6 * block + at([0, 3, 5], i) + j - i - 1);
    const q = square((i, j) => (i === j ? 0 : i < j ? above(i, j) : -above(j, i)));
    const times = (a: number[][]) =>
      square((i, j) => [0, 1, 2, 3].reduce((sum, k) => sum + at(at(a, i), k) * at(at(q, k), j), 0));
    const second = times(q);
    const third = times(second);
    const fourth = times(third);
    const powers = [q, q, second, second, third, third, fourth];
    return square((i, j) => powers.reduce((sum, power) => sum + at(at(power, i), j), Number(i === j)));
  });
  return weight.map((_, index) => {
    const [row, column] = [Math.floor(index / columns), index % columns];
    const [block, within] = [Math.floor(column / 4), column % 4];
    return [0, 1, 2, 3].reduce((sum, k) => {
      const rotation = at(blocks, block);
      const by = transposed ? at(at(rotation, within), k) : at(at(rotation, k), within);
      return sum + at(weight, row * columns + 4 * block + k) * by;
    }, 0);
  });
};

const places = (index: number) =>
  [Math.floor(index / (inputs * kernel)), Math.floor(index / kernel) % inputs, index % kernel] as const;

const loha = { hada_w1_a: [2, outputs], hada_w1_b: [2, inputs], hada_t1: [2, 2, 3, 2] };
const twice = { ...loha, hada_w2_a: [2, outputs], hada_w2_b: [2, inputs], hada_t2: [2, 2, 3, 2] };
const lokr = { lokr_w1: [2, 2], lokr_w2_a: [2, 3], lokr_w2_b: [2, 2], lokr_t2: [2, 2, 3, 2] };
const ia3 = (feedforward_modules: unknown) => ({ peft_type: 'IA3', feedforward_modules });
const oft = { peft_type: 'OFT', oft_block_size: 4 };

describe('an adapter of a convolution or of embeddings', () => {
  it.each<[string, string, object, Record<string, Numbers>, (weight: Numbers, part: Part) => Numbers]>([
    [
      'LoHa with use_effective_conv2d',
      convolution,
      { peft_type: 'LOHA', r: 2, alpha: 3 },
      twice,
      (weight, part) => {
        const [one, other] = [1, 2].map((n) =>
          tucker(part, [`hada_t${n}`, `hada_w${n}_a`, `hada_w${n}_b`], inputs, outputs),
        ) as [ReturnType<typeof tucker>, ReturnType<typeof tucker>];
        return weight.map((number, index) => number + 1.5 * one(...places(index)) * other(...places(index)));
      },
    ],
    [
      'LoKr with use_effective_conv2d',
      convolution,
      { peft_type: 'LOKR', r: 2, alpha: 3 },
      lokr,
      (weight, part) => {
        const inner = tucker(part, ['lokr_t2', 'lokr_w2_a', 'lokr_w2_b'], 2, 3);
        return weight.map((number, index) => {
          const [p, q, k] = places(index);
          const outer = at(part('lokr_w1'), 2 * Math.floor(p / 3) + Math.floor(q / 2));
          return number + 1.5 * outer * inner(p % 3, q % 2, k);
        });
      },
    ],
    [
      'IA3 of outputs',
      convolution,
      ia3(['down_proj']),
      { ia3_l: [1, outputs, 1, 1] },
      (weight, part) => weight.map((number, index) => number * at(part('ia3_l'), places(index)[0])),
    ],
    [
      'IA3 of inputs',
      convolution,
      ia3(['vision.conv']),
      { ia3_l: [1, inputs, 1, 1] },
      (weight, part) => weight.map((number, index) => number * at(part('ia3_l'), places(index)[1])),
    ],
    [
      'OFT',
      convolution,
      oft,
      { 'oft_R.weight': [6, 6] },
      (weight, part) => rotated(weight, part('oft_R.weight'), inputs * kernel, true),
    ],
    [
      'OFT of embeddings',
      embeddings,
      oft,
      { 'oft_embedding_R.weight': [4, 6] },
      (weight, part) => rotated(weight, part('oft_embedding_R.weight'), 16, false),
    ],
  ])('is what PEFT merges: %s', async (name, module, config, shapes, expected) => {
    const { tensors, part, found } = await written(module, config, shapes);
    const weight = numbersOf(tensors[`${module}.weight`] as TensorFixture);
    const [own, wanted] = [numbersOf(found[`${module}.weight`] as TensorFixture), expected(weight, part)];
    expect(own.some((number, index) => number !== weight[index])).toBe(true);
    const largest = Math.max(...wanted.map(Math.abs));
    for (const [index, number] of wanted.entries())
      expect([index, Math.abs(at(own, index) - number) <= 5e-7 * largest]).toEqual([index, true]);
    const bias = numbersOf(tensors[`${convolution}.bias`] as TensorFixture);
    const scales = name === 'IA3 of outputs' ? part('ia3_l') : bias.map(() => 1);
    expect(numbersOf(found[`${convolution}.bias`] as TensorFixture)).toEqual(
      bias.map((number, index) => Math.fround(number * at(scales, index))),
    );
  });

  it.each<[object, Record<string, Numbers>, string, RegExp]>([
    [
      { peft_type: 'LOHA', r: 2 },
      { ...twice, hada_t2: [2, 2, 2, 3] },
      'MISMATCH',
      /hada_t2 and its factors do not fit/,
    ],
    [
      { peft_type: 'LOHA', r: 2 },
      { ...twice, hada_w1_b: [2, 5] },
      'MISMATCH',
      /hada_t1 and its factors do not fit/,
    ],
    [{ peft_type: 'LOHA', r: 2 }, { ...twice, ...{ hada_t2: [3, 2, 3, 2] } }, 'MISMATCH', /do not fit/],
    [
      { peft_type: 'LOKR', r: 2 },
      { ...lokr, lokr_t2: [2, 2, 6, 1] },
      'MISMATCH',
      /lokr_t2 and its factors do not fit/,
    ],
    [{ peft_type: 'LOKR', r: 2 }, { ...lokr, lokr_w1: [2, 3] }, 'MISMATCH', /Kronecker product is \[6, 36\]/],
    [{ peft_type: 'LOKR', r: 2 }, { ...lokr, lokr_w2: [3, 2, 3, 2] }, 'INVALID', /only one of them may/],
    [ia3('.*conv'), { ia3_l: [1, inputs, 1, 1] }, 'UNSUPPORTED', /only if feedforward_modules is a list/],
    [ia3(['vision.conv']), { ia3_l: [1, outputs, 1, 1] }, 'MISMATCH', /ia3_l is \[1, 6, 1, 1\]/],
    [ia3([]), { ia3_l: [outputs, 1] }, 'UNSUPPORTED', /scales a parameter of 4 dimensions/],
    [oft, { 'oft_R.weight': [5, 6] }, 'MISMATCH', /5 blocks of 4 inputs/],
  ])('is refused where it does not fit: %j %j', async (config, shapes, code, message) => {
    await expect(written(convolution, config, shapes)).rejects.toMatchObject({
      code: `ADAPTER_${code}`,
      message: expect.stringMatching(message),
    });
  });
});
