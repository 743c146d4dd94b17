import { lstatSync, mkdirSync, readdirSync, rmSync, statfsSync, truncateSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { type MergeCommandOptions, mergeCommand } from '../../src/cli/work/merging/merge.js';
import { type BatchCommandOptions, batchCommand } from '../../src/cli/work/studies/batch.js';
import { checkOutput } from '../../src/core/engine/output/output.js';
import { openStaging } from '../../src/core/engine/output/staging.js';
import { tryLock } from '../../src/core/native/addon.js';
import { LayerloomError, planMerge, relayout, runExperiment } from '../../src/index.js';
import { lockName } from '../../src/study/batch/planning/record-names.js';
import { assemble, llama, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { onOtherFileSystem } from '../fixtures/other-file-system.js';
import { writeHeadersOnly } from '../fixtures/range-cache.js';

// A dry run refuses the same as a run before its first weight, and writes nothing.

const layers = 4;

interface Folder {
  readonly root: string;
  readonly base: string;
  readonly a: string;
  readonly b: string;
  readonly out: string;
}

const writeModels = (): Folder => {
  const root = temporaryDirectory();
  const [base = '', a = '', b = ''] = ['base', 'a', 'b'].map((name, seed) =>
    writeCheckpoint(join(root, name), llama({ layers, seed: seed + 1 })),
  );
  return { root, base, a, b, out: join(root, 'out') };
};

const codeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'done',
    (error: unknown) => (error instanceof LayerloomError ? error.code : error),
  );

const filesIn = (directory: string): string[] =>
  readdirSync(directory, { recursive: true })
    .map((name) => {
      const { size, mtimeMs } = lstatSync(join(directory, String(name)));
      return `${String(name)} ${size} ${mtimeMs}`;
    })
    .sort();

/** The outcome of a command as a dry run, which must change no file, and then as a run. */
const bothOf = async (root: string, command: (dryRun: boolean) => Promise<unknown>): Promise<unknown[]> => {
  const before = filesIn(root);
  const dry = await codeOf(command(true));
  expect(filesIn(root)).toEqual(before);
  return [dry, await codeOf(command(false))];
};

/** A directory outside the file system of temporary directories. */
const elsewhere = (): string => {
  const directory = onOtherFileSystem();
  if (directory === undefined) throw new Error('there is no other file system');
  return directory;
};

/** Writes sparse models that are larger than the disk. */
const writeHuge = (...directories: readonly string[]): void => {
  const { bavail, bsize } = statfsSync(temporaryDirectory());
  const bytes = bavail * bsize + 2 ** 30;
  const name = 'model.embed_tokens.weight';
  const start = assemble(
    JSON.stringify({ [name]: { dtype: 'U8', shape: [bytes], data_offsets: [0, bytes] } }),
  );
  for (const directory of directories) {
    mkdirSync(directory, { recursive: true });
    const file = join(directory, 'model.safetensors');
    writeFileSync(file, start);
    truncateSync(file, start.length + bytes);
  }
};

type Scenario = (folder: Folder) => Promise<Partial<MergeCommandOptions> & { recipe?: unknown }>;

describe('a merge', () => {
  it.each<[string, string, Scenario]>([
    ['OUTPUT_INSIDE_INPUT', 'an output in an input', async ({ a }) => ({ out: join(a, 'out') })],
    [
      'OUTPUT_INVALID',
      'an output that is a file',
      async ({ out }) => {
        writeFileSync(out, '');
        return {};
      },
    ],
    [
      'OUTPUT_NOT_OURS',
      'an output with the files of others',
      async ({ out }) => {
        mkdirSync(join(out, 'theirs'), { recursive: true });
        return { force: true };
      },
    ],
    [
      'WRITE_FAILED',
      'an output below a file',
      async ({ root }) => {
        writeFileSync(join(root, 'file'), '');
        return { out: join(root, 'file', 'out') };
      },
    ],
    [
      'OUTPUT_BUSY',
      'an output that another merge writes',
      async ({ a, b, out }) => {
        const plan = await planMerge({ method: 'soup', models: [a, b] });
        const held = await openStaging(await checkOutput({ inputs: [] }, out, false), plan, false);
        onTestFinished(() => held.discard());
        return {};
      },
    ],
    [
      'RESUME_MISMATCH',
      'another merge to continue',
      async ({ a, b, out }) => {
        const former = await planMerge({ method: 'soup', models: [a, b], weights: [1, 2] });
        await (await openStaging(await checkOutput({ inputs: [] }, out, false), former, true)).keep();
        return { resume: true };
      },
    ],
    [
      'LINK_REFUSED',
      'hard links between file systems',
      async ({ root, a }) => {
        await relayout({ model: a }, { out: join(root, 'laid-out') });
        const recipe = { method: 'relayout', model: join(root, 'laid-out') };
        return { recipe, link: 'hard', out: join(elsewhere(), 'out') };
      },
    ],
    [
      'ANALYSIS_MISMATCH',
      'an analysis that is not there',
      async ({ root, base, a }) => ({
        recipe: { method: 'revert', base, model: a, threshold: 0.01 },
        analysis: join(root, 'none'),
      }),
    ],
    [
      'TEMPLATE_INVALID',
      'a chat template that is none',
      async ({ a, b }) => ({
        recipe: { method: 'soup', models: [a, b], chatTemplate: '{% for %}' },
      }),
    ],
    [
      'MODEL_NOT_FOUND',
      'a model that is not there',
      async ({ root, a }) => ({
        recipe: { method: 'soup', models: [a, join(root, 'none')] },
      }),
    ],
    ['INVALID_PARAMETER', 'no number of threads', async () => ({ threads: 0 })],
  ])('is refused as a dry run too: %s, %s', async (code, _, scenario) => {
    const folder = writeModels();
    const { recipe = { method: 'soup', models: [folder.a, folder.b] }, ...options } = await scenario(folder);
    expect(
      await bothOf(folder.root, (dryRun) =>
        mergeCommand(recipe as never, { out: folder.out, quiet: true, ...options, dryRun }),
      ),
    ).toEqual([code, code]);
  });

  it.each<[string, RegExp, (folder: Folder) => Promise<unknown>]>([
    [
      'OUTPUT_EXISTS',
      /will need `force`/,
      async ({ a, out }) => {
        writeCheckpoint(out, llama({ layers }));
        return { method: 'soup', models: [a] };
      },
    ],
    [
      'DOWNLOAD_NEEDED',
      /with `download`/,
      async ({ root, a }) => ({
        method: 'relayout',
        model: writeHeadersOnly(join(root, 'ranges'), 'org/name', a),
      }),
    ],
    [
      'DISK_SPACE',
      /needs \d+ bytes and its disk has \d+ free/,
      async ({ root }) => {
        writeHuge(join(root, 'huge'));
        return { method: 'soup', models: [join(root, 'huge')] };
      },
    ],
    [
      'MEMORY_NEEDED',
      /needs 3\d\.\d MB of memory, also with one thread, .* has 30\.0 MB; use iso_c/,
      async ({ base, a, b }) => {
        vi.spyOn(process, 'constrainedMemory').mockReturnValue(30e6);
        return { method: 'tsv_m', base, models: [a, b] };
      },
    ],
  ])('says in its dry run what is missing: %s', async (code, words, scenario) => {
    const folder = writeModels();
    const recipe = (await scenario(folder)) as never;
    const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    onTestFinished(() => void vi.restoreAllMocks());
    expect(await bothOf(folder.root, (dryRun) => mergeCommand(recipe, { out: folder.out, dryRun }))).toEqual([
      'done',
      code,
    ]);
    expect(written.mock.calls.join()).toMatch(words);
  });
});

/** Gives a process too little memory for all of four threads, and returns its warnings. */
const warnedOf = async (work: () => Promise<unknown>): Promise<string[]> => {
  vi.spyOn(process, 'constrainedMemory').mockReturnValue(55e6);
  const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  await work().finally(() => vi.restoreAllMocks());
  return written.mock.calls.join().match(/\d of 4 threads are used: each takes .* MB for \S+, and/g) ?? [];
};

it('says in a dry run of a merge and of a batch that fewer threads are used, as the run does', async () => {
  const { root, base, a, b, out } = writeModels();
  const recipe = { method: 'tsv_m' as const, base, models: [a, b] };
  const merged = await warnedOf(() => mergeCommand(recipe, { out, threads: 4 }));
  expect(merged).toHaveLength(1);
  const file = join(root, 'experiment.yaml');
  writeFileSync(file, experiment('', '  - {name: tsv, method: tsv_m}\n'));
  const run = { experiment: file, out: join(root, 'batch'), threads: 4 };
  expect(
    await warnedOf(() => mergeCommand(recipe, { out: join(root, 'again'), threads: 4, dryRun: true })),
  ).toEqual(merged);
  expect(await warnedOf(() => batchCommand({ ...run, dryRun: true }))).toEqual(merged);
  expect(await warnedOf(() => batchCommand(run))).toEqual(merged);
});

const experiment = (more: string, merges = '  - {name: soup, method: soup}\n') =>
  `base: ./base\ntasks: {a: ./a}\nlanguages: {x: {b: ./b}}\n${more}merges:\n${merges}`;

describe('a batch', () => {
  it.each<[string, string, (folder: Folder) => Promise<Partial<BatchCommandOptions> & { text?: string }>]>([
    [
      'OUTPUT_BUSY',
      'a directory in which another batch runs',
      async ({ out }) => {
        mkdirSync(out);
        const lock = await open(join(out, lockName), 'a');
        tryLock(lock.fd);
        onTestFinished(() => lock.close());
        return {};
      },
    ],
    [
      'WRITE_FAILED',
      'an output below a file',
      async ({ root }) => {
        writeFileSync(join(root, 'file'), '');
        return { out: join(root, 'file', 'out') };
      },
    ],
    [
      'STORE_INVALID',
      'a store that is none',
      async ({ root }) => {
        mkdirSync(join(root, 'store', 'theirs'), { recursive: true });
        return { store: join(root, 'store') };
      },
    ],
    ['LINK_REFUSED', 'a store on another file system', async () => ({ store: join(elsewhere(), 'store') })],
    [
      'ANALYSIS_MISMATCH',
      'an analysis that is not there',
      async ({ root }) => ({
        text: experiment('', '  - {name: m, method: soup, weights: magnitude}\n'),
        analysis: join(root, 'none'),
      }),
    ],
    [
      'SHAPE_MISMATCH',
      'models that do not fit, in a merge that needs statistics',
      async ({ root }) => {
        writeCheckpoint(join(root, 'b'), llama({ layers, hidden: 32 }));
        return {
          text: experiment('', '  - {name: back, method: revert, model: language, threshold: 0.01}\n'),
        };
      },
    ],
    [
      'TOO_MANY_LAYERS',
      'more layers than there are',
      async () => ({ text: experiment('', '  - {name: d, method: layer_swap}\n') }),
    ],
    [
      'BATCH_INCOMPLETE',
      'more layers than there are in one merge of two',
      async () => ({
        text: experiment('', '  - {name: d, method: layer_swap, bottom: [1, 5], top: 0}\n'),
      }),
    ],
    [
      'CONFIG_INVALID',
      'a side file that is none',
      async ({ a }) => {
        writeFileSync(join(a, 'generation_config.json'), '{');
        return {};
      },
    ],
    [
      'INVALID_PARAMETER',
      'a parameter that is none',
      async () => ({ text: experiment('', '  - {name: t, method: ties, density: 2}\n') }),
    ],
    [
      'MODEL_NOT_FOUND',
      'a model that is not there',
      async ({ b }) => {
        rmSync(b, { recursive: true });
        return {};
      },
    ],
    ['JOBS_OUTDATED', 'jobs of another version', async () => ({ expect: '0.0.1:0000000000000000' })],
    ['INVALID_PARAMETER', 'a part that is none', async () => ({ part: '3/3' })],
  ])('is refused as a dry run too: %s, %s', async (code, _, scenario) => {
    const folder = writeModels();
    const { text = experiment(''), ...options } = await scenario(folder);
    const file = join(folder.root, 'experiment.yaml');
    writeFileSync(file, text);
    expect(
      await bothOf(folder.root, (dryRun) =>
        batchCommand({ experiment: file, out: folder.out, quiet: true, ...options, dryRun }),
      ),
    ).toEqual([code, code]);
  });

  it('says in its dry run that the disk is too small', async () => {
    const { root, out } = writeModels();
    writeHuge(join(root, 'huge'), join(root, 'other'));
    const file = join(root, 'experiment.yaml');
    writeFileSync(
      file,
      'tasks: {a: ./huge}\nlanguages: {x: {b: ./other}}\nmerges:\n  - {name: soup, method: linear, weight: 1}\n',
    );
    const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    onTestFinished(() => void vi.restoreAllMocks());
    expect(await bothOf(root, (dryRun) => batchCommand({ experiment: file, out, dryRun }))).toEqual([
      'done',
      'DISK_SPACE',
    ]);
    expect(written.mock.calls.join()).toMatch(/needs \d+ bytes and its disk has \d+ free/);
  });

  it('says in its dry run that it needs --resume', async () => {
    const { root, out } = writeModels();
    const file = join(root, 'experiment.yaml');
    writeFileSync(file, experiment(''));
    await runExperiment(file, { out });
    const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    onTestFinished(() => void vi.restoreAllMocks());
    expect(await bothOf(root, (dryRun) => batchCommand({ experiment: file, out, dryRun }))).toEqual([
      'done',
      'OUTPUT_EXISTS',
    ]);
    expect(written.mock.calls.join()).toContain('`resume`');
    expect(readdirSync(out)).toContain('experiment.json');
  });
});
