import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { verify } from '../../src/index.js';
import { llama, type Tensors, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { decode, encode, type Floating, generator } from '../fixtures/numbers.js';

// A wrong merge whose differences are near one rounding is never taken for a rounded one.

const name = 'model.layers.1.mlp.gate_proj.weight';

const numbersOf = (tensors: Tensors, of: string): number[] =>
  decode((tensors[of]?.dtype ?? 'BF16') as Floating, tensors[of]?.data ?? new Uint8Array());

const mapped = (
  tensors: Tensors,
  change: (values: number[], of: string) => number[],
  dtype: Floating = 'BF16',
) =>
  Object.fromEntries(
    Object.entries(tensors).map(([of, { shape }]) => [
      of,
      { dtype, shape, data: encode(dtype, change(numbersOf(tensors, of), of)) },
    ]),
  );

const models = (change = 0.3, dtype: Floating = 'BF16', hidden = 64) => {
  const root = temporaryDirectory();
  const made = llama({ hidden, layers: 2, dtype, tied: false, seed: 1 });
  const draw = generator(5);
  const expert = (): Tensors =>
    mapped(made.tensors, (values) => values.map((value) => value * (1 + change * (draw() - 0.5))), dtype);
  const [a, b] = [expert(), expert()];
  for (const [model, tensors] of Object.entries({ a, b }))
    writeCheckpoint(join(root, model), { ...made, tensors });
  const recipe = join(root, 'recipe.yml');
  const line = (model: string) => `  - {model: ${join(root, model)}, parameters: {weight: 0.5}}\n`;
  writeFileSync(
    recipe,
    `merge_method: linear\nmodels:\n${line('a')}${line('b')}dtype: ${dtype === 'F32' ? 'float32' : 'bfloat16'}\n`,
  );
  const mix = (weight: number, dtype?: Floating): Tensors =>
    mapped(
      a,
      (values, of) => {
        const other = numbersOf(b, of);
        return values.map((value, at) => weight * value + (1 - weight) * (other[at] ?? 0));
      },
      dtype,
    );
  const write = (tensors: Tensors): string => writeCheckpoint(join(root, 'out'), { ...made, tensors });
  return { root, recipe, a, b, made, mix, write };
};

describe('a merge in bfloat16', () => {
  it('is rounded in a finer dtype, and different with weights 0.51 and 0.49', async () => {
    const { recipe, mix, write } = models();
    expect((await verify(write(mix(0.5)), { against: recipe })).verdict).toBe('intact');
    for (const dtype of ['F16', 'F32'] as const)
      expect((await verify(write(mix(0.5, dtype)), { against: recipe })).verdict).toBe('rounded');
    const { verdict, faults } = await verify(write(mix(0.51)), { against: recipe });
    expect(verdict).toBe('different');
    expect(faults.map(({ kind }) => kind)).not.toContain('normalize_toggled');
    expect(faults.map(({ kind }) => kind)).not.toContain('coarse_rounding');
  });

  it('is different with weights that each element hides in its rounding', async () => {
    const { recipe, mix, write } = models();
    const { verdict, faults } = await verify(write(mix(0.505)), { against: recipe });
    expect([verdict, faults.map(({ kind }) => kind)]).toEqual(['different', ['wrong_weights']]);
    expect(faults[0]?.figures['weights']).toMatch(/^0\.50[5-9] a \+ 0\.49\d b$/);
  });

  it.each([
    [0.02, 0.52],
    [0.04, 0.6],
    [0.1, 0.6],
  ])('of experts that changed by %d is named by its weights: %d', async (change, weight) => {
    const { recipe, mix, write } = models(change);
    const { verdict, faults } = await verify(write(mix(weight)), { against: recipe });
    const kinds = faults.map(({ kind }) => kind).filter((kind) => !/^round/.test(kind));
    expect([verdict, kinds]).toEqual(['different', ['wrong_weights']]);
    const [least, most] = / \(([\d.]+) to ([\d.]+) a give the same\)$/
      .exec(faults[0]?.sentence ?? '')
      ?.slice(1)
      .map(Number) ?? [weight, weight];
    expect([least, most].toSorted()).toEqual([least, most]);
    expect(least).toBeLessThanOrEqual(weight);
    expect(most).toBeGreaterThanOrEqual(weight);
  });

  it('of experts that barely changed has few other elements if few were edited, as well as weights', async () => {
    const { recipe, mix, write } = models(0.02);
    const edit = (weight: number) =>
      mapped(mix(weight), (values, of) =>
        of === name ? values.map((value, at) => (at % 997 === 5 ? 1.5 * value : value)) : values,
      );
    const { faults } = await verify(write(edit(0.5)), { against: recipe });
    expect(faults.map(({ kind }) => kind)).toEqual(['few_elements']);
    const both = await verify(write(edit(0.6)), { against: recipe });
    expect(both.verdict).toBe('different');
    expect(
      both.faults.flatMap(({ kind, tensors }) => (kind === 'wrong_weights' ? tensors : [])),
    ).not.toContain(name);
  });

  it('has few other elements of a large tensor, of which blocks of rows are read to explain it', async () => {
    const { recipe, mix, write } = models(0.3, 'BF16', 320);
    const large = 'model.layers.1.self_attn.q_proj.weight';
    const right = mix(0.5);
    const fault = async (isEdited: (at: number, row: number) => boolean, noise = 0) => {
      const edited = mapped(right, (values, of) =>
        values.map((value, at) =>
          of !== large
            ? value
            : isEdited(at, Math.floor(at / 320))
              ? value + 1
              : value * (at % 20 === 3 ? 1 + noise : 1),
        ),
      );
      const { faults } = await verify(write(edited), { against: recipe });
      const few = faults.find(({ kind }) => kind === 'few_elements');
      return (
        few && [few.tensors, few.figures['differing'], few.figures['elements'], few.sentence.split(' of ')[0]]
      );
    };
    // Rows 0 to 24 are read, then 42 to 66.
    expect(await fault((at) => at === 7)).toEqual([[large], 1, 320 * 320, 'about 1']);
    expect(await fault((at) => at === 30 * 320)).toEqual([[large], 1, 320 * 320, 'about 1']);
    expect(await fault((at, row) => row < 60 && at % 320 === 5)).toEqual([
      [large],
      60,
      320 * 320,
      'about 60',
    ]);
    const noisy = await fault((at, row) => row < 60 && at % 320 === 5, 2 ** -8);
    // With other roundings, only those that were read are counted.
    expect(noisy).toEqual([[large], 763, 320 * 320, 'at least 763']);
    expect(await fault((at) => at % 30 === 5)).toBeUndefined();
  });

  it.each(['magnitude', 'range'])('is quantised in between by rows of 8 bits and their %s', async (by) => {
    const { recipe, made, mix, write } = models();
    const quantised = mapped(mix(0.5), (values, of) => {
      const columns = made.tensors[of]?.shape[1];
      if (columns === undefined) return values;
      return values.map((value, at) => {
        const row = values.slice(at - (at % columns), at - (at % columns) + columns);
        const [least, most] = [Math.min(...row), Math.max(...row)];
        const step = by === 'range' ? (most - least) / 255 : Math.max(most, -least) / 127;
        return Math.round(value / step) * step;
      });
    });
    const { verdict, faults } = await verify(write(quantised), { against: recipe });
    expect([verdict, faults.map(({ kind }) => kind)]).toEqual(['different', ['quantised_between']]);
    expect(faults[0]?.figures['grid']).toBe('int8, a scale for each row');
  });

  it('is different if it is smaller by a thousandth, as after one step of weight decay', async () => {
    const { recipe, mix, write } = models();
    const decayed = mapped(mix(0.5, 'F32'), (values) => values.map((value) => value * 0.999));
    const { verdict, fault } = await verify(write(decayed), { against: recipe });
    expect([verdict, fault?.kind]).toEqual(['different', 'wrong_weights']);
    expect(fault?.figures['weights']).toMatch(/^0\.(499|5) a \+ 0\.(499|5) b$/);
  });

  it('is rounded towards zero, and says so', async () => {
    const { recipe, mix, write } = models();
    const cut = Object.fromEntries(
      Object.entries(mix(0.5, 'F32')).map(([of, { shape, data }]) => [
        of,
        {
          dtype: 'BF16',
          shape,
          data: Uint8Array.from(data.filter((_, at) => at % 4 > 1)),
        },
      ]),
    );
    const { verdict, fault } = await verify(write(cut), { against: recipe });
    expect([verdict, fault?.kind]).toEqual(['rounded', 'truncated']);
  });

  it('is different where one element is a few roundings away', async () => {
    const { recipe, mix, write } = models();
    for (const share of [3, 5]) {
      const out = write(
        mapped(mix(0.5), (values, of) =>
          values.map((value, at) => (of === name && at === 70 ? value * (1 + share / 64) : value)),
        ),
      );
      const { verdict, fault } = await verify(out, { against: recipe });
      expect([verdict, fault?.kind]).toEqual(['different', 'few_elements']);
    }
  });

  it('is judged as without NaN if an input has NaN', async () => {
    const { root, recipe, a, mix, made, write } = models();
    const withNan = (tensors: Tensors) =>
      mapped(tensors, (values) => values.map((value, at) => (at === 3 ? Number.NaN : value)));
    writeCheckpoint(join(root, 'a'), { ...made, tensors: withNan(a) });
    expect((await verify(write(withNan(mix(0.5))), { against: recipe })).verdict).toBe('intact');
    const { verdict, faults } = await verify(write(withNan(mix(0.52))), { against: recipe });
    expect(verdict).toBe('different');
    expect(faults.map(({ kind }) => kind)).not.toContain('not_finite');
  });
});

describe('a merge in float32', () => {
  it('of experts that barely changed is different with weights that each element hides in its rounding', async () => {
    const { recipe, mix, write } = models(1e-5, 'F32');
    expect((await verify(write(mix(0.5, 'F32')), { against: recipe })).intact).toBe(true);
    const { verdict, fault } = await verify(write(mix(0.52, 'F32')), { against: recipe });
    expect([verdict, fault?.kind]).toEqual(['different', 'wrong_weights']);
    expect(fault?.figures['weights']).toBe('0.52 a + 0.48 b');
  });
});

describe('faults that tensors do not show', () => {
  const withConfig = (out: string, edit: Readonly<Record<string, unknown>>): void => {
    const file = join(out, 'config.json');
    const config = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
    writeFileSync(file, JSON.stringify({ ...config, ...edit }));
  };

  it('is different: a config.json with which loaders compute otherwise', async () => {
    const { root, recipe, mix, made, a, b, write } = models();
    const stated = {
      ...{ num_attention_heads: 4, num_key_value_heads: 2, rms_norm_eps: 1e-6, hidden_act: 'silu' },
      ...{ rope_theta: 10000, text_config: { head_dim: 8 } },
    };
    for (const [model, tensors] of Object.entries({ a, b }))
      writeCheckpoint(join(root, model), { ...made, tensors, config: { ...made.config, ...stated } });
    const edits: readonly [Record<string, unknown>, string][] = [
      [{ rope_theta: 500000 }, 'RoPE rope_theta'],
      [
        { rope_theta: null, rope_parameters: { rope_theta: 500000, rope_type: 'default' } },
        'RoPE rope_theta',
      ],
      [{ rope_scaling: { rope_type: 'linear', factor: 8 } }, 'RoPE rope_type'],
      [{ tie_word_embeddings: true }, 'tie_word_embeddings'],
      [{ num_attention_heads: 8 }, 'num_attention_heads'],
      [{ num_key_value_heads: 1 }, 'num_key_value_heads'],
      [{ rms_norm_eps: 1e-5 }, 'rms_norm_eps'],
      [{ hidden_act: 'gelu' }, 'hidden_act'],
      [{ text_config: { head_dim: 4 } }, 'text_config.head_dim'],
      [{ auto_map: { AutoModel: 'other.Other' } }, 'auto_map'],
    ];
    for (const [edit, keys] of edits) {
      const out = write(mix(0.5));
      withConfig(out, { ...stated, ...edit });
      const { verdict, intact, fault } = await verify(out, { against: recipe });
      expect([verdict, intact, fault?.kind, fault?.figures['keys']]).toEqual([
        'different',
        false,
        'config_differs',
        keys,
      ]);
    }
    // A rounded merge is different too, and a wrong one keeps its own fault first.
    const rounded = write(mix(0.5, 'F32'));
    withConfig(rounded, { ...stated, hidden_act: 'gelu' });
    expect((await verify(rounded, { against: recipe })).fault?.kind).toBe('config_differs');
    const wrong = write(mix(0.7));
    withConfig(wrong, { ...stated, hidden_act: 'gelu' });
    const { faults } = await verify(wrong, { against: recipe });
    expect(faults.map(({ kind }) => kind)).toEqual(['wrong_weights', 'config_differs']);
  });

  it('is intact with the same settings in other words, and warns of others or of none', async () => {
    const { root, recipe, mix, made, a, b, write } = models();
    const stated = { rope_theta: 10000, rms_norm_eps: 1e-6, max_position_embeddings: 64 };
    for (const [model, tensors] of Object.entries({ a, b }))
      writeCheckpoint(join(root, model), { ...made, tensors, config: { ...made.config, ...stated } });
    const out = write(mix(0.5));
    const words = {
      rope_parameters: { rope_theta: 10000, rope_type: 'default' },
      rms_norm_eps: Math.fround(1e-6),
      use_cache: false,
      transformers_version: '5.24.0',
    };
    withConfig(out, words);
    expect(await verify(out, { against: recipe })).toMatchObject({ verdict: 'intact', warnings: [] });
    withConfig(out, { max_position_embeddings: 128 });
    const { verdict, warnings } = await verify(out, { against: recipe });
    expect([verdict, warnings.join()]).toEqual([
      'intact',
      'config.json has max_position_embeddings 128, and the expected merge 64',
    ]);
    rmSync(join(out, 'config.json'));
    expect((await verify(out, { against: recipe })).warnings.join('\n')).toContain('has no config.json');
  });

  it('is intact with what transformers writes for settings that are off or follow from others', async () => {
    const { root, recipe, mix, made, a, b, write } = models();
    const cases: readonly [Record<string, unknown>, Record<string, unknown>][] = [
      [
        { use_sliding_window: false, sliding_window: 131072, max_window_layers: 28 },
        { use_sliding_window: false, sliding_window: null, max_window_layers: 70 },
      ],
      [
        { use_sliding_window: false, sliding_window: 32768 },
        { use_sliding_window: false, sliding_window: 0 },
      ],
      [{ num_key_value_heads: null }, { num_key_value_heads: 4 }],
      [{ head_dim: null }, { head_dim: 16 }],
      [
        { model_type: 'gemma', hidden_act: 'gelu' },
        { model_type: 'gemma', hidden_act: 'gelu_pytorch_tanh' },
      ],
    ];
    for (const [stated, written] of cases) {
      for (const [model, tensors] of Object.entries({ a, b }))
        writeCheckpoint(join(root, model), { ...made, tensors, config: { ...made.config, ...stated } });
      const out = write(mix(0.5));
      withConfig(out, written);
      const { verdict, warnings } = await verify(out, { against: recipe });
      expect([verdict, warnings]).toEqual(['intact', []]);
    }
    const windowed = { use_sliding_window: true, sliding_window: 4096 };
    for (const [model, tensors] of Object.entries({ a, b }))
      writeCheckpoint(join(root, model), { ...made, tensors, config: { ...made.config, ...windowed } });
    const out = write(mix(0.5));
    withConfig(out, { ...windowed, sliding_window: null });
    expect((await verify(out, { against: recipe })).fault?.figures['keys']).toBe('sliding_window');
  });

  it('is an error for tensors that a solver makes: an output without them is not intact', async () => {
    const { root, mix, write } = models();
    const [base, a, b] = [write(mix(0.5)), join(root, 'a'), join(root, 'b')];
    const against = join(root, 'solved.yml');
    writeFileSync(against, `method: iso_c\nbase: ${base}\nmodels: [${a}, ${b}]\n`);
    await expect(verify(a, { against })).rejects.toMatchObject({ code: 'INVALID_PARAMETER' });
  });
});
