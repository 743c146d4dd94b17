import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inflateSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { merge } from '../../src/index.js';
import { type Tensors, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { readTensors } from '../fixtures/merged.js';
import { encode } from '../fixtures/numbers.js';
import { withModels } from '../fixtures/recipes.js';

// Merges by mergekit, made by test/peers/parity/make_goldens.py from inputs that are rebuilt here by its
// formula.

interface Golden {
  readonly name: string;
  readonly recipe: Record<string, unknown>;
  readonly layers: number;
  readonly bf16: string;
  /** Positions that a threshold leaves undecided: ties with the last kept value. */
  readonly undecided?: string;
  /**
   * Elements that differ from the base in each tensor, if the method keeps an exact number of an expert's.
   */
  readonly changed?: Readonly<Record<string, number>>;
}

const { mergekit, shapes, config, goldens } = JSON.parse(
  readFileSync(new URL('goldens.json', import.meta.url), 'utf8'),
) as {
  mergekit: string;
  shapes: Record<string, number[]>;
  config: Record<string, unknown>;
  goldens: Golden[];
};

const hash = (seed: number): number => {
  let x = seed >>> 0;
  x = Math.imul(x ^ (x >>> 16), 0x7feb352d);
  x = Math.imul(x ^ (x >>> 15), 0x846ca68b);
  return (x ^ (x >>> 16)) >>> 0;
};

const draw = (model: number, tensor: number, element: number, salt: number): number =>
  hash(element + Math.imul(4096, hash(tensor + Math.imul(64, hash(model + 8 * salt)))));

const tensorsOf = (model: number): Tensors =>
  Object.fromEntries(
    Object.entries(shapes).map(([name, shape], tensor) => {
      const norm = shape.length === 1;
      const unit = norm ? 7 : name.includes('.layers.1.') ? 16 : 11;
      const span = norm ? 7 : 81;
      const number = (element: number): number => {
        const base = draw(0, tensor, element, 0);
        const value = norm ? 160 + (base % 64) : (base % 401) - 200;
        const changes = model > 0 && draw(model, tensor, element, 1) % 10 >= 3;
        return (
          (value + (changes ? (draw(model, tensor, element, 2) % span) - (span - 1) / 2 : 0)) * 2 ** -unit
        );
      };
      const count = shape.reduce((product, extent) => product * extent, 1);
      return [
        name,
        {
          dtype: 'BF16',
          shape,
          data: encode(
            'BF16',
            Array.from({ length: count }, (_, element) => number(element)),
          ),
        },
      ];
    }),
  );

const inputs = { base: tensorsOf(0), a: tensorsOf(1), b: tensorsOf(2), c: tensorsOf(3) };

const unpack = (text: string): Buffer => inflateSync(Buffer.from(text, 'base64'));

const bitsOf = (data: Uint8Array): number[] => {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  return Array.from({ length: data.length / 2 }, (_, i) => view.getUint16(2 * i, true));
};

/** Neighbouring bfloat16 numbers differ by one; both zeros are 0. */
const step = (bits: number): number => (bits & 0x8000 ? -(bits & 0x7fff) : bits);

const numberOf = (bits: number): number => new Float32Array(Uint32Array.of(bits << 16).buffer)[0] ?? 0;

/** If terms nearly cancel, each term's rounding remains: here float32's, for the module's largest input. */
const cancelled = (name: string): number => {
  const module = name.replace(/layers\.\d+/, 'layers.*');
  const magnitudes = Object.values(inputs).flatMap((tensors) =>
    Object.entries(tensors)
      .filter(([other]) => other.replace(/layers\.\d+/, 'layers.*') === module)
      .flatMap(([, { data }]) => bitsOf(data).map((bits) => Math.abs(numberOf(bits)))),
  );
  return magnitudes.reduce((most, magnitude) => Math.max(most, magnitude), 0) * 2 ** -22;
};

const expected = ({
  bf16,
  layers,
  undecided,
}: Golden): Record<string, { bits: number[]; open: boolean[] }> => {
  const names = Object.keys(shapes).filter((name) => !name.includes('.layers.'));
  const ofLayer = Object.keys(shapes).filter((name) => name.includes('.layers.0.'));
  for (let layer = 0; layer < layers; layer += 1)
    names.push(...ofLayer.map((name) => name.replace('.layers.0.', `.layers.${layer}.`)));
  const packed = unpack(bf16);
  const marks = undecided === undefined ? undefined : unpack(undecided);
  let position = 0;
  return Object.fromEntries(
    names.sort().map((name) => {
      const base = inputs.base[name];
      const shape = shapes[name.replace(/layers\.\d+/, 'layers.0')] ?? [];
      const count = shape.reduce((product, extent) => product * extent, 1);
      const baseBits = base === undefined ? [] : bitsOf(base.data);
      const from = position;
      position += count;
      const at = (i: number) => (packed[i] ?? 0) + 256 * (packed[i + packed.length / 2] ?? 0);
      const marked = (i: number) => ((marks?.[i >> 3] ?? 0) >> (i & 7)) % 2 === 1;
      return [
        name,
        {
          bits: Array.from({ length: count }, (_, i) => (at(from + i) + (baseBits[i] ?? 0)) & 0xffff),
          open: Array.from({ length: count }, (_, i) => marked(from + i)),
        },
      ];
    }),
  );
};

describe(`merges as mergekit ${mergekit} makes them`, () => {
  it.each(goldens.map((golden) => [golden.name, golden] as const))('%s', async (_, golden) => {
    const root = temporaryDirectory();
    const models = Object.fromEntries(
      Object.entries(inputs).map(([name, tensors]) => [
        name,
        writeCheckpoint(join(root, name), { tensors, config }),
      ]),
    );
    const recipe = join(root, 'recipe.yaml');
    writeFileSync(recipe, stringify(withModels(golden.recipe, models)));
    await merge(recipe, { out: join(root, 'out') });

    const merged = await readTensors(join(root, 'out'));
    const wanted = expected(golden);
    expect(Object.keys(merged).sort()).toEqual(Object.keys(wanted));
    const wrong = Object.entries(wanted).flatMap(([name, { bits, open }]) => {
      expect(merged[name]?.dtype).toBe('BF16');
      const rounding = cancelled(name);
      return bitsOf(merged[name]?.data ?? new Uint8Array()).flatMap((got, i) => {
        const distance = Math.abs(step(got) - step(bits[i] ?? 0));
        const isRounding = Math.abs(numberOf(got) - numberOf(bits[i] ?? 0)) <= rounding;
        return distance > 1 && !open[i] && !isRounding ? [`${name}[${i}] is ${distance} units away`] : [];
      });
    });
    expect(wrong).toEqual([]);

    for (const [name, count] of Object.entries(golden.changed ?? {})) {
      const base = bitsOf(inputs.base[name]?.data ?? new Uint8Array());
      const unlike = bitsOf(merged[name]?.data ?? new Uint8Array()).filter((bits, i) => bits !== base[i]);
      expect([name, unlike.length]).toEqual([name, count]);
    }
  });
});
