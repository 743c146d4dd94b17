import { execFile, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { merge, type RecipeInput } from '../../src/index.js';
import { fill, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { withModels } from '../fixtures/recipes.js';

const {
  LAYERLOOM_PYTHON: python,
  LAYERLOOM_EXPERTS: experts,
  LAYERLOOM_PARITY_TABLE: tablePath,
  LAYERLOOM_PARITY_REFERENCES: references,
} = process.env;

const imports = (module: string): boolean =>
  python !== undefined && spawnSync(python, ['-c', `import ${module}`]).status === 0;

const script = (name: string) => fileURLToPath(new URL(`parity/${name}`, import.meta.url));

const run = async (...args: string[]): Promise<unknown> => {
  const { stdout } = await promisify(execFile)(python ?? '', args, {
    env: { ...process.env, HF_HUB_OFFLINE: '1' },
    maxBuffer: 2 ** 26,
  });
  return JSON.parse(stdout);
};

interface Case {
  readonly name: string;
  /**
   * In mergekit's dialect, with `base`, `a`, `b` and `c` for models; absent if only a small golden exists.
   */
  readonly recipe?: Record<string, unknown>;
  /** The method's criterion of its cut: undecided elements are counted separately. */
  readonly threshold?: string;
}

interface Comparison {
  readonly only_a: string[];
  readonly only_b: string[];
  readonly elements: number;
  readonly differing: number;
  readonly beyond: number;
  readonly undecided: number;
  readonly undecided_beyond: number;
  readonly sampled: number;
  readonly sampled_beyond: number;
  readonly worst: { tensor: string; ulp: number } | null;
}

const table = new Map<string, { head: string[]; rows: string[][] }>();

const record = (section: string, figures: Record<string, string | number>) => {
  const { rows } = table.get(section) ?? { rows: [] };
  table.set(section, { head: Object.keys(figures), rows: [...rows, Object.values(figures).map(String)] });
};

const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;

afterAll(() => {
  if (tablePath === undefined || table.size === 0) return;
  const sections = [...table].map(([title, { head, rows }]) =>
    [`### ${title}\n`, line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n'),
  );
  writeFileSync(tablePath, `${sections.join('\n\n')}\n`);
});

const share = (part: number, whole: number): string =>
  part === 0 || whole === 0 ? '0' : (part / whole).toExponential(1);

const hasMergekit = imports('mergekit');

describe.skipIf(!hasMergekit || !experts)(
  'merges of real experts (LAYERLOOM_PYTHON with mergekit, LAYERLOOM_EXPERTS with base, math-1, jpn-1 and jpn-2)',
  () => {
    const cases = JSON.parse(readFileSync(script('cases.json'), 'utf8')) as Case[];
    const models = Object.fromEntries(
      Object.entries({ base: 'base', a: 'math-1', b: 'jpn-1', c: 'jpn-2' }).map(([name, directory]) => [
        name,
        join(experts ?? '', directory),
      ]),
    );
    const pairs = Object.entries(models).map(([name, directory]) => `${name}=${directory}`);

    /** mergekit's merge and its seconds; kept in LAYERLOOM_PARITY_REFERENCES if that is set. */
    const reference = async (name: string, root: string): Promise<{ path: string; seconds: string }> => {
      const kept = references === undefined ? undefined : join(references, name);
      if (kept !== undefined && existsSync(kept)) return { path: kept, seconds: 'kept' };
      const directory = references ?? join(root, 'peer');
      mkdirSync(directory, { recursive: true });
      const times = (await run(
        script('make_reference.py'),
        script('cases.json'),
        directory,
        ...pairs,
        '--only',
        name,
      )) as Record<string, number | string>;
      expect(times[name]).toBeTypeOf('number');
      return { path: join(directory, name), seconds: Number(times[name]).toFixed(1) };
    };

    it.each(
      cases.flatMap(({ recipe, ...rest }) =>
        recipe === undefined ? [] : [[rest.name, { ...rest, recipe }] as const],
      ),
    )('agree with mergekit: %s', async (name, { recipe, threshold }) => {
      const root = temporaryDirectory();
      const whole = { dtype: 'float32', out_dtype: 'bfloat16', ...recipe };
      const file = join(root, 'recipe.yaml');
      writeFileSync(file, stringify(withModels(whole, models)));
      const begin = performance.now();
      const { out } = await merge(file, { out: join(root, 'out') });
      const seconds = ((performance.now() - begin) / 1000).toFixed(1);
      const peer = await reference(name, root);
      const result = (await run(
        script('compare.py'),
        out,
        peer.path,
        '--case',
        script('cases.json'),
        name,
        ...pairs,
      )) as Comparison;
      record('Deterministic methods, against mergekit', {
        case: name,
        method: String(recipe['merge_method']),
        elements: result.elements,
        'one unit apart': share(result.differing - result.beyond, result.elements),
        'further apart': result.beyond,
        'largest distance': result.worst?.ulp ?? 0,
        undecided: threshold === undefined ? '' : result.undecided,
        'of these apart': threshold === undefined ? '' : result.undecided_beyond,
        sampled: result.sampled === 0 ? '' : `${result.sampled_beyond} of ${result.sampled} apart`,
        'seconds (mergekit)': `${seconds} (${peer.seconds})`,
      });
      expect([result.only_a, result.only_b]).toEqual([[], []]);
      expect(result.beyond / result.elements, JSON.stringify(result.worst)).toBeLessThanOrEqual(1e-5);
    });
  },
);

const shapes = {
  'model.embed_tokens.weight': [48, 64],
  ...Object.fromEntries(
    [0, 1].flatMap((layer) =>
      Object.entries({
        'input_layernorm.weight': [64],
        'self_attn.q_proj.weight': [64, 64],
        'self_attn.k_proj.weight': [32, 64],
        'self_attn.v_proj.weight': [32, 64],
        'self_attn.o_proj.weight': [64, 64],
        'post_attention_layernorm.weight': [64],
        'mlp.up_proj.weight': [96, 64],
        'mlp.gate_proj.weight': [96, 64],
        'mlp.down_proj.weight': [64, 96],
      }).map(([name, shape]) => [`model.layers.${layer}.${name}`, shape]),
    ),
  ),
  'model.norm.weight': [64],
};

const config = {
  architectures: ['LlamaForCausalLM'],
  model_type: 'llama',
  hidden_size: 64,
  intermediate_size: 96,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  vocab_size: 48,
  tie_word_embeddings: true,
};

/** A small base, and experts unrelated to it, so that values kept from an expert show. */
const writeSmall = (root: string, dtype: 'BF16' | 'F32') => {
  const write = (name: string, seed: number) =>
    writeCheckpoint(join(root, name), { tensors: fill(shapes, dtype, seed), config });
  return { base: write('base', 21), a: write('a', 22), b: write('b', 23), c: write('c', 24) };
};

interface Description {
  readonly kept: number;
  readonly mean: number;
  readonly variance: number;
}

const average = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** The variance of an average of these. */
const squaredError = (values: readonly number[]) => {
  const mean = average(values);
  return values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1) / values.length;
};

const SEEDS = 20;
/** Chance exceeds this many standard errors, as estimated from so few seeds, less than once in 10,000. */
const ERRORS = 5;

describe.skipIf(!hasMergekit)('random methods (LAYERLOOM_PYTHON with mergekit)', () => {
  const random: [string, { method: string; models: ('a' | 'b')[]; density: number; epsilon?: number }][] = [
    ['DARE of one expert', { method: 'dare_linear', models: ['a'], density: 0.3 }],
    ['DARE of two experts', { method: 'dare_linear', models: ['a', 'b'], density: 0.5 }],
    ['DARE with TIES', { method: 'dare_ties', models: ['a', 'b'], density: 0.4 }],
    ['DELLA of one expert', { method: 'della', models: ['a'], density: 0.4, epsilon: 0.2 }],
    ['DELLA of two experts', { method: 'della', models: ['a', 'b'], density: 0.6, epsilon: 0.1 }],
    ['linear DELLA of one expert', { method: 'della_linear', models: ['a'], density: 0.5, epsilon: 0.3 }],
    [
      'linear DELLA of two experts',
      { method: 'della_linear', models: ['a', 'b'], density: 0.4, epsilon: 0.15 },
    ],
  ];

  it.each(random)('keep, shift and spread alike: %s', async (name, { method, models, density, epsilon }) => {
    const root = temporaryDirectory();
    const paths = writeSmall(root, 'F32');
    const merged: string[] = [];
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const { out } = await merge(
        {
          method,
          base: paths.base,
          models: models.map((model) => paths[model]),
          weights: models.map(() => 1),
          density,
          ...(epsilon === undefined ? {} : { epsilon }),
          dtype: 'float32',
          seed,
        } as RecipeInput,
        { out: join(root, `ours-${seed}`) },
      );
      merged.push(out);
    }
    const recipe = join(root, 'recipe.json');
    const parameters = { weight: 1, density, ...(epsilon === undefined ? {} : { epsilon }) };
    const peerRecipe = {
      merge_method: method,
      base_model: paths.base,
      dtype: 'float32',
      out_dtype: 'float32',
      models: models.map((model) => ({ model: paths[model], parameters })),
    };
    writeFileSync(recipe, JSON.stringify(peerRecipe));
    const result = (await run(script('random_methods.py'), recipe, paths.base, String(SEEDS), ...merged)) as {
      elements: number;
      peer: Description[];
      merged: Description[];
    };

    const figures = (['kept', 'mean', 'variance'] as const).map((key) => {
      const [ours, theirs] = [result.merged, result.peer].map((all) => all.map((one) => one[key])) as [
        number[],
        number[],
      ];
      const error = Math.sqrt(squaredError(ours) + squaredError(theirs));
      return { key, ours: average(ours), theirs: average(theirs), error };
    });
    record(`Random methods, ${SEEDS} seeds each`, {
      case: name,
      method,
      ...Object.fromEntries(
        figures.map(({ key, ours, theirs, error }) => [
          `${key} (mergekit, standard error)`,
          `${ours.toPrecision(5)} (${theirs.toPrecision(5)}, ${error.toPrecision(1)})`,
        ]),
      ),
    });
    for (const { key, ours, theirs, error } of figures)
      expect(Math.abs(ours - theirs), key).toBeLessThanOrEqual(ERRORS * error);
    // With one expert each element is an independent coin: the kept share over all seeds has a known error.
    if (models.length === 1)
      expect(Math.abs((figures[0]?.ours ?? 0) - density)).toBeLessThanOrEqual(
        ERRORS * Math.sqrt((density * (1 - density)) / (result.elements * SEEDS)),
      );
  });
});

const dialects: [
  'peft' | 'paper',
  { density: number; models: ('a' | 'b' | 'c')[]; lambda?: number; weights?: number[] },
][] = [
  ['peft', { density: 0.2, models: ['a', 'b', 'c'] }],
  ['peft', { density: 0.5, models: ['a', 'b'], weights: [0.7, 1.2] }],
  ['paper', { density: 0.2, models: ['a', 'b', 'c'] }],
  ['paper', { density: 0.5, models: ['a', 'b'], lambda: 0.7 }],
];

const checkDialect = async (
  what: string,
  [dialect, { density, models, lambda = 1, weights = models.map(() => 1) }]: (typeof dialects)[number],
  paths: Readonly<Record<string, string>>,
) => {
  const chosen = models.map((model) => paths[model] ?? '');
  const base = paths['base'] ?? '';
  const { out } = await merge(
    { method: 'ties', dialect, base, models: chosen, weights, density, lambda, dtype: 'bfloat16' },
    { out: join(temporaryDirectory(), 'out') },
  );
  const numbers = ['--density', density, '--lambda', lambda, '--weights', ...weights].map(String);
  const result = (await run(script('ties_dialects.py'), dialect, out, base, ...chosen, ...numbers)) as Pick<
    Comparison,
    'elements' | 'beyond' | 'undecided' | 'undecided_beyond'
  > & { readonly cancelled: number };
  record('Dialects of TIES', {
    dialect,
    checkpoints: what,
    experts: models.length,
    density,
    elements: result.elements,
    'changes cancel': dialect === 'paper' ? result.cancelled : '',
    'further than one unit apart': result.beyond,
    undecided: dialect === 'peft' ? result.undecided : '',
    'of these apart': dialect === 'peft' ? result.undecided_beyond : '',
  });
  expect(result.beyond / result.elements).toBeLessThanOrEqual(1e-5);
};

describe.each([
  ['peft', 'peft'],
  ['paper', 'torch'],
] as const)('TIES in the dialect %s (LAYERLOOM_PYTHON with %s)', (of, module) => {
  const isMissing = !imports(module);
  const cases = dialects.filter(([dialect]) => dialect === of);

  it.skipIf(isMissing).each(cases)('%s %o, small', async (...dialect) => {
    await checkDialect('small', dialect, writeSmall(temporaryDirectory(), 'BF16'));
  });

  it.skipIf(isMissing || !experts).each(cases)(
    '%s %o, real experts (LAYERLOOM_EXPERTS)',
    async (...dialect) => {
      const real = { base: 'base', a: 'math-1', b: 'jpn-1', c: 'jpn-2' };
      const paths = Object.entries(real).map(([name, directory]) => [name, join(experts ?? '', directory)]);
      await checkDialect('real', dialect, Object.fromEntries(paths));
    },
  );
});
