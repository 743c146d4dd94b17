import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkPlan } from '../../src/core/plan/check/check-plan.js';
import type { PlannedExpression } from '../../src/core/plan/plan.js';
import type { StoredTensor } from '../../src/core/tensor/stored-tensor.js';
import { type MergePlan, planMerge, type RecipeInput, relayout, runPlan } from '../../src/index.js';
import { writeAdapter } from '../fixtures/adapters.js';
import { temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { everyMethod } from '../fixtures/every-method.js';
import { writeFamilyOf } from '../fixtures/family.js';
import { planOverAdapters, writeAdapted } from '../fixtures/low-rank.js';
import { average, readTensors } from '../fixtures/merged.js';
import { expertAdapter, fusedMixture, mixtureConfig } from '../fixtures/mixtures.js';
import { writePlans } from '../fixtures/plans.js';

const madeOnce = <A extends readonly (string | undefined)[]>(make: (...args: A) => Promise<MergePlan>) => {
  const made = new Map<string, Promise<string>>();
  return async (...args: A): Promise<MergePlan> => {
    const key = args.join();
    const text = made.get(key) ?? make(...args).then((plan) => JSON.stringify(plan));
    made.set(key, text);
    return JSON.parse(await text);
  };
};

const planOf = madeOnce(async (method: string, layout: 'layer' | 'size' = 'layer') => {
  const models = writeFamilyOf({
    'layers.0.a.weight': [6, 4],
    'layers.0.b.weight': [4, 6],
    'model.norm.weight': [6],
  });
  const recipe = everyMethod(models)[method] as RecipeInput;
  return planMerge(recipe, { layout });
});

const planProduct = async () => {
  const family = await writeAdapted({ 'model.layers.0.mlp.up_proj.weight': [10, 6] });
  return planOverAdapters({ method: 'soup', models: [family.a, family.b] }, family);
};

const productPlan = madeOnce(planProduct);

const put = <T>(plan: T, path: string, value: unknown): T => {
  const keys = path.split('.');
  const last = keys.pop() as string;
  const holder = keys.reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], plan);
  (holder as Record<string, unknown>)[last] = value;
  return plan;
};

const tensor = 'shards.0.tensors.0';

