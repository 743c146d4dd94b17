import { createHash } from 'node:crypto';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { stagingPath } from '../../src/core/engine/output/staging.js';
import { layerSwap, type MergeOptions, openCheckpoint, planMerge, runPlan, soup } from '../../src/index.js';
import { fill, llama, temporaryDirectory, writeCheckpoint, writePair } from '../fixtures/checkpoints.js';
import { average, readTensors } from '../fixtures/merged.js';
import { counts, expectSwap } from '../fixtures/swapped.js';

// Slow disks.
vi.setConfig({ testTimeout: 180_000 });

describe.each(['BF16', 'F16', 'F32', 'F64'] as const)('a swap in %s', (dtype) => {
  it('has every element that the method says, to the bit', async () => {
    const { root, task, language, tensors } = writePair({ dtype });
    await layerSwap({ task, language, ...counts, weights: [3, 1] }, { out: join(root, 'out') });
    await expectSwap(join(root, 'out'), tensors, counts, [3, 1]);
  });
});

describe('a merge', () => {
  it('mixes dtypes, and has those of the first model', async () => {
    const root = temporaryDirectory();
    const [task, language] = [llama({ dtype: 'F16', seed: 1 }), llama({ dtype: 'F32', seed: 2 })];
    const paths = {
      task: writeCheckpoint(join(root, 't'), task),
      language: writeCheckpoint(join(root, 'l'), language),
    };
    await layerSwap({ ...paths, bottom: 1, top: 1 }, { out: join(root, 'out') });
    const merged = await readTensors(join(root, 'out'));
    const [embedding, swapped] = ['model.embed_tokens.weight', 'model.layers.0.mlp.gate_proj.weight'];
    const both = (name = '') =>
      [task.tensors[name], language.tensors[name]].flatMap((tensor) => tensor ?? []);
    expect(merged[embedding ?? '']?.dtype).toBe('F16');
    expect(merged[embedding ?? '']?.data).toEqual(Buffer.from(average('F16', both(embedding), [1, 1])));
    expect(merged[swapped ?? '']?.data).toEqual(Buffer.from(average('F16', both(swapped).slice(1), [1])));
  });

  it('is the same, byte for byte, with one thread and with many, in either layout’s tensors', async () => {
    const { root, task, language } = writePair({ hidden: 1024, layers: 2 });
    const merge = (out: string, options: Partial<MergeOptions>) =>
      layerSwap(
        { task, language, bottom: 0, top: 0, bottomTransition: 1 },
        { ...options, out: join(root, out) },
      );
    await merge('one', { threads: 1 });
    await merge('many', { threads: 5 });
    await merge('size', { layout: 'size', maxShardSize: '3MB' });
    for (const name of readdirSync(join(root, 'one')))
      expect(readFileSync(join(root, 'many', name)).equals(readFileSync(join(root, 'one', name))), name).toBe(
        true,
      );
    const [bySize, byLayer] = [await readTensors(join(root, 'size')), await readTensors(join(root, 'one'))];
    expect(Object.keys(bySize).sort()).toEqual(Object.keys(byLayer).sort());
    for (const [name, { data, ...rest }] of Object.entries(byLayer)) {
      expect(bySize[name]).toMatchObject(rest);
      expect(Buffer.compare(bySize[name]?.data ?? new Uint8Array(), data), name).toBe(0);
    }
  });

  it('of few bytes is made on the main thread, and is the same', async () => {
    const { root, task, language } = writePair();
    const merge = (out: string, threads?: number) =>
      layerSwap({ task, language, ...counts }, { out: join(root, out), threads });
    expect((await merge('main')).threads).toBe(1);
    expect((await merge('two', 2)).threads).toBe(2);
    for (const name of readdirSync(join(root, 'two')))
      expect(readFileSync(join(root, 'main', name)).equals(readFileSync(join(root, 'two', name))), name).toBe(
        true,
      );
  });

  it('on the main thread is stopped between its tasks', async () => {
    const { root, task, language } = writePair();
    const out = join(root, 'out');
    const plan = await planMerge({ method: 'layer_swap', task, language, ...counts });
    const controller = new AbortController();
    const begun = join(stagingPath(out), 'checkpoint');
    const timer = setInterval(() => {
      if (existsSync(begun) && readdirSync(begun).length > 0) controller.abort();
    }, 0);
    onTestFinished(() => clearInterval(timer));
    await expect(runPlan(plan, { out, sliceBytes: 4096, signal: controller.signal })).rejects.toMatchObject({
      code: 'INTERRUPTED',
    });
    expect(existsSync(out)).toBe(false);
  });

  it('of soups averages each tensor by the weights', async () => {
    const root = temporaryDirectory();
    const fixtures = [1, 2, 3].map((seed) => llama({ seed }));
    const models = fixtures.map((fixture, index) => writeCheckpoint(join(root, `${index}`), fixture));
    await soup({ models, weights: [1, 2, 5] }, { out: join(root, 'out') });
    for (const [name, { data }] of Object.entries(await readTensors(join(root, 'out')))) {
      const inputs = fixtures.flatMap(({ tensors }) => tensors[name] ?? []);
      expect(Buffer.compare(data, average('BF16', inputs, [1, 2, 5])), name).toBe(0);
    }
  });

  it('reads linked shards of a hub snapshot, and one bare file', async () => {
    const { root, task, tensors } = writePair();
    mkdirSync(join(root, 'snapshot'));
    symlinkSync('../language/model.safetensors', join(root, 'snapshot', 'model.safetensors'));
    await layerSwap(
      { task: join(task, 'model.safetensors'), language: join(root, 'snapshot'), ...counts },
      { out: join(root, 'out') },
    );
    expect(readdirSync(join(root, 'out')).filter((name) => !name.endsWith('.safetensors'))).toEqual([
      'README.md',
      'config.json',
      'layerloom.json',
      'model.safetensors.index.json',
    ]);
    await expectSwap(join(root, 'out'), tensors, counts);
  });

  it('writes tensors without elements and shards without bytes', async () => {
    const root = temporaryDirectory();
    const models = ['a', 'b'].map((name, seed) =>
      writeCheckpoint(join(root, name), {
        tensors: {
          ...fill({ 'model.layers.0.q.weight': [4] }, 'F32', seed),
          'lm_head.weight': { dtype: 'F32', shape: [0, 4], data: new Uint8Array() },
        },
      }),
    );
    await soup({ models }, { out: join(root, 'out') });
    expect((await readTensors(join(root, 'out')))['lm_head.weight']).toMatchObject({
      shape: [0, 4],
      data: Buffer.alloc(0),
    });
  });

  it('counts what it read and wrote, as the plan said', async () => {
    const { root, task, language } = writePair();
    const plan = await planMerge({ method: 'layer_swap', task, language, ...counts });
    const result = await runPlan(plan, { out: join(root, 'out') });
    expect(result.bytesRead).toBe(plan.cost.bytesToRead);
    expect(result.bytesWritten).toBe(plan.cost.bytesCopied + plan.cost.bytesComputed);
    for (const { file, bytes } of result.shards) expect(statSync(join(root, 'out', file)).size).toBe(bytes);
  });

  it('runs a plan that went through JSON', async () => {
    const { root, task, language, tensors } = writePair();
    const plan = await planMerge({ method: 'layer_swap', task, language, ...counts });
    await runPlan(JSON.parse(JSON.stringify(plan)) as typeof plan, { out: join(root, 'out') });
    await expectSwap(join(root, 'out'), tensors, counts);
  });

  it('reports progress up to the end', async () => {
    const { root, task, language } = writePair();
    const seen: number[] = [];
    await soup(
      { models: [task, language] },
      { out: join(root, 'out'), onProgress: ({ done, total }) => seen.push(done / total) },
    );
    expect(seen.at(-1)).toBe(1);
  });

  it('records recipe, inputs and, when asked, checksums, the same each time', async () => {
    const { root, task, language } = writePair();
    const merge = (out: string) =>
      layerSwap({ task, language, ...counts }, { out: join(root, out), checksums: true });
    const { shards } = await merge('one');
    await merge('two');
    const text = readFileSync(join(root, 'one', 'layerloom.json'), 'utf8');
    expect(readFileSync(join(root, 'two', 'layerloom.json'), 'utf8')).toBe(text);
    const sha256 = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex');
    for (const shard of shards) expect(shard.sha256).toBe(sha256(join(root, 'one', shard.file)));
    const provenance = JSON.parse(text) as {
      inputs: { files: { sha256: string }[] }[];
      recipe: unknown;
      files: string[];
    };
    expect(provenance.inputs[1]?.files[0]?.sha256).toBe(sha256(join(language, 'model.safetensors')));
    expect(provenance.recipe).toMatchObject({ bottom: 2, top_transition: 2, weights: [1, 1] });
    expect(provenance.files.sort()).toEqual(readdirSync(join(root, 'one')).sort());
  });

  it('leaves its inputs as they were', async () => {
    const { root, task, language } = writePair();
    const before = statSync(join(task, 'model.safetensors'), { bigint: true });
    await soup({ models: [task, language] }, { out: join(root, 'out') });
    const after = statSync(join(task, 'model.safetensors'), { bigint: true });
    expect([after.mtimeNs, after.mode, after.ino]).toEqual([before.mtimeNs, before.mode, before.ino]);
  });
});

