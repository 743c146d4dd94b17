import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { diff, relayout, soup, verify } from '../../src/index.js';
import { lora, writeAdapter } from '../fixtures/adapters.js';
import { llama, type Tensors, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { decode, encode } from '../fixtures/numbers.js';

// Anybody's merge against what a recipe gives, and the kind of each fault.

const options = { hidden: 32, layers: 4, dtype: 'F32', tied: false } as const;

const numbersOf = (tensors: Tensors, name: string): number[] =>
  decode('F32', tensors[name]?.data ?? new Uint8Array());

/** A sum of models' tensors, computed here. */
const sumOf = (terms: readonly (readonly [weight: number, tensors: Tensors])[]): Tensors =>
  Object.fromEntries(
    Object.entries(terms[0]?.[1] ?? {}).map(([name, { shape }]) => {
      const values = terms.map(([weight, tensors]) =>
        numbersOf(tensors, name).map((value) => value * weight),
      );
      const sum = values[0]?.map((_, at) => values.reduce((total, one) => total + (one[at] ?? 0), 0)) ?? [];
      return [name, { dtype: 'F32', shape, data: encode('F32', sum) }];
    }),
  );

const models = () => {
  const root = temporaryDirectory();
  const [base, a, b] = [1, 2, 3].map((seed) => llama({ ...options, seed }));
  if (base === undefined || a === undefined || b === undefined) throw new Error('no models');
  for (const [name, model] of Object.entries({ base, a, b })) writeCheckpoint(join(root, name), model);
  const recipe = join(root, 'recipe.yml');
  const line = (name: string, weight: number) =>
    `  - {model: ${join(root, name)}, parameters: {weight: ${weight}}}\n`;
  writeFileSync(recipe, `merge_method: linear\nmodels:\n${line('a', 0.7)}${line('b', 0.3)}dtype: float32\n`);
  const write = (tensors: Tensors): string => writeCheckpoint(join(root, 'out'), { ...a, tensors });
  return { root, recipe, a: a.tensors, b: b.tensors, base: base.tensors, write, config: a.config };
};

const kindOf = async (out: string, against: string) => {
  const { verdict, fault } = await verify(out, { against });
  return [verdict, fault?.kind];
};

describe('a weighted sum by another program', () => {
  it('is rounded where float32 sums differ by units, and intact in any layout where they do not', async () => {
    const { root, recipe, a, b, write } = models();
    const { verdict, tensors } = await verify(
      write(
        sumOf([
          [0.7, a],
          [0.3, b],
        ]),
      ),
      { against: recipe },
    );
    expect(['intact', 'rounded']).toContain(verdict);
    expect(tensors.every(({ state }) => state === 'equal' || state === 'rounding')).toBe(true);
    const again = join(root, 'again');
    await soup(
      { models: [join(root, 'a'), join(root, 'b')], weights: [0.7, 0.3], dtype: 'float32' },
      { out: again },
    );
    const relaid = join(root, 'relaid');
    await relayout({ model: again }, { out: relaid, layout: 'size' });
    expect(await kindOf(relaid, again)).toEqual(['intact', undefined]);
  });

  it('is different with its weights solved, and named by how they differ', async () => {
    const { recipe, a, b, write } = models();
    const weights: [number, number, string][] = [
      [0.3, 0.7, 'weights_exchanged'],
      [0.5, 0.5, 'weights_ignored'],
      [1.4, 0.6, 'not_normalised'],
      [0.6, 0.4, 'wrong_weights'],
      [1, 0, 'input_returned'],
    ];
    for (const [first, second, kind] of weights)
      expect(
        await kindOf(
          write(
            sumOf([
              [first, a],
              [second, b],
            ]),
          ),
          recipe,
        ),
      ).toEqual(['different', kind]);
    const { fault } = await verify(
      write(
        sumOf([
          [0.6, a],
          [0.4, b],
        ]),
      ),
      { against: recipe },
    );
    expect(fault?.figures['weights']).toBe('0.6 a + 0.4 b');
  });

  it('is named by tensors that are damaged, moved or not finite', async () => {
    const { recipe, a, b, write } = models();
    const right = sumOf([
      [0.7, a],
      [0.3, b],
    ]);
    const changed = (name: string, change: (values: number[]) => number[]): Tensors => {
      const tensor = right[name];
      if (tensor === undefined) throw new Error(`no ${name}`);
      return { ...right, [name]: { ...tensor, data: encode('F32', change(numbersOf(right, name))) } };
    };
    const name = 'model.layers.1.mlp.gate_proj.weight';
    const cases: [Tensors, string][] = [
      [changed(name, (values) => values.map(() => 0)), 'zeros'],
      [changed(name, (values) => values.map((value, at) => (at === 7 ? Number.NaN : value))), 'not_finite'],
      [changed(name, (values) => values.map((value, at) => (at === 7 ? value + 1 : value))), 'few_elements'],
      [changed(name, (values) => values.map((value) => -value)), 'negated'],
      [changed(name, (values) => [...values.slice(640), ...values.slice(0, 640)]), 'halves_exchanged'],
      [
        Object.fromEntries(Object.entries(right).filter(([one]) => !one.includes('layers.3.'))),
        'layers_missing',
      ],
      [Object.fromEntries(Object.entries(right).filter(([one]) => one !== name)), 'tensors_missing'],
    ];
    for (const [tensors, kind] of cases)
      expect(await kindOf(write(tensors), recipe)).toEqual(['different', kind]);
  });

  it('is different with its experts on another base', async () => {
    const { root, base, a, b, write } = models();
    const other = llama({ ...options, seed: 9 }).tensors;
    const recipe = join(root, 'arithmetic.yaml');
    writeFileSync(recipe, 'method: task_arithmetic\nbase: ./base\nmodels: [./a, ./b]\nweights: [0.7, 0.6]\n');
    const on = (tensors: Tensors): Tensors =>
      sumOf([
        [1, tensors],
        [0.7, a],
        [0.6, b],
        [-1.3, base],
      ]);
    expect((await verify(write(on(base)), { against: recipe })).verdict).toBe('rounded');
    expect((await kindOf(write(on(other)), recipe))[1]).toBe('another_base');
  });

  it('is not this if most tensors have nothing in common with the expected ones', async () => {
    const { recipe, write } = models();
    const { tensors } = llama({ ...options, seed: 9 });
    expect((await kindOf(write(tensors), recipe))[0]).toBe('not_this');
  });
});

describe('an adapter', () => {
  const adapted = () => {
    const made = models();
    const adapter = writeAdapter(
      join(made.root, 'adapter'),
      lora({
        shapes: Object.fromEntries(Object.entries(made.base).map(([name, { shape }]) => [name, [...shape]])),
        rank: 3,
        alpha: 4,
        config: { base_model_name_or_path: join(made.root, 'base') },
      }),
    );
    return { ...made, adapter, against: `${join(made.root, 'base')}+${adapter}` };
  };

  it('is found merged, not applied, applied twice, by its folder too', async () => {
    const { root, adapter, against, base, write } = adapted();
    const merged = join(root, 'merged');
    await relayout({ model: against }, { out: merged });
    expect(await kindOf(merged, adapter)).toEqual(['intact', undefined]);
    expect(await kindOf(write(base), against)).toEqual(['different', 'adapter_not_applied']);
    const file = join(root, 'flat');
    await relayout({ model: against }, { out: file, layout: 'size' });
    const whole = await readTensors(file);
    expect(
      await kindOf(
        write(
          sumOf([
            [2, whole],
            [-1, base],
          ]),
        ),
        against,
      ),
    ).toEqual(['different', 'adapter_twice']);
    expect(
      await kindOf(
        write(
          sumOf([
            [0.75, whole],
            [0.25, base],
          ]),
        ),
        against,
      ),
    ).toEqual(['different', 'alpha_ignored']);
    expect(
      await kindOf(
        write(
          sumOf([
            [-1, whole],
            [2, base],
          ]),
        ),
        against,
      ),
    ).toEqual(['different', 'adapter_subtracted']);
  });
});

describe('a large tensor', () => {
  it('is read wherever it differs', async () => {
    const root = temporaryDirectory();
    const [rows, columns] = [700, 300];
    const write = (name: string, change: (at: number) => number): string =>
      writeCheckpoint(join(root, name), {
        tensors: {
          'model.layers.0.mlp.up_proj.weight': {
            dtype: 'F32',
            shape: [rows, columns],
            data: encode(
              'F32',
              Array.from({ length: rows * columns }, (_, at) => change(at)),
            ),
          },
        },
        config: llama(options).config,
      });
    const valueAt = (at: number) => Math.fround(Math.sin(at));
    const a = write('a', valueAt);
    const far = write('far', (at) => (at > rows * columns - 1000 ? 0 : valueAt(at)));
    expect((await kindOf(far, a))[0]).toBe('different');
    const last = write('last', (at) => (at === 150_007 ? 3 : valueAt(at)));
    expect(await kindOf(last, a)).toEqual(['different', 'few_elements']);
    const units = write('units', (at) => valueAt(at) * (1 + 2 ** -23));
    expect((await kindOf(units, a))[0]).toBe('rounded');
  });
});

describe('what cannot be compared', () => {
  it('is an error, never a verdict', async () => {
    const { root, recipe, write, a } = models();
    const out = write(a);
    rmSync(join(root, 'b'), { recursive: true });
    await expect(verify(out, { against: recipe })).rejects.toMatchObject({ code: 'MODEL_NOT_FOUND' });
    const card = join(root, 'README.md');
    writeFileSync(card, '# A merge\n');
    await expect(verify(out, { against: card })).rejects.toMatchObject({ code: 'RECIPE_INVALID' });
    await expect(verify(out, { against: '' })).rejects.toMatchObject({ code: 'INVALID_PARAMETER' });
    await expect(verify(out, { against: recipe, sample: 2 })).rejects.toMatchObject({
      code: 'INVALID_PARAMETER',
    });
  });

  it('leaves side files out of diff with weightsOnly', async () => {
    const { root } = models();
    writeFileSync(join(root, 'a', 'tokenizer_config.json'), '{}');
    const found = await diff(join(root, 'a'), join(root, 'b'), { weightsOnly: true });
    expect(found.sideFiles).toEqual([]);
  });
});

/** The tensors of a single safetensors file. */
const readTensors = async (directory: string): Promise<Tensors> => {
  const bytes = readFileSync(join(directory, 'model.safetensors'));
  const length = Number(bytes.readBigUInt64LE(0));
  const header = JSON.parse(bytes.subarray(8, 8 + length).toString()) as Record<
    string,
    { dtype: string; shape: number[]; data_offsets: [number, number] }
  >;
  return Object.fromEntries(
    Object.entries(header).flatMap(([name, { dtype, shape, data_offsets: offsets }]) =>
      name === '__metadata__'
        ? []
        : [[name, { dtype, shape, data: bytes.subarray(8 + length + offsets[0], 8 + length + offsets[1]) }]],
    ),
  );
};
