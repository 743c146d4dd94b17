import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { describeCommands } from '../../src/cli/framework/describe.js';
import { buildProgram } from '../../src/cli/program.js';
import { lora, writeAdapter } from '../fixtures/adapters.js';
import { llamaShapes, temporaryDirectory } from '../fixtures/checkpoints.js';
import { cli } from '../fixtures/cli.js';
import { standIn, stubHarness } from '../fixtures/evaluation-errors.js';
import { writeExperiment } from '../fixtures/experiment.js';
import { llamaStandIn } from '../fixtures/llama-cpp.js';
import { writeTrained } from '../fixtures/trained.js';
import { writeVocabulary } from '../fixtures/vocabulary.js';

const published = fileURLToPath(new URL('../../docs/tables/table-1.csv', import.meta.url));
const converter = llamaStandIn('convert-hf-to-gguf');
const harness = ['--lm-eval', stubHarness];

type Case = readonly [name: string, form: 'document' | 'events', args: readonly string[]];

/** Makes small models and an experiment. Returns commands in order: later ones read files of earlier ones. */
const prepare = (): { at: (name: string) => string; cases: readonly Case[] } => {
  const { root, file, out } = writeExperiment(
    '\n  - {name: default, method: layer_swap, bottom: [1, 2], top: 1}\n',
    { layers: 4 },
  );
  const at = (name: string) => join(root, name);
  const [math, swahili, base, store] = [at('math-1'), at('swh-1'), at('base'), join(out, '.store')];
  const evaluate = { tasks: { swahili: 'mgsm_direct_sw' } };
  writeFileSync(file, `${readFileSync(file, 'utf8')}\nevaluate: ${JSON.stringify(evaluate)}\n`);
  writeFileSync(
    at('ties.yaml'),
    `method: ties\nbase: ${base}\nmodels: [${math}, ${swahili}]\nweight: 0.5\ndensity: 0.5\n`,
  );
  writeAdapter(at('adapter'), lora({ shapes: llamaShapes({ layers: 4 }) }));
  writeTrained(at('trained'), base);
  writeFileSync(at('scores.csv'), 'name,score\nmath-1,0.5\nswh-1,0.4\n');
  const [words, more] = [
    ['a', 'b', 'c'],
    ['b', 'd', 'a'],
  ].map((tokens, model) => writeVocabulary(at(`words-${model}`), { tokens })) as [string, string];
  const layers = ['--bottom', '1', '--top', '1'];
  const some = [
    '--pair',
    'math-1+swh-1',
    '--budget',
    '100%',
    '--problems',
    '20',
    '--hold-out',
    '4',
    '--default',
    'default/b1',
  ];
  const cases: readonly Case[] = [
    ['completion', 'document', ['bash']],
    ['schema', 'document', ['recipe']],
    ['inspect', 'document', [math]],
    ['diff', 'document', [math, swahili]],
    ['doctor', 'document', [root]],
    ['swap', 'document', ['--task', math, '--lang', swahili, ...layers, '-o', at('swap')]],
    ['soup', 'document', [math, swahili, '-o', at('soup')]],
    ['revert', 'document', [math, '--base', base, ...layers, '-o', at('revert')]],
    ['apply', 'document', [base, at('adapter'), '-o', at('applied')]],
    ['transplant', 'document', [words, '--donor', more, '-k', '2', '-o', at('transplant')]],
    ['relayout', 'document', [math, '-o', at('relayout')]],
    ['verify', 'document', [at('swap')]],
    ['attest', 'document', [at('swap')]],
    ['chain', 'document', [at('swap')]],
    ['merge', 'document', [at('ties.yaml'), '-o', at('merge')]],
    ['merge', 'document', [at('ties.yaml'), '--dry-run']],
    ['merge', 'document', [at('ties.yaml'), '--explain', 'model.norm.weight']],
    ['analyze', 'document', ['--base', base, math, swahili, ...layers, '-o', at('analysis')]],
    ['suggest', 'document', ['--base', base, '--task', math, '--lang', swahili, '-o', at('suggested.yaml')]],
    ['partition', 'document', [base, ...layers, '-o', at('parts.json')]],
    ['train init', 'document', ['--preset', 'math-1', '-o', at('training')]],
    ['train status', 'document', [at('trained')]],
    ['tasks list', 'document', []],
    ['tasks data', 'document', [root]],
    ['train slurm', 'document', [at('trained')]],
    ['train snakemake', 'document', [at('trained')]],
    ['train kubernetes', 'document', [at('trained'), '--image', 'image', '--volume', `claim=${root}`]],
    ['extract-lora', 'document', ['--base', base, math, '--rank', '2', '-o', at('lora')]],
    ['experiment init', 'document', ['--preset', 'paper']],
    ['experiment init', 'document', ['--preset', 'paper', '-o', at('new.yaml')]],
    ['experiment slurm', 'document', [file]],
    ['experiment snakemake', 'document', [file]],
    ['experiment kubernetes', 'document', [file, '--image', 'image', '--volume', `claim=${dirname(file)}`]],
    ['batch', 'document', [file, '--dry-run']],
    ['batch', 'events', [file, '-o', out]],
    [
      'recipe choose',
      'document',
      ['--task', at('analysis/math-1.json'), '--lang', at('analysis/swh-1.json'), '--top', '1'],
    ],
    ['recipe export', 'document', [join(at('swap'), 'layerloom.json')]],
    ['push', 'document', [at('swap'), 'org/merged', '--dry-run']],
    ['export', 'document', [at('swap'), '--to', 'gguf', '--type', 'q8_0', '--converter', converter]],
    ['cache ls', 'document', []],
    ['cache gc', 'document', ['--all', '--dry-run']],
    ['store ls', 'document', [store]],
    ['store verify', 'document', [store]],
    ['store gc', 'document', [store, '--dry-run']],
    ['evaluate', 'document', [out, '--print', ...harness]],
    ['evaluate', 'document', [out, '--dry-run', ...harness]],
    ['evaluate', 'events', [out, ...harness]],
    ['try', 'document', [math, swahili, 'What is 3 + 4?', '--lm-eval', standIn]],
    ['table', 'document', [out]],
    ['table', 'document', ['--summaries', published, '--format', 'csv', '-o', at('table.csv')]],
    ['report', 'document', [out, '-o', at('report.html')]],
    ['draw', 'document', [out, '-o', at('figures')]],
    ['rescore', 'document', [out, '--filter', 'strict-match']],
    ['bundle', 'document', [out, '-o', at('study.tar')]],
    ['rebuild', 'document', [at('study.tar'), '-o', at('rebuilt')]],
    ['select', 'document', ['--scores', at('scores.csv'), '--analysis', at('analysis'), '--count', '2']],
    ['search', 'document', [file, '--dry-run', ...some]],
    ['search', 'events', [file, '-o', at('search'), ...some, ...harness]],
  ];
  return { at, cases };
};