describe('a plan', () => {
  it('of any method passes as it is, from memory and through JSON', async () => {
    const { plans } = await writePlans();
    for (const [name, plan] of Object.entries(plans)) {
      const given = JSON.stringify(plan);
      const checked = checkPlan(plan);
      expect(JSON.stringify(checked), name).toBe(given);
      expect(checked.shards, name).not.toBe(plan.shards);
      expect(JSON.stringify(checkPlan(JSON.parse(given))), name).toBe(given);
    }
  });

  it('that has been checked is what runs: one’s own data, whatever the given comes to say', async () => {
    const plan = await planOf('linear');
    let asked = 0;
    const file = plan.shards[0]?.file;
    Object.defineProperty(plan.shards[0], 'file', {
      enumerable: true,
      get: () => (asked++ === 0 ? file : '../../precious'),
    });
    expect(checkPlan(plan).shards[0]?.file).toBe(file);
    const other = await planOf('linear');
    expect(JSON.stringify(checkPlan(new Proxy(other, {})))).toBe(JSON.stringify(other));
  });

  it('may tell its input files apart by more than it must', async () => {
    const seen = { ctimeNs: '1700000000123456789', links: 2, hash: 'a'.repeat(64), hashOf: 'samples' };
    const plan = put(await planOf('linear'), 'inputs.0.files.0.seen', seen);
    expect(JSON.stringify(checkPlan(plan))).toBe(JSON.stringify(plan));
    for (const [key, value] of Object.entries({ ctimeNs: 17, links: -1, hash: 'a', hashOf: 'name' }))
      expect(() => checkPlan(put(structuredClone(plan), `inputs.0.files.0.seen.${key}`, value))).toThrow(
        `inputs.0.files.0.seen.${key}`,
      );
  });

  it.each<[string, string, unknown, RegExp]>([
    ['a shard outside the output', 'shards.0.file', '../../victim/precious.txt', /named.*precious\.txt/],
    ['two shards of one name', 'shards.1.file', 'model-00001-of-00002.safetensors', /and not model-00002/],
    ['a shard that loaders do not look for', 'shards.0.file', 'weights.safetensors', /and not model-00001/],
    [
      'an index of other shards',
      'files.0.text',
      '{"weight_map":{}}',
      /index\.json is not that of its shards/,
    ],
    ['two tensors of one name', `${tensor}.name`, 'model.norm.weight', /two tensors "model\.norm\.weight"/],
    ['a tensor that is metadata', `${tensor}.name`, '__metadata__', /no tensor may have this name/],
    ['a name that is no Unicode', `${tensor}.name`, '\ud800', /no tensor may have this name/],
    ['a name that is no text', `${tensor}.name`, 7, /shards\.0\.tensors\.0\.name: .*expected string/],
    ['an unknown dtype', `${tensor}.dtype`, 'BF17', /no known dtype/],
    ['a dtype of another length', `${tensor}.dtype`, 'F32', /its range is not its shape’s/],
    ['a dtype that no kernel computes in', `${tensor}.dtype`, 'I16', /not all its dtypes are floating/],
    ['a negative extent', `${tensor}.shape.0`, -6, /is not a whole number from 0/],
    ['a broken extent', `${tensor}.shape.0`, 1.5, /is not a whole number from 0/],
    ['an extent that no double holds', `${tensor}.shape.0`, 2 ** 53, /is not a whole number from 0/],
    ['more elements than there are', `${tensor}.shape`, [2 ** 32, 2 ** 32], /its range is not its shape’s/],
    ['a shape that is an object', `${tensor}.shape`, { 0: 6, 1: 4, length: 2 }, /shape: .*expected array/],
    ['a range that is NaN', `${tensor}.begin`, Number.NaN, /shards\.0\.tensors\.0\.begin/],
    ['a hole between tensors', 'shards.0.bytes', 2 ** 40, /do not end where it does/],
    ['a key that it knows nothing of', `${tensor}.scale`, 2, /Unrecognized key: "scale"/],
    ['no tensors', 'shards.0.tensors', [], /shards\.0\.tensors: /],
    ['no shards', 'shards', [], /shards: /],
    ['no expression', `${tensor}.expression`, null, /tensor layers\.0\.a\.weight: /],
    ['an unknown expression', `${tensor}.expression.kind`, '__proto__', /kind: Invalid/],
    ['no terms', `${tensor}.expression.terms`, [], /terms: /],
    ['a weight that JSON does not hold', `${tensor}.expression.terms.0.weight`, null, /terms\.0\.weight: /],
    ['an infinite weight', `${tensor}.expression.terms.0.weight`, 1 / 0, /terms\.0\.weight: /],
    ['no source', `${tensor}.expression.terms.0.source`, {}, /dtype: no known dtype/],
    ['a source of no input', `${tensor}.expression.terms.0.source.input`, 9, /no file 0 of input 9/],
    ['a source of no file', `${tensor}.expression.terms.0.source.file`, 7, /no file 7 of input 0/],
    ['a source before its file', `${tensor}.expression.terms.0.source.begin`, -1, /not a range of a file/],
    ['a source of another length', `${tensor}.expression.terms.0.source.dtype`, 'F32', /another length/],
    ['a source that says more', `${tensor}.expression.terms.0.source.scale`, 2, /not a range of a file/],
    [
      'a source of integers',
      `${tensor}.expression.terms.0.source.dtype`,
      'U16',
      /not all its dtypes are floating/,
    ],
    ['an input at a relative path', 'inputs.0.path', 'models/a', /inputs\.0\.path: no absolute path/],
    ['a file at no path', 'inputs.0.files.0.path', '/a\0b', /inputs\.0\.files\.0\.path: no absolute path/],
    ['a file that has changed its time to a number', 'inputs.0.files.0.mtimeNs', 1, /mtimeNs/],
    ['a recipe that is none', 'recipe', 'linear', /recipe: /],
    ['a cost that is none', 'cost.bytesToRead', -1, /cost\.bytesToRead/],
    ['warnings that are none', 'warnings', [{}], /warnings\.0/],
  ])('with %s is refused', async (_, path, value, reason) => {
    const plan = put(await planOf('linear'), path, value);
    expect(() => checkPlan(plan)).toThrow(
      expect.objectContaining({ code: 'PLAN_INVALID', message: expect.stringMatching(reason) }),
    );
  });

  it.each<[string, (tensors: Record<string, unknown>[]) => unknown, RegExp]>([
    [
      'of another shape than its parts fill',
      ([first]) => put(first, 'part.shape', [3, 9, 8]),
      /are not of its dtype and shape/,
    ],
    [
      'that the parts have two shapes of',
      ([first]) => put(first, 'part.shape', [30, 8]),
      /are not of its dtype and shape/,
    ],
    ['of a shape that is none', ([first]) => put(first, 'part.shape', [-1]), /part\.shape/],
    [
      'whose parts do not follow each other',
      ([first]) => put(first, 'part.name', 'elsewhere'),
      /are not of its dtype and shape/,
    ],
    [
      'that another tensor has the name of',
      ([first]) => put(first, 'part.name', 'model.norm.weight'),
      /two tensors|not of its dtype/,
    ],
    [
      'that is metadata',
      (all) => all.map((one) => put(one, 'part.name', '__metadata__')),
      /no tensor may have this name/,
    ],
    [
      'of parts of another dtype',
      ([first]) => put(first, 'dtype', 'BF16'),
      /its range is not its shape|not of its dtype/,
    ],
    ['without a name', ([first]) => put(first, 'part', {}), /part\.name/],
  ])('with a tensor of several parts %s is refused', async (_, change, reason) => {
    const config = mixtureConfig();
    const model = writeCheckpoint(join(temporaryDirectory(), 'model'), { tensors: fusedMixture(), config });
    const made = await planMerge({ method: 'relayout', model, dtype: 'float16' });
    const plan: MergePlan = JSON.parse(JSON.stringify(made));
    expect(() => checkPlan(plan)).not.toThrow();
    const parts = plan.shards.flatMap(({ tensors }) => tensors).filter(({ part }) => part !== undefined);
    change(parts.filter(({ part }) => part?.name === parts[0]?.part?.name) as never);
    expect(() => checkPlan(plan)).toThrow(reason);
  });

  it.each<[string, Record<string, unknown>, RegExp]>([
    ['no expert', { experts: { count: 0, row: 0 } }, /experts\.count/],
    ['a row before the first', { experts: { count: 3, row: -1 } }, /experts\.row/],
    ['rows behind the last', { experts: { count: 3, row: 24 } }, /rows lie outside the products/],
    ['other experts than its factors have', { experts: { count: 4, row: 0 } }, /has another length/],
    ['experts that are no numbers', { experts: [] }, /experts: /],
    ['another rank', { rank: 3 }, /has another length/],
  ])('with products of %s is refused', async (_, change, reason) => {
    const root = temporaryDirectory();
    const base = writeCheckpoint(join(root, 'base'), { tensors: fusedMixture(), config: mixtureConfig() });
    const adapter = writeAdapter(join(root, 'lora'), expertAdapter());
    const plan = await planMerge({ method: 'relayout', model: `${base}+${adapter}` });
    const found: Record<string, unknown>[] = [];
    const text = JSON.stringify(plan, (_key, value: unknown) => {
      if (typeof value === 'object' && value !== null && 'experts' in value)
        found.push(value as Record<string, unknown>);
      return value;
    });
    expect(() => checkPlan(JSON.parse(text))).not.toThrow();
    expect(found.length).toBeGreaterThan(0);
    const [first] = found;
    const changed = JSON.parse(JSON.stringify(first));
    expect(() =>
      checkPlan(JSON.parse(text.replace(JSON.stringify(first), JSON.stringify({ ...changed, ...change })))),
    ).toThrow(reason);
  });

  it.each<[string, (product: Record<string, unknown>) => unknown, RegExp]>([
    ['rank 0', (product) => ({ ...product, rank: 0 }), /rank: /],
    ['another rank', (product) => ({ ...product, rank: 9 }), /rank 9 has another length/],
    ['its factors exchanged', ({ a, b, ...rest }) => ({ ...rest, a: b, b: a }), /has another length/],
    ['its transpose', (product) => ({ ...product, transposed: true }), /has another length/],
    ['another dtype', (product) => ({ ...product, dtype: 'BF16' }), /dtype: /],
    [
      'integers',
      ({ a, ...rest }) => ({ ...rest, a: { ...(a as object), dtype: 'I32' } }),
      /no floating-point/,
    ],
    ['no factor', (product) => ({ ...product, b: null }), /not a range of a file/],
    [
      'a factor outside its file',
      ({ a, ...rest }) => ({ ...rest, a: { ...(a as object), end: 2 ** 40 } }),
      /outside/,
    ],
    ['a key more', (product) => ({ ...product, scale: 2 }), /Unrecognized key: "scale"/],
  ])('over a product with %s is refused', async (_, change, reason) => {
    const given = await productPlan();
    const path = 'shards.0.tensors.0.expression.terms.0.source.expression.terms.1.source';
    const product = path.split('.').reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], given);
    put(given, path, change(product as Record<string, unknown>));
    expect(() => checkPlan(given)).toThrow(
      expect.objectContaining({ code: 'PLAN_INVALID', message: expect.stringMatching(reason) }),
    );
  });

  it('over a product passes as it is in memory', async () => {
    const plan = await planProduct();
    expect(checkPlan(JSON.parse(JSON.stringify(plan)))).toEqual(plan);
  });

  it('over a product that is no matrix is refused', async () => {
    const plan = await productPlan();
    put(plan, 'shards.0.tensors.0.shape', [60]);
    expect(() => checkPlan(plan)).toThrow(/for a tensor that is not a matrix/);
  });

  it('that is nothing of the kind is refused', () => {
    for (const plan of [undefined, null, 7, 'plan', [], {}, () => {}, new Map(), Object.create(null)])
      expect(() => checkPlan(plan)).toThrow(expect.objectContaining({ code: 'PLAN_INVALID' }));
  });

  it('whose side file is named as none may be is refused', async () => {
    const names = [
      '',
      '.',
      '..',
      '/etc/motd',
      '\\\\host\\x',
      'C:\\x',
      'C:x',
      'a/b',
      'a\\b',
      'a\0',
      'a\nb',
      '../x',
    ];
    const over = [
      'layerloom.json',
      'LAYERLOOM.JSON',
      'model.safetensors',
      'Model-00001-of-00002.SAFETENSORS',
    ];
    const inFolder = ['../x', '..', '.', '', 'a/b'].map((name) => `additional_chat_templates/${name}`);
    const plan = await planOf('linear', 'size');
    for (const name of [...names, ...over, ...inFolder, 'additional_chat_templates'])
      expect(() => checkPlan({ ...plan, files: [{ name, text: '' }] }), JSON.stringify(name)).toThrow(
        /no side file may be named/,
      );
    const file = { name: 'additional_chat_templates/tools.jinja', text: '' };
    expect(checkPlan({ ...plan, files: [file] }).files).toEqual([file]);
    expect(() => checkPlan({ ...plan, files: [file, file] })).toThrow(/two side files/);
    const copied = (copyOf: unknown) => ({ ...plan, files: [{ name: 'LICENSE', copyOf }] });
    expect(() => checkPlan(copied('LICENSE'))).toThrow(/files\.0/);
  });

  it('that holds itself is refused', async () => {
    const plan = await planOf('linear');
    put(plan, `${tensor}.expression.terms.1.source`, { dtype: 'F32', expression: null });
    put(
      plan,
      `${tensor}.expression.terms.0.source`,
      put({ dtype: 'F32', expression: null }, 'expression', at(plan)),
    );
    expect(() => checkPlan(plan)).toThrow(/nested more than 64 deep/);
    const other = await planOf('linear');
    expect(() => checkPlan(put(other, 'recipe.itself', other.recipe))).toThrow(
      /recipe: it cannot be written as JSON/,
    );
  });

  it('that has a formula with more operands than any recipe is refused, however few there are in memory', async () => {
    const plan = await planOf('linear', 'size');
    for (let level = 0; level < 40; level += 1) {
      const source = { dtype: 'BF16', expression: at(plan) };
      const terms = [1, 1].map((weight) => ({ source, weight }));
      put(plan, `${tensor}.expression`, { kind: 'linear', terms });
    }
    expect(() => checkPlan(plan)).toThrow(/more than 65536 operands/);
  });
});

