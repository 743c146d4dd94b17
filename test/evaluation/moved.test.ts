import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  evaluateExperiment,
  planEvaluation,
  planExperiment,
  runExperiment,
  scoreTables,
} from '../../src/index.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { stubHarness } from '../fixtures/evaluation-errors.js';
import { contentsOf, writeExperiment } from '../fixtures/experiment.js';

vi.setConfig({ testTimeout: 180_000, hookTimeout: 300_000 });

const lmEval = stubHarness;
const merges = `
  - {name: default, method: layer_swap, bottom: 2, top: 1}
  - {name: soup, method: soup, weights: [uniform, magnitude]}
  - {name: ties, method: ties, density: 0.2}
`;
const tasks = { swahili: ['mgsm_direct_sw', 'stub_perplexity'], english: 'mgsm_direct_en' };

interface Entry {
  readonly name: string;
  readonly scores?: Record<string, { readonly result: string }>;
}
const recordIn = (out: string) =>
  JSON.parse(readFileSync(join(out, 'experiment.json'), 'utf8')) as {
    readonly merges: readonly Entry[];
    readonly references: readonly Entry[];
    readonly left?: unknown;
  };

const scoresIn = (out: string): Record<string, string> => {
  const { merges: entries, references } = recordIn(out);
  return Object.fromEntries(
    [...references, ...entries].flatMap(({ name, scores = {} }) =>
      Object.entries(scores).map(([task, { result }]) => [`${name} ${task}`, result]),
    ),
  );
};

const place = mkdtempSync(join(tmpdir(), 'layerloom-'));
const study = join(place, 'study');
let scored: Record<string, string> = {};
afterAll(() => rmSync(place, { recursive: true, force: true }));

let log = '';
beforeEach(() => {
  log = join(temporaryDirectory(), 'log');
  vi.stubEnv('STUB_LOG', log);
});
afterEach(() => {
  vi.unstubAllEnvs();
});

/** Copies the study: each file gets another inode, and without `-a` another time. */
const copied = (...options: readonly string[]) => {
  const root = join(temporaryDirectory(), 'moved here');
  execFileSync('cp', [...options, study, root]);
  const at = (name: string) => join(root, name);
  return { root, at, file: at('experiment.yaml'), out: at('out') };
};

const resumed = async ({ file, out }: { readonly file: string; readonly out: string }) => {
  const { warnings, bytesWritten, cost } = await runExperiment(file, { out, resume: true });
  const lines = warnings.filter((line) => /counts? no more/.test(line));
  return { lines, bytesWritten, cost, scores: scoresIn(out) };
};

const change = (file: string): void => {
  const bytes = readFileSync(file);
  const place = 8 + Number(bytes.readBigUInt64LE(0)) + 4099;
  bytes[place] = (bytes[place] ?? 0) ^ 1;
  writeFileSync(file, bytes);
};

