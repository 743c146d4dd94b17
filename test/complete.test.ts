import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { byNorms } from '../src/core/measure/proof/rounding.js';
import { sparsifying } from '../src/core/measure/proof/sparsifying.js';
import { formulaKinds } from '../src/core/methods/operations/index.js';
import { tuners } from '../src/core/models/adapters/kinds/tuners.js';
import { solutionNumbers } from '../src/core/native/solve.js';
import { methods } from '../src/index.js';
import { paperLayouts } from '../src/study/paper/tables/index.js';
import { generalLayouts } from '../src/study/scores/tables.js';
import { everyMethod } from './fixtures/every-method.js';

// Checks lists that the compiler does not: in tests, in the other language, and in pages.

const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');

/** Quoted words that follow `kind:` or open an entry. */
const named = (text: string, pattern: RegExp): string[] =>
  [...text.matchAll(pattern)].map(([, name = '']) => name).sort();

/** The kinds of node that TypeScript may write. */
const nodeKinds = named(
  read('src/core/native/job.ts').split('export type NodeOperation')[1]?.split('\n\n')[0] ?? '',
  /\bkind: '(\w+)'/g,
);

const solverKinds = Object.keys(solutionNumbers).sort();

const builtIn = [...methods.keys()];

describe('a list of all', () => {
  it('methods is what the tests of bits, plans and aborts run through', () => {
    const recipes = Object.values(everyMethod({ base: 'base', a: 'a', b: 'b', c: 'c' }));
    const made = new Set(recipes.map(({ method }) => method));
    // Tested elsewhere: swap and soup in test/engine/run-plan.test.ts; mixture, fisher, regmean and
    // transplant, which need other models, in test/methods.
    expect(builtIn.filter((name) => !made.has(name as never))).toEqual([
      'layer_swap',
      'relayout',
      'fisher',
      'regmean',
      'mixture',
      'transplant',
    ]);
  });

  it('methods stands in the tests of methods, and in the bench of their floors', () => {
    const files = readdirSync(new URL('methods', import.meta.url)).filter((file) =>
      file.endsWith('.test.ts'),
    );
    const tests = files.map((file) => read(`test/methods/${file}`)).join('\n');
    // A function of test/methods/mixture.test.ts writes its recipes.
    const tried = builtIn.filter((name) => new RegExp(`'${name}'|method: ${name}\\b`).test(tests));
    expect(builtIn.filter((name) => !tried.includes(name))).toEqual(['mixture']);
    const bench = read('bench/floors.mjs');
    expect(builtIn.filter((name) => !new RegExp(`\\b${name}\\b`).test(bench))).toEqual([]);
  });

  it('methods is divided by what proofs allow: rounded norms, changes at a threshold, or neither', () => {
    const neither = builtIn.filter((name) => !byNorms.test(name) && !sparsifying.test(name));
    expect(neither).toEqual([
      ...['layer_swap', 'soup', 'revert', 'relayout', 'linear', 'passthrough', 'task_arithmetic'],
      ...['ram', 'ramplus_tl', 'fisher', 'regmean', 'iso_c', 'tsv_m', 'mixture', 'transplant'],
    ]);
  });

  it.each<[string, string, string[]]>([
    ['adapters', 'test/fixtures/adapter-kinds.ts', tuners.map(({ type }) => `'${type}'`)],
    ['adapters', 'docs/adapters.md', tuners.map(({ type }) => `| \`${type}\``)],
    [
      'tables',
      'docs/tables.md',
      Object.keys({ ...paperLayouts, ...generalLayouts }).map((name) => `\`${name}`),
    ],
  ])('%s stands in %s', (_, file, names) => {
    const text = read(file);
    expect(names.length).toBeGreaterThan(5);
    expect(names.filter((name) => !text.includes(name))).toEqual([]);
  });

  it.each<[string, string[]]>([
    ['test/fixtures/plan-fuzz.mjs', []],
    ['test/plan/shard-key.test.ts', []],
    ['docs/files.md', []],
    // Methods do not write these: they stand for averaged integers, different vocabularies and quantised
    // weights.
    ['docs/methods.md', ['same', 'assemble', 'padRows', 'concatenate', 'factor', 'quantise']],
  ])('formulas stands in %s', (file, without) => {
    const text = read(file);
    expect(formulaKinds.filter((kind) => !new RegExp(`['\`]${kind}['\`]`).test(text))).toEqual(without);
  });

  it.each([
    ['nodes', nodeKinds, 'native/addon/decode_program.cpp', 'kOperations[]'],
    ['solvers', solverKinds, 'native/addon/decode_solve.cpp', 'kSolvers[]'],
  ] as const)('%s has the same names in both languages', (_, kinds, file, table) => {
    expect(kinds.length).toBeGreaterThan(3);
    const text = read(file).split(table)[1]?.split('\n};')[0] ?? '';
    expect(named(text, /^ {4}\{"(\w+)"/gm)).toEqual(kinds);
  });

  it.each(['test/native/door.test.ts', 'test/native/fuzz/jobs.mjs'])(
    'nodes and solvers stand in %s',
    (file) => {
      const text = read(file);
      const kinds = [...nodeKinds, ...solverKinds];
      expect(kinds.filter((kind) => !new RegExp(`\\b${kind}\\b`).test(text))).toEqual([]);
    },
  );

  it('instruction sets is built and offered', () => {
    const [cmake, dispatch] = [read('CMakeLists.txt'), read('native/kernels/dispatch.cpp')];
    for (const file of readdirSync(new URL('../native/kernels/targets', import.meta.url))) {
      const table = /const Kernels (k\w+)/.exec(read(`native/kernels/targets/${file}`))?.[1];
      expect(table, file).toBeDefined();
      expect(cmake).toContain(`targets/${file}`);
      expect(dispatch).toContain(`&${table}`);
    }
  });
});