const at = (plan: MergePlan): PlannedExpression =>
  plan.shards[0]?.tensors[0]?.expression as PlannedExpression;

describe('a formula', () => {
  it.each<[string, string, string, unknown, RegExp]>([
    ['a rule of two vectors, of three', 'slerp', 'sources', 'thrice', /do not suit the rule slerp/],
    ['a rule without its parameter', 'slerp', 'parameters', {}, /do not suit the rule slerp/],
    ['a parameter of another kind', 'nuslerp', 'parameters.t', '0.5', /do not suit the rule nuslerp/],
    ['too few weights', 'multislerp', 'parameters.weights', [1], /do not suit the rule multislerp/],
    ['iterations without end', 'karcher', 'parameters.maxIter', 1e15, /do not suit the rule karcher/],
    ['a tolerance of nothing', 'karcher', 'parameters.tol', 0, /do not suit the rule karcher/],
    ['a rule of pairs, of one', 'model_stock', 'sources', 'once', /do not suit the rule model_stock/],
    ['a Gram matrix of layers', 'slerp', 'of', 'layer', /of: Invalid option/],
    ['no origin, not even null', 'slerp', 'origin', undefined, /expected object, received undefined/],
    ['a density below nothing', 'ties', 'terms.0.pruning.sparsifier.density', -0.5, /density: /],
    ['a density above all', 'ties', 'terms.0.pruning.sparsifier.density', 1.5, /density: /],
    ['a least of half an element', 'ties', 'terms.0.pruning.sparsifier.least', 0.5, /least: /],
    ['an unknown sparsifier', 'ties', 'terms.0.pruning.sparsifier.by', 'chance', /by: Invalid/],
    ['an unknown rescaling', 'ties', 'terms.0.pruning.rescale', 'l2', /rescale: /],
    ['an unknown divisor', 'ties', 'divisor', 3, /divisor: /],
    ['an unknown tie', 'ties', 'election.tie', 'none', /election\.tie: /],
    ['no scale', 'ties', 'scale', null, /scale: /],
    ['more task vectors than are combined', 'ties', 'terms', 'often', /more than 64 task vectors/],
    ['a share of outliers above all', 'breadcrumbs', 'terms.0.pruning.sparsifier.gamma', 2, /gamma: /],
    ['a probability above 1', 'della', 'terms.0.pruning.sparsifier.epsilon', 0.6, /between 0 and 1/],
    ['a seed that is no text', 'dare_ties', 'terms.0.pruning.sparsifier.seed', 3, /seed: /],
    ['a threshold below 0', 'ties-paper', 'terms.0.pruning.sparsifier.atLeast', -1, /atLeast: /],
    ['a share of nothing', 'sce', 'share', 0, /share: /],
    ['no t', 'nearswap', 't', null, /t: /],
    ['no base', 'arcee_fusion', 'base', null, /expected object, received null/],
    ['rows of no bits', 'revert', 'kept', '', /its kept rows do not match its shape/],
    ['rows in another spelling', 'revert', 'kept', 'AA', /its kept rows do not match its shape/],
    ['rows of neither sense', 'revert', 'rows', 'both', /rows: /],
    ['rows of another dtype', 'revert', 'source.dtype', 'F16', /bytes of F16 are taken for BF16/],
  ])('with %s is refused', async (_, method, path, value, reason) => {
    const plan = await planOf(method, 'size');
    const expression = at(plan);
    const list = (expression as unknown as Record<string, unknown[]>)[path] ?? [];
    const times = { once: 1, thrice: 3, often: 65 }[String(value)];
    put(expression, path, times === undefined ? value : Array.from({ length: times }, () => list[0]));
    expect(() => checkPlan(plan)).toThrow(
      expect.objectContaining({ code: 'PLAN_INVALID', message: expect.stringMatching(reason) }),
    );
  });

  it('of a rule that this process does not have says so', async () => {
    const plan = put(await planOf('slerp'), `${tensor}.expression.rule`, 'constructor');
    expect(() => checkPlan(plan)).toThrow(expect.objectContaining({ code: 'MERGE_UNDEFINED' }));
  });

  it('whose operands would be larger than any tensor is refused', async () => {
    const { plans } = await writePlans();
    const plan = plans['adapter of a rank'] as MergePlan;
    put(plan, `${tensor}.expression.shape`, [2 ** 53 - 2, 6]);
    expect(() => checkPlan(plan)).toThrow(
      expect.objectContaining({
        code: 'PLAN_INVALID',
        message: expect.stringContaining('no tensor has the shape [9007199254740990, 6]'),
      }),
    );
  });

  it.each<[string, number, RegExp]>([
    ['half a block', 128, /its rows of 128 fill no blocks of Q4_K/],
    ['more elements than it has', 2 ** 40, /its rows of 1099511627776 do not make \d+ elements/],
  ])('over blocks in rows of %s is refused', async (_, width, reason) => {
    const { plans } = await writePlans();
    const { plan, source } = Object.values(plans)
      .flatMap((plan) => plan.shards.flatMap(({ tensors }) => tensors.map((one) => ({ plan, one }))))
      .flatMap(({ plan, one }) => {
        const [term] = one.expression.kind === 'linear' ? one.expression.terms : [];
        const source = term?.source as unknown as { blocks?: { type: string; width: number } } | undefined;
        return source?.blocks?.type === 'Q4_K' ? [{ plan, source: source.blocks }] : [];
      })
      .at(0) as { plan: MergePlan; source: { width: number } };
    source.width = width;
    expect(() => checkPlan(plan)).toThrow(
      expect.objectContaining({ code: 'PLAN_INVALID', message: expect.stringMatching(reason) }),
    );
  });

  it('is checked at every depth', async () => {
    const plan = await planOf('linear', 'size');
    const [one, two] = (at(plan) as unknown as { terms: { source: StoredTensor }[] }).terms.map(
      ({ source }) => source,
    );
    const within = (dtype: string, expression: unknown) => {
      const inner = {
        dtype,
        expression: { kind: 'linear', terms: [{ source: { dtype, expression }, weight: 1 }] },
      };
      return put(plan, `${tensor}.expression`, { kind: 'linear', terms: [{ source: inner, weight: 1 }] });
    };
    const kept = Buffer.alloc(1).toString('base64');
    const rows = { kind: 'rowSelect', source: one, base: two, rows: 'input', kept };
    const computed = {
      dtype: 'F8_E4M3',
      expression: { kind: 'linear', terms: [{ source: one, weight: 1 }] },
    };
    const refusals: [string, unknown, RegExp][] = [
      ['F64', rows, /bytes of \w+ are taken for F64/],
      ['F64', { ...rows, source: computed, base: computed }, /bytes of \w+ are taken for F64/],
      ['BF16', { ...rows, kept: Buffer.alloc(9).toString('base64') }, /kept rows/],
      ['F16', { kind: 'copy', source: one }, /bytes of BF16 are taken for F16/],
      ['BF16', { kind: 'same', sources: [one] }, /cannot be an operand/],
      ['U16', { kind: 'linear', terms: [{ source: one, weight: 1 }] }, /not all its dtypes are floating/],
      [
        'BF16',
        { kind: 'linear', terms: [{ source: { ...one, end: one?.begin }, weight: 1 }] },
        /another length/,
      ],
      ['BF16', { kind: 'linear', terms: [{ source: one, weight: 'heavy' }] }, /terms\.0\.weight/],
    ];
    for (const [dtype, expression, reason] of refusals)
      expect(() => checkPlan(within(dtype, expression)), String(reason)).toThrow(reason);
    expect(() => checkPlan(within('BF16', rows))).not.toThrow();
    expect(() =>
      checkPlan(within('F32', { kind: 'linear', terms: [{ source: computed, weight: 1 }] })),
    ).not.toThrow();
  });
});