describe('a study that was moved with its models', () => {
  // The first test creates the study for the others.
  it('within its file system keeps its results', async () => {
    const { root, file, out } = writeExperiment(merges, { layers: 4 });
    writeFileSync(
      file,
      `${readFileSync(file, 'utf8')}\nevaluate: ${JSON.stringify({ tasks, fewshot: 8 })}\n`,
    );
    await runExperiment(file, { out });
    await evaluateExperiment(out, { lmEval });
    scored = scoresIn(out);
    expect(Object.keys(scored).length).toBe((5 + 16) * 3);
    renameSync(root, study);
    expect(await resumed({ file: join(study, 'experiment.yaml'), out: join(study, 'out') })).toMatchObject({
      lines: [],
      scores: scored,
      bytesWritten: 0,
    });
  });

  it.each([
    ['cp -a', ['-a']],
    ['cp -r, which sets other times', ['-r']],
  ])('by %s keeps its results, merges and shards', async (_how, options) => {
    const here = copied(...options);
    const store = contentsOf(here.at('out/.store/shards'), (path) => path.endsWith('.safetensors'));
    expect(await resumed(here)).toMatchObject({ lines: [], scores: scored, bytesWritten: 0 });
    expect(contentsOf(here.at('out/.store/shards'), (path) => path.endsWith('.safetensors'))).toEqual(store);
    const plan = await planEvaluation(here.out, { lmEval });
    expect({ models: plan.models, there: plan.there }).toEqual({
      models: [],
      there: Object.keys(scored).length,
    });
    await evaluateExperiment(here.out, { lmEval });
    expect(existsSync(log)).toBe(false);
    expect(recordIn(here.out).left).toBeUndefined();
    const again = join(temporaryDirectory(), 'again');
    execFileSync('cp', ['-r', here.root, again]);
    expect(await resumed({ file: join(again, 'experiment.yaml'), out: join(again, 'out') })).toMatchObject({
      lines: [],
      scores: scored,
      bytesWritten: 0,
    });
  });

  it('whose files all have later times than their records keeps its merges, and files of others', async () => {
    const here = copied('-r');
    const merges = join(here.out, 'swahili', 'math-1+swh-1');
    const later = new Date(Date.now() + 60_000);
    for (const name of readdirSync(merges, { recursive: true, encoding: 'utf8' }))
      if (!name.endsWith('layerloom.json')) utimesSync(join(merges, name), later, later);
    expect(await resumed(here)).toMatchObject({ lines: [], scores: scored, bytesWritten: 0 });
    const card = join(merges, 'default', 'README.md');
    const other = copied('-r');
    writeFileSync(join(other.out, 'swahili', 'math-1+swh-1', 'default', 'README.md'), 'mine');
    const { merges: outcomes } = await runExperiment(other.file, { out: other.out, resume: true });
    expect(outcomes.find(({ name }) => name === 'swahili/math-1+swh-1/default')).toMatchObject({
      state: 'failed',
    });
    expect(readFileSync(card, 'utf8')).not.toBe('mine');
    expect(readFileSync(join(other.out, 'swahili', 'math-1+swh-1', 'default', 'README.md'), 'utf8')).toBe(
      'mine',
    );
  });

  it('keeps them in a dry run, which writes nothing', async () => {
    const here = copied('-a');
    const before = contentsOf(here.root);
    const { cost, disk } = await planExperiment(here.file, { out: here.out, resume: true });
    expect([cost.bytesToWrite, disk.needed]).toEqual([0, 0]);
    expect(contentsOf(here.root)).toEqual(before);
  });

  it('finds models that were renamed, linked and downloaded again', async () => {
    const here = copied('-a');
    renameSync(here.at('math-1'), here.at('first-math'));
    renameSync(here.at('swh-1'), here.at('elsewhere'));
    symlinkSync(here.at('elsewhere'), here.at('swh-1'));
    execFileSync('cp', ['-r', here.at('math-2'), here.at('math-2-new')]);
    const text = readFileSync(here.file, 'utf8');
    writeFileSync(here.file, text.replace('./math-1', './first-math').replace('./math-2', './math-2-new'));
    expect(await resumed(here)).toMatchObject({ lines: [], scores: scored, bytesWritten: 0 });
  });

  it('says which results count no more where a model has changed, and how they count again', async () => {
    const here = copied('-a');
    const former = readFileSync(here.at('swh-2/model.safetensors'));
    change(here.at('swh-2/model.safetensors'));
    const isOf = (name: string) => name.includes('swh-2');
    const others = Object.fromEntries(Object.entries(scored).filter(([name]) => !isOf(name)));
    const lost = Object.keys(scored).length - Object.keys(others).length;
    const { lines, scores } = await resumed(here);
    expect(scores).toEqual(others);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(
      new RegExp(
        `^${lost} results count no more, of swh-2, .* and \\d+ others: its files or those that it is made of`,
      ),
    );
    expect(lines[0]).toContain(
      `They stay in ${here.out}/evaluations; to count again, put the former files back`,
    );
    expect(readdirSync(here.at('out/evaluations')).sort()).toEqual(
      readdirSync(join(study, 'out/evaluations')).sort(),
    );
    // Each command says it once; tables say it as long as it holds.
    expect((await resumed(here)).lines).toEqual([]);
    const { warnings } = await scoreTables([here.out], { tables: ['table-5'] });
    expect(warnings.filter((line) => line.startsWith(`${lost} results count no more`))).toHaveLength(1);
    // Scored again, it has its own scores; the former ones are no longer reported as missing.
    await evaluateExperiment(here.out, { lmEval, only: ['swh-2'] });
    expect(Object.keys(scoresIn(here.out)).filter((name) => name.startsWith('swh-2 '))).toHaveLength(3);
    writeFileSync(here.at('swh-2/model.safetensors'), former);
    expect(await resumed(here)).toMatchObject({ lines: [], scores: scored });
  });

  it('gives two models that changed places the results of what they are', async () => {
    const here = copied('-a');
    renameSync(here.at('swh-1'), here.at('former'));
    execFileSync('cp', ['-r', here.at('swh-2'), here.at('swh-1')]);
    execFileSync('rm', ['-r', here.at('swh-2')]);
    execFileSync('cp', ['-r', here.at('former'), here.at('swh-2')]);
    const exchanged = (name: string) =>
      name.replace(/swh-[12]/, (found) => (found === 'swh-1' ? 'swh-2' : 'swh-1'));
    const { lines, scores } = await resumed(here);
    expect(lines).toEqual([]);
    expect(scores).toEqual(
      Object.fromEntries(Object.entries(scored).map(([name, result]) => [exchanged(name), result])),
    );
  });

  it('takes no former identity that its samples do not have, whatever a record says', async () => {
    const here = copied('-a');
    const folder = here.at('out/evaluations/.contents');
    // Each record claims the content of every other model with the same header.
    const records = readdirSync(folder).map((name) => join(folder, name));
    const read = (file: string) => JSON.parse(readFileSync(file, 'utf8'));
    const contents = records.map((file) => read(file).files[0].sha256);
    for (const [index, file] of records.entries()) {
      const record = read(file);
      record.files[0].sha256 = contents[(index + 1) % contents.length];
      writeFileSync(file, JSON.stringify(record));
    }
    const { lines, scores } = await resumed(here);
    for (const [name, result] of Object.entries(scores)) expect(scored[name]).toBe(result);
    expect(lines).toHaveLength(1);
  });
});
