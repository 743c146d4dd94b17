import { describe, expect, it } from 'vitest';
import {
  anyNumber,
  flag,
  type ParameterSpec,
  resolveSetting,
  Setting,
  share,
  unusedFilters,
} from '../../src/core/methods/framework/declaration/settings.js';
import { methods, planMerge, type RecipeInput } from '../../src/index.js';
import { writeFamily } from '../fixtures/family.js';

const setting = (input: unknown, spec: ParameterSpec = anyNumber()): Setting =>
  new Setting(spec, input, ['models', 0, 'weight']);

const refusal = (input: unknown, spec: ParameterSpec = anyNumber()): unknown => {
  try {
    setting(input, spec);
  } catch (error) {
    const { code, details } = error as { code: string; details: { path: unknown; value: unknown } };
    return { code, path: details.path, value: details.value };
  }
  return undefined;
};

const word: ParameterSpec = { expected: 'a word', accepts: (value) => typeof value === 'string' };

describe('a setting', () => {
  it('of one value has it in every layer', () => {
    for (const t of [0, 0.3, 1]) expect(setting(0.25).at('w', t)).toBe(0.25);
  });

  it('of a list is a gradient: numbers lie on lines between those of the list, at equal distances', () => {
    const gradient = setting([0, 1, 3]);
    expect([0, 0.25, 0.5, 0.75, 1].map((t) => gradient.at('w', t))).toEqual([0, 0.5, 1, 2, 3]);
    expect(setting([7]).at('w', 0.5)).toBe(7);
  });

  it('of a list of flags or words has the one before', () => {
    const flags = setting([true, false, true], flag(true));
    expect([0, 0.25, 0.5, 0.75, 1].map((t) => flags.at('w', t))).toEqual([true, true, false, false, true]);
    expect(setting(['a', 'b'], word).at('w', 0.99)).toBe('a');
  });

  it('of filters has the value of the first that is a part of the name', () => {
    const filtered = setting([
      { filter: 'self_attn', value: 1 },
      { filter: 'q_proj', value: 2 },
      { filter: 'mlp', value: [0, 4] },
      { value: 3 },
    ]);
    expect(filtered.at('layers.0.self_attn.q_proj.weight', 0)).toBe(1);
    expect(filtered.at('layers.0.q_proj.weight', 0)).toBe(2);
    expect(filtered.at('layers.0.mlp.up_proj.weight', 0.5)).toBe(2);
    expect(filtered.at('lm_head.weight', 0)).toBe(3);
  });

  it('says nothing where no filter matches; * matches all', () => {
    expect(setting({ filter: 'mlp', value: 1 }).at('lm_head.weight', 0)).toBeUndefined();
    expect(setting({ filter: '*', value: 1 }).at('lm_head.weight', 0)).toBe(1);
  });

  it('knows the filters that have matched no tensor, and where they were written', () => {
    const filtered = setting([
      { filter: 'mlp', value: 1 },
      { filter: 'mpl', value: 2 },
      { filter: 'mlp.up', value: 3 },
      { value: 4 },
    ]);
    filtered.at('layers.0.mlp.up_proj.weight', 0);
    expect(unusedFilters([filtered])).toEqual([
      { what: 'filter mpl', path: ['models', 0, 'weight', 1] },
      { what: 'filter mlp.up', path: ['models', 0, 'weight', 2] },
    ]);
    expect(unusedFilters([setting(1)])).toEqual([]);
  });

  it('needs a filter to match in one slice only', () => {
    const [first, last] = [setting({ filter: 'norm', value: 1 }), setting({ filter: 'norm', value: 1 })];
    last.at('norm.weight', 0);
    expect(unusedFilters([first, last])).toEqual([]);
    const other = new Setting(anyNumber(), { filter: 'norm', value: 1 }, ['density']);
    expect(unusedFilters([other, last])).toEqual([{ what: 'filter norm', path: ['density'] }]);
  });

  it('refuses values that the parameter cannot have, at their place', () => {
    const at = (...rest: (string | number)[]) => ['models', 0, 'weight', ...rest];
    const code = 'INVALID_PARAMETER';
    expect(refusal('heavy')).toEqual({ code, path: at(), value: 'heavy' });
    expect(refusal([1, Number.NaN])).toEqual({ code, path: at(1), value: Number.NaN });
    expect(refusal([])).toEqual({ code, path: at(), value: [] });
    expect(refusal(0, share())).toEqual({ code, path: at(), value: 0 });
    expect(refusal({ filter: 'a', value: 2 }, share())).toEqual({ code, path: at('value'), value: 2 });
    expect(refusal([{ filter: 'a', value: 1 }, 2])).toEqual({ code, path: at(1), value: 2 });
    expect(refusal([{ filter: 3, value: 1 }])).toEqual({ code, path: at(0), value: { filter: 3, value: 1 } });
    expect(refusal({ filter: 'a', value: 1, layer: 2 })).toMatchObject({ code, path: at() });
    expect(refusal(1, share())).toBeUndefined();
  });
});

describe('the value of a parameter', () => {
  const needed = { by: 'ties', path: ['models', 0] };
  const at = { tensor: 'layers.0.mlp.weight', t: 0 };

  it('is the first setting’s that says something for the tensor', () => {
    const settings = [undefined, setting({ filter: 'attn', value: 1 }), setting(2), setting(3)];
    expect(resolveSetting('weight', anyNumber(9), settings, at, needed)).toBe(2);
  });

  it('is the default where none does', () => {
    expect(resolveSetting('weight', anyNumber(9), [undefined], at, needed)).toBe(9);
    expect(resolveSetting('normalize', flag(false), [], at, needed)).toBe(false);
  });

  it('is asked for where there is no default', () => {
    expect(() => resolveSetting('density', share(), [], at, needed)).toThrow(
      expect.objectContaining({
        code: 'INVALID_PARAMETER',
        details: expect.objectContaining({
          parameter: 'models.0.density',
          expected: expect.stringMatching(/which ties needs for layers\.0\.mlp\.weight$/),
        }),
      }),
    );
  });
});

describe('normalize', () => {
  const presets: [string, boolean][] = [
    ['task_arithmetic', false],
    ['ties', true],
    ['breadcrumbs', false],
    ['breadcrumbs_ties', false],
    ['dare_linear', false],
    ['dare_ties', false],
    ['della', true],
    ['della_linear', false],
  ];

  it('is a setting of linear and of these', () => {
    const having = [...methods.values()].filter(({ schema }) => 'normalize' in schema.shape);
    expect(having.map(({ name }) => name).sort()).toEqual(
      ['linear', ...presets.map(([name]) => name)].sort(),
    );
  });

  it.each(presets)('of %s is %s unless it is given, as in mergekit', async (method, preset) => {
    const { base, a, b } = writeFamily({ layers: 1 });
    const planned = async (given: object) => {
      const recipe = { method, base, models: [a, b], weight: 1, ...given } as RecipeInput;
      return (await planMerge(recipe)).shards;
    };
    const shards = await planned({});
    expect(shards).toEqual(await planned({ normalize: preset }));
    expect(shards).not.toEqual(await planned({ normalize: !preset }));
  });
});