describe('a shard that is an input file', () => {
  it.each<[string, string, unknown, RegExp]>([
    ['of no input', 'shards.0.verbatim.input', 3, /not as long as the file/],
    ['of another length', 'inputs.0.files.0.bytes', 1e6, /not as long as the file/],
    ['whose tensors stand elsewhere', `${tensor}.expression.source.begin`, 8, /length|is not where the file/],
    ['whose tensors are of another dtype', `${tensor}.expression.source.dtype`, 'F16', /taken for BF16/],
    ['whose tensors are computed', `${tensor}.expression`, undefined, /is not where the file/],
  ])('%s is refused', async (_, path, value, reason) => {
    const { a } = writeFamilyOf({ 'model.layers.0.up.weight': [4, 6], 'model.layers.0.down.weight': [6, 4] });
    const out = join(temporaryDirectory(), 'out');
    await relayout({ model: a }, { out });
    const plan = await planMerge({ method: 'relayout', model: out });
    expect(plan.shards[0]?.verbatim).toEqual({ input: 0, file: 0 });
    const { source } = at(plan) as { source: StoredTensor };
    put(plan, path, value ?? { kind: 'linear', terms: [{ source, weight: 1 }] });
    expect(() => checkPlan(plan)).toThrow(reason);
  });
});