describe('the output', () => {
  it('opens as a checkpoint that needs nothing else', async () => {
    const { root, task, language } = writePair();
    await layerSwap({ task, language, ...counts }, { out: join(root, 'deep', 'out') });
    const { warnings, sideFiles, files } = await openCheckpoint(join(root, 'deep', 'out'));
    expect([warnings, sideFiles, files.length]).toEqual([[], ['config.json'], 10]);
    expect(existsSync(stagingPath(join(root, 'deep', 'out')))).toBe(false);
  });

  it('is refused where something is, but for an empty directory', async () => {
    const { root, task, language } = writePair();
    const out = join(root, 'out');
    mkdirSync(out);
    await soup({ models: [task, language] }, { out });
    await expect(soup({ models: [task, language] }, { out })).rejects.toMatchObject({
      code: 'OUTPUT_EXISTS',
      exitCode: 2,
    });
  });

  it('with force replaces what layerloom wrote, and nothing else', async () => {
    const { root, task, language, tensors } = writePair();
    const out = join(root, 'out');
    await soup({ models: [task, language] }, { out });
    await layerSwap({ task, language, ...counts }, { out, force: true });
    await expectSwap(out, tensors, counts);

    writeFileSync(join(out, 'notes.txt'), 'mine');
    await expect(soup({ models: [task, language] }, { out, force: true })).rejects.toMatchObject({
      code: 'OUTPUT_NOT_OURS',
      details: { others: ['notes.txt'] },
    });
    rmSync(join(out, 'layerloom.json'));
    await expect(soup({ models: [task, language] }, { out, force: true })).rejects.toMatchObject({
      code: 'OUTPUT_NOT_OURS',
    });
    expect(readFileSync(join(out, 'notes.txt'), 'utf8')).toBe('mine');
  });

  it('with force is refused where a file of ours was written since', async () => {
    const { root, task, language } = writePair();
    const out = join(root, 'out');
    const { shards } = await soup({ models: [task, language] }, { out });
    const [first = { file: '' }] = shards;
    const file = join(out, first.file);
    writeFileSync(file, readFileSync(file));
    // A write within the same tick of the file system's clock would not be noticed.
    const later = new Date(Date.now() + 1000);
    utimesSync(file, later, later);
    await expect(soup({ models: [task, language] }, { out, force: true })).rejects.toMatchObject({
      code: 'OUTPUT_NOT_OURS',
      details: { others: [first.file] },
    });
  });

  it('with force keeps what comes into the former one meanwhile, and says where', async () => {
    const { root, task, language } = writePair();
    const out = join(root, 'out');
    await soup({ models: [task, language] }, { out });
    const onProgress = () => writeFileSync(join(out, 'scores.json'), 'mine');
    const { warnings } = await soup({ models: [task, language] }, { out, force: true, onProgress });
    const [kept = ''] = readdirSync(root).filter((name) => name.includes('former'));
    expect(readFileSync(join(root, kept, 'scores.json'), 'utf8')).toBe('mine');
    expect(warnings).toEqual([expect.stringContaining('scores.json')]);
    expect(existsSync(join(out, 'scores.json'))).toBe(false);
    // And the next run knows of it.
    const next = await soup({ models: [task, language] }, { out, force: true });
    expect(next.warnings).toEqual([expect.stringContaining(`${kept} is a former`)]);
  });

  it('is the working directory only where that is another', async () => {
    const { root, task, language } = writePair();
    vi.spyOn(process, 'cwd').mockReturnValue(join(root, 'here'));
    onTestFinished(() => void vi.restoreAllMocks());
    mkdirSync(join(root, 'here'));
    await expect(soup({ models: [task, language] }, { out: '.' })).rejects.toMatchObject({
      code: 'OUTPUT_INVALID',
    });
    await soup({ models: [task, language] }, { out: './there' });
    expect(existsSync(join(root, 'here', 'there', 'layerloom.json'))).toBe(true);
  });

  it('clears away what a killed run was removing', async () => {
    const { root, task, language } = writePair();
    mkdirSync(join(root, '.out.layerloom-removed-01234567', 'checkpoint'), { recursive: true });
    const { warnings } = await soup({ models: [task, language] }, { out: join(root, 'out') });
    expect([warnings, readdirSync(root).sort()]).toEqual([[], ['language', 'out', 'task']]);
  });

  it.each<[string, (root: string, task: string) => string, string]>([
    ['inside an input', (_, task) => join(task, 'merged'), 'OUTPUT_INSIDE_INPUT'],
    ['an input', (_, task) => task, 'OUTPUT_INSIDE_INPUT'],
    [
      'inside an input through a link',
      (root, task) => {
        symlinkSync(task, join(root, 'link'));
        return join(root, 'link', 'merged');
      },
      'OUTPUT_INSIDE_INPUT',
    ],
    [
      'a file',
      (root) => {
        writeFileSync(join(root, 'file'), '');
        return join(root, 'file');
      },
      'OUTPUT_INVALID',
    ],
    ['named like a file', (root) => join(root, 'out.safetensors'), 'OUTPUT_INVALID'],
    ['nothing', () => '', 'INVALID_PARAMETER'],
    ['a mount point', () => '/dev/shm', 'OUTPUT_INVALID'],
    ['where an input is', (_, task) => join(task, '..'), 'OUTPUT_INVALID'],
    [
      'where an input’s file is, behind a link',
      (root, task) => {
        mkdirSync(join(root, 'store'));
        renameSync(join(task, 'model.safetensors'), join(root, 'store', 'model.safetensors'));
        symlinkSync(join(root, 'store', 'model.safetensors'), join(task, 'model.safetensors'));
        return join(root, 'store');
      },
      'OUTPUT_INVALID',
    ],
    ['where no directory can be made', () => '/proc/out', 'WRITE_FAILED'],
    [
      'below a file',
      (root) => {
        writeFileSync(join(root, 'file'), '');
        return join(root, 'file', 'out');
      },
      'WRITE_FAILED',
    ],
  ])('is refused when it is %s', async (_, prepare, code) => {
    const { root, task, language } = writePair();
    const out = prepare(root, task);
    const before = readdirSync(task).sort();
    await expect(soup({ models: [task, language] }, { out, force: true })).rejects.toMatchObject({ code });
    expect(readdirSync(task).sort()).toEqual(before);
  });

  it('has the folders of its side files, which may be replaced with it', async () => {
    const { root, task, language } = writePair();
    mkdirSync(join(task, 'additional_chat_templates'));
    writeFileSync(join(task, 'additional_chat_templates', 'rag.jinja'), 'template');
    const out = join(root, 'out');
    await soup({ models: [task, language] }, { out });
    await soup({ models: [task, language] }, { out, force: true });
    expect(readFileSync(join(out, 'additional_chat_templates', 'rag.jinja'), 'utf8')).toBe('template');
    mkdirSync(join(out, 'logs'));
    await expect(soup({ models: [task, language] }, { out, force: true })).rejects.toMatchObject({
      details: { others: ['logs'] },
    });
  });

  it('goes where a link points', async () => {
    const { root, task, language } = writePair();
    mkdirSync(join(root, 'disk'));
    symlinkSync(join(root, 'disk'), join(root, 'link'));
    const { out } = await soup({ models: [task, language] }, { out: join(root, 'link') });
    expect(out.endsWith('disk')).toBe(true);
    expect(existsSync(join(root, 'link', 'layerloom.json'))).toBe(true);
  });
});