describe('--json', () => {
  it('makes each command print JSON alone', { timeout: 300_000 }, async () => {
    const { at, cases } = prepare();
    for (const [name, form, args] of cases) {
      const { code, stdout, stderr } = await cli([...name.split(' '), ...args, '--json', '-q']);
      expect([code, stderr], name).toEqual([0, '']);
      expect(isOf(form, stdout), `${name}\n${stdout}`).toBe(true);
    }
    expect(readFileSync(at('table.csv'), 'utf8')).toMatch(/^table,/);
    const known = describeCommands(buildProgram()).filter(
      ({ path, subcommands }) => path.length > 0 && subcommands.length === 0,
    );
    const tried = new Set(cases.map(([name]) => name));
    // `build` compiles for a minute: npm run test:install runs it.
    expect(known.map(({ path }) => path.join(' ')).filter((name) => !tried.has(name))).toEqual(['build']);
  });

  it('prints an error as one document, and as the last line after events', async () => {
    const { at, cases } = prepare();
    for (const [name, form, args] of cases.filter(([name]) =>
      ['batch', 'table', 'store ls'].includes(name),
    )) {
      const { code, stdout } = await cli([...name.split(' '), ...args, '--json', '--no-such-option']);
      expect(code).toBe(2);
      expect(isOf(form, stdout), `${name}\n${stdout}`).toBe(true);
      expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'USAGE' } });
    }
    const [batch] = cases.filter(([name, form]) => name === 'batch' && form === 'events');
    truncateSync(join(at('math-1'), 'model.safetensors'), 9000);
    const { code, stdout } = await cli(['batch', ...(batch?.[2] ?? []), '--json']);
    expect(code).toBe(3);
    expect(JSON.parse(stdout.trim().split('\n').at(-1) ?? '')).toHaveProperty('error.code');
  });

  it('prints a result once, which says what failed, and the error on stderr', async () => {
    const { cases } = prepare();
    const [, , batch] = cases.find(([name, form]) => name === 'batch' && form === 'events') ?? [];
    if (batch === undefined) throw new Error('no such case');
    await cli(['batch', ...batch]);
    const results = temporaryDirectory();
    writeFileSync(join(results, 'results_2026.json'), '{');
    const load = [batch.at(-1) ?? '', '--import', results];
    const { code, stdout, stderr } = await cli(['evaluate', ...load, '--json']);
    expect(code).toBe(4);
    expect(JSON.parse(stdout)).toMatchObject({
      imported: [],
      failed: [{ file: expect.stringContaining('results_2026') }],
    });
    expect(stderr).toContain('error: ');
  });

  it('describes commands with --help', async () => {
    const { stdout } = await cli(['experiment', '--help', '--json']);
    const { commands } = JSON.parse(stdout) as { commands: { path: string[] }[] };
    expect(commands.map(({ path }) => path.join(' '))).toEqual([
      'experiment',
      'experiment init',
      'experiment slurm',
      'experiment snakemake',
      'experiment kubernetes',
    ]);
    const swap = JSON.parse((await cli(['swap', '-h', '--json'])).stdout);
    expect(swap.commands).toEqual(
      JSON.parse(JSON.stringify(describeCommands(buildProgram()).filter(({ path }) => path[0] === 'swap'))),
    );
  });
});

const isOf = (form: 'document' | 'events', stdout: string): boolean => {
  const parts = form === 'events' ? stdout.trim().split('\n') : [stdout];
  try {
    return parts.every((part) => typeof JSON.parse(part) === 'object');
  } catch (error) {
    if (error instanceof SyntaxError) return false;
    throw error;
  }
};