describe('runPlan', () => {
  it('refuses what would write elsewhere, and what no kernel could bear, before it opens anything', async () => {
    const { root, plans } = await writePlans();
    const victim = join(root, 'victim', 'precious.txt');
    mkdirSync(join(root, 'victim'));
    writeFileSync(victim, 'precious');
    const out = join(root, 'out');
    const before = readdirSync(root).sort();
    const run = (change: (plan: MergePlan) => unknown) => {
      const plan = JSON.parse(JSON.stringify(plans['linear'])) as MergePlan;
      change(plan);
      // A missing input would be READ_FAILED.
      for (const input of plan.inputs) for (const file of input.files) put(file, 'path', join(root, 'gone'));
      return expect(runPlan(plan, { out })).rejects.toMatchObject({ code: 'PLAN_INVALID' });
    };
    const select = (plan: MergePlan, operand: (source: StoredTensor) => unknown) => {
      const [one, two] = (at(plan) as unknown as { terms: { source: StoredTensor }[] }).terms.map(
        ({ source }) => operand(source),
      );
      const [, rows = 0] = plan.shards[0]?.tensors[0]?.shape ?? [];
      const kept = Buffer.alloc(Math.ceil(rows / 8), 255).toString('base64');
      const expression = { kind: 'rowSelect', source: one, base: two, rows: 'input', kept };
      put(at(plan), 'terms', [{ source: { dtype: 'F64', expression }, weight: 1 }]);
    };
    await run((plan) => put(plan, 'shards.0.file', '../../victim/precious.txt'));
    await run((plan) => put(plan, 'files.0.name', '../../victim/precious.txt'));
    await run((plan) => put(plan, 'shards.1.file', plan.shards[0]?.file));
    await run((plan) => select(plan, (source) => source));
    await run((plan) =>
      select(plan, (source) => ({
        dtype: 'F8_E4M3',
        expression: { kind: 'linear', terms: [{ source, weight: 1 }] },
      })),
    );
    expect(readFileSync(victim, 'utf8')).toBe('precious');
    expect(readdirSync(root).sort()).toEqual(before);
  });

  it('reads a byte range in each dtype that the plan says', async () => {
    const root = temporaryDirectory();
    const data = Uint8Array.from({ length: 48 }, (_, index) => (index * 37) % 64);
    const model = writeCheckpoint(join(root, 'a'), {
      tensors: { 'model.norm.weight': { dtype: 'BF16', shape: [24], data } },
    });
    const plan = await planMerge({ method: 'passthrough', models: [{ model, scale: 0.5 }] });
    const { terms } = at(plan) as unknown as { terms: { source: StoredTensor; weight: number }[] };
    const other = { source: { ...terms[0]?.source, dtype: 'F16' }, weight: 0.5 };
    await runPlan(put(plan, `${tensor}.expression.terms`, [...terms, other]), { out: join(root, 'out') });
    const [one, two] = ['BF16', 'F16'].map((dtype) => ({ dtype, shape: [24], data }));
    const merged = (await readTensors(join(root, 'out')))['model.norm.weight'];
    expect(merged?.data).toEqual(Buffer.from(average('BF16', [one, two] as never, [1, 1])));
  });
});
