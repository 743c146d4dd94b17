import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { itemAt } from '../../src/core/base/errors/lookup.js';
import { merge } from '../../src/index.js';

// Whole merges of models with different vocabularies, element by element; tokens alone: tokenizers.test.ts.

const { LAYERLOOM_PYTHON: python, LAYERLOOM_EXPERTS: experts, LAYERLOOM_MGSM: mgsm } = process.env;
const { LAYERLOOM_VOCABULARIES_ONLY: only = '', LAYERLOOM_VOCABULARIES_TABLE: table } = process.env;
const canRun =
  python !== undefined &&
  experts !== undefined &&
  mgsm !== undefined &&
  spawnSync(python, ['-c', 'import mergekit']).status === 0;

const pairs = ['one-added', 'several-added', 'padded', 'reordered', 'two-bpe'];
const weights = [0.5, 0.3, 0.7];

const listed = (models: readonly string[], parameters: (index: number) => string): string =>
  models.map((model, index) => `  - { model: ${model}, parameters: { ${parameters(index)} } }\n`).join('');
const linear = (models: readonly string[]) =>
  `merge_method: linear\nmodels:\n${listed(models, (index) => `weight: ${weights[index]}`)}`;
const ofBase = (method: string, [base, ...others]: readonly string[], parameters: string) =>
  `merge_method: ${method}\nbase_model: ${base}\nmodels:\n  - model: ${base}\n${listed(others, () => parameters)}`;

const recipes: Readonly<Record<string, (models: readonly string[]) => string>> = {
  'linear union': (models) => `${linear(models)}tokenizer_source: union\n`,
  'linear padded': (models) => `${linear(models)}tokenizer: { pad_to_multiple_of: 64 }\n`,
  'linear of the second': (models) => `${linear(models)}tokenizer_source: ${models[1]}\n`,
  'slerp union': (models) =>
    `${ofBase('slerp', models.slice(0, 2), '')}parameters: { t: 0.3 }\ntokenizer_source: union\n`,
  'ties base': (models) => `${ofBase('ties', models, 'weight: 0.7, density: 0.6')}tokenizer_source: base\n`,
  'task_arithmetic union': (models) =>
    `${ofBase('task_arithmetic', models, 'weight: 0.7')}tokenizer_source: union\n`,
};

const cases = ['tied', 'untied']
  .flatMap((heads) =>
    pairs.flatMap((pair) => Object.entries(recipes).map(([recipe, text]) => ({ heads, pair, recipe, text }))),
  )
  .map((one) => ({ ...one, name: `${one.pair}, ${one.heads}, ${one.recipe}` }))
  .filter(({ name }) => name.includes(only));

const script = (name: string) => fileURLToPath(new URL(name, import.meta.url));

interface Result {
  readonly [key: string]: unknown;
  readonly elements: number;
  readonly apart: number;
  readonly further: number;
  readonly largest: number;
  readonly rows: number;
}

describe.skipIf(!canRun)(
  'merges of vocabularies that differ (LAYERLOOM_PYTHON with mergekit, LAYERLOOM_EXPERTS, LAYERLOOM_MGSM)',
  () => {
    let work: string;
    let results: readonly Result[];

    beforeAll(async () => {
      work = mkdtempSync(join(tmpdir(), 'layerloom-'));
      const run = (args: readonly string[], input = '') =>
        execFileSync(python ?? '', args, {
          env: { ...process.env, HF_HUB_OFFLINE: '1', OMP_NUM_THREADS: '1' },
          input,
          maxBuffer: 2 ** 28,
          stdio: ['pipe', 'pipe', 'inherit'],
        }).toString();
      run([script('tokenizers/make_pairs.py'), experts ?? '', mgsm ?? '', join(work, 'pairs')]);
      run([script('vocabularies/make_weights.py'), join(work, 'pairs'), join(work, 'models'), ...pairs]);
      const lines = ['bn', 'en', 'ja', 'sw', 'te'].flatMap((language) =>
        readFileSync(join(mgsm ?? '', `mgsm_${language}.tsv`), 'utf8')
          .split('\n')
          .slice(0, 200),
      );
      writeFileSync(join(work, 'lines.txt'), lines.join('\n'));
      mkdirSync(join(work, 'recipes'));
      const orders = [];
      for (const [index, { heads, pair, text }] of cases.entries()) {
        const directory = join(work, 'models', heads, pair);
        const models = readdirSync(directory)
          .sort()
          .map((name) => join(directory, name));
        const recipe = join(work, 'recipes', `${index}.yaml`);
        writeFileSync(recipe, `${text(models)}dtype: float32\nout_dtype: bfloat16\n`);
        const ours = join(work, 'ours', String(index));
        await merge(recipe, { out: ours, threads: 1 });
        orders.push({ recipe, ours, out: join(work, 'theirs', String(index)) });
      }
      results = JSON.parse(
        run([script('vocabularies/compare_weights.py'), join(work, 'lines.txt')], JSON.stringify(orders)),
      ) as Result[];
      if (table !== undefined) writeFileSync(table, tableOf(results));
    }, 3_600_000);

    afterAll(() => rmSync(work, { recursive: true, force: true }));

    it.each(cases.map(({ name }, index) => [name, index] as const))('%s equals mergekit’s', (_, index) => {
      const result = itemAt(results, index);
      expect(result).toMatchObject({ tokens: [], shapes: [], texts: 1000, differing: [] });
      const [theirs, ours] = result['vocab_size'] as number[];
      expect(ours).toBe(theirs);
      // The limit in docs/parity.md; the smallest models have fewer than 100,000 elements.
      expect(result.further).toBeLessThanOrEqual(Math.max(1, result.elements / 100_000));
    });
  },
);

const tableOf = (results: readonly Result[]): string =>
  [
    '| models | heads | recipe | rows | elements | one unit apart or more | further apart | largest distance |',
    '| --- | --- | --- | --- | --- | --- | --- | --- |',
    ...results.map(({ rows, elements, apart, further, largest }, index) => {
      const { pair, heads, recipe } = itemAt(cases, index);
      return `| ${[pair, heads, recipe, rows, elements, apart, further, largest].join(' | ')} |`;
    }),
    '',
  ].join('\n');