describe('inputs that change', () => {
  it('between plan and run are refused, and nothing is left', async () => {
    const { root, task, language } = writePair();
    const plan = await planMerge({ method: 'soup', models: [task, language] });
    utimesSync(join(task, 'model.safetensors'), 1, 1);
    await expect(runPlan(plan, { out: join(root, 'out') })).rejects.toMatchObject({
      code: 'INPUT_CHANGED',
      exitCode: 3,
    });
    appendFileSync(join(task, 'model.safetensors'), 'x');
    await expect(runPlan(plan, { out: join(root, 'out') })).rejects.toMatchObject({
      code: 'INPUT_CHANGED',
      exitCode: 3,
    });
    expect(readdirSync(root).sort()).toEqual(['language', 'task']);
  });

  it('in tensors that may not be averaged stop the merge, and nothing is left', async () => {
    const root = temporaryDirectory();
    const ids = (value: number) => ({
      dtype: 'I64',
      shape: [1],
      data: Uint8Array.from([value, 0, 0, 0, 0, 0, 0, 0]),
    });
    const models = [1, 2].map((value) =>
      writeCheckpoint(join(root, `${value}`), { tensors: { ...llama().tensors, 'model.ids': ids(value) } }),
    );
    await expect(soup({ models }, { out: join(root, 'out') })).rejects.toMatchObject({
      code: 'NON_FLOATING_MISMATCH',
      details: { tensor: 'model.ids' },
    });
    expect(readdirSync(root).sort()).toEqual(['1', '2']);
  });
});
