import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { openModel as openCheckpoint } from '../../src/core/models/reading/read-model.js';
import { hubCacheRoot } from '../../src/core/models/sources/hub/cache/hub-cache.js';
import { writeAdapter } from '../fixtures/adapters.js';
import {
  llama,
  safetensors,
  type Tensors,
  temporaryDirectory,
  writeCheckpoint,
} from '../fixtures/checkpoints.js';

const small = () => llama({ layers: 2 });

const sharded = () => {
  const names = Object.keys(small().tensors);
  return { ...small(), shards: [names.slice(0, 5), names.slice(5)] };
};

describe('openCheckpoint', () => {
  it('finds the same tensors in one file, in shards and in a bare file', async () => {
    const root = temporaryDirectory();
    const one = await openCheckpoint(writeCheckpoint(join(root, 'one'), small()));
    const two = await openCheckpoint(writeCheckpoint(join(root, 'two'), sharded()));
    const bare = await openCheckpoint(join(root, 'one', 'model.safetensors'));
    const shapes = (checkpoint: typeof one) =>
      new Map([...checkpoint.tensors].map(([name, { dtype, shape }]) => [name, { dtype, shape }]));
    expect(shapes(two)).toEqual(shapes(one));
    expect(shapes(bare)).toEqual(shapes(one));
    expect([one.files.length, two.files.length, bare.files.length]).toEqual([1, 2, 1]);
    expect(bare.name).toBe('model');
    expect(bare.sideFiles).toEqual(one.sideFiles);
  });

  it('reads the headers of more shards than a process may have open files', async () => {
    const root = temporaryDirectory();
    const tensors = Object.fromEntries(
      Array.from({ length: 400 }, (_, layer) => [
        `model.layers.${layer}.w.weight`,
        { dtype: 'BF16', shape: [1, 1], data: Buffer.alloc(2) },
      ]),
    ) as Tensors;
    for (const name of ['a', 'b'])
      writeCheckpoint(join(root, name), {
        tensors,
        shards: Object.keys(tensors).map((tensor) => [tensor]),
        config: { num_hidden_layers: 400 },
      });
    const run = (command: string) =>
      spawnSync('bash', ['-c', `ulimit -n 64 && exec "${process.execPath}" bin/layerloom.cjs ${command}`], {
        cwd: fileURLToPath(new URL('../..', import.meta.url)),
        env: { ...process.env, A: join(root, 'a'), B: join(root, 'b') },
        encoding: 'utf8',
      });
    expect(run('inspect "$A" --json')).toMatchObject({ status: 0, stderr: '' });
    // A merge holds its inputs open, and its dry run says so.
    for (const option of ['--dry-run', ''])
      expect(run(`soup "$A" "$B" -o "$A-out" ${option}`)).toMatchObject({
        status: 3,
        stderr: expect.stringMatching(
          /cannot be read: EMFILE: too many open files; let more files be open at once \(ulimit -n\), and run again/,
        ),
      });
  });

  it('counts offsets from the start of the file', async () => {
    const { tensors } = await openCheckpoint(writeCheckpoint(join(temporaryDirectory(), 'a'), small()));
    const ends = [...tensors.values()].map(({ end }) => end);
    expect(Math.max(...ends)).toBe(safetensors(small().tensors).length);
  });

  it('lists side files, and neither weights nor training state', async () => {
    const files = {
      'tokenizer.json': '{}',
      'merges.txt': '',
      'chat_template.jinja': '',
      LICENSE: '',
      'README.md': '',
      'optimizer.pt': '',
      'trainer_state.json': '{}',
      'training_args.bin': '',
    };
    const directory = writeCheckpoint(join(temporaryDirectory(), 'a'), { ...small(), files });
    expect((await openCheckpoint(directory)).sideFiles).toEqual([
      'LICENSE',
      'chat_template.jinja',
      'config.json',
      'merges.txt',
      'tokenizer.json',
    ]);
  });

  it('lists code, quantisation and templates whatever they are called, and no weights', async () => {
    const names = [
      'generation_utils.py',
      'tokenizer.model.v3',
      'quantize_config.json',
      'LICENSE.txt',
      'license.safetensors',
      'tokenizer.bin',
    ];
    const directory = writeCheckpoint(join(temporaryDirectory(), 'a'), {
      tensors: small().tensors,
      files: Object.fromEntries(names.map((name) => [name, '{}'])),
    });
    mkdirSync(join(directory, 'additional_chat_templates'));
    writeFileSync(join(directory, 'additional_chat_templates', 'rag.jinja'), '');
    expect((await openCheckpoint(directory)).sideFiles).toEqual([
      'LICENSE.txt',
      'additional_chat_templates/rag.jinja',
      'generation_utils.py',
      'quantize_config.json',
      'tokenizer.model.v3',
    ]);
  });

  it('reads an index that names one file', async () => {
    const directory = writeCheckpoint(join(temporaryDirectory(), 'a'), small());
    const names = Object.keys(small().tensors);
    writeFileSync(
      join(directory, 'model.safetensors.index.json'),
      JSON.stringify({ weight_map: Object.fromEntries(names.map((name) => [name, 'model.safetensors'])) }),
    );
    expect((await openCheckpoint(directory)).tensors.size).toBe(names.length);
  });

  it('reads a configuration in which Python wrote Infinity', async () => {
    const files = { 'config.json': '{"model_type": "llama", "time_step_limit": [0.0, Infinity]}' };
    const directory = writeCheckpoint(join(temporaryDirectory(), 'a'), { tensors: small().tensors, files });
    expect((await openCheckpoint(directory)).config?.['model_type']).toBe('llama');
  });

  it('merges tensors that the index forgot, and says so', async () => {
    const directory = writeCheckpoint(join(temporaryDirectory(), 'a'), sharded());
    const index = join(directory, 'model.safetensors.index.json');
    const [first = '', second = ''] = Object.keys(small().tensors);
    writeFileSync(
      index,
      JSON.stringify({
        weight_map: {
          [first]: 'model-1.safetensors',
          [Object.keys(small().tensors)[6] ?? '']: 'model-2.safetensors',
        },
      }),
    );
    const { tensors, warnings } = await openCheckpoint(directory);
    expect(tensors.has(second)).toBe(true);
    expect(warnings).toHaveLength(1);
  });

  it.each<[string, (directory: string) => void, string]>([
    ['no weights', () => undefined, 'NOT_A_CHECKPOINT'],
    [
      'an adapter',
      (directory) => writeFileSync(join(directory, 'adapter_model.safetensors'), ''),
      'NOT_A_CHECKPOINT',
    ],
    [
      'an empty file of PyTorch',
      (directory) => writeFileSync(join(directory, 'pytorch_model.bin'), ''),
      'FILE_TOO_SHORT',
    ],
    [
      'training state of PyTorch alone',
      (directory) => writeFileSync(join(directory, 'optimizer.pt'), ''),
      'NOT_A_CHECKPOINT',
    ],
    [
      'shards without an index',
      (directory) => ['1', '2'].forEach((n) => void writeFileSync(join(directory, `${n}.safetensors`), '')),
      'NOT_A_CHECKPOINT',
    ],
    [
      'an empty file beside an index that is not read',
      (directory) =>
        Object.entries({
          'model.safetensors': '',
          'model.safetensors.index.json': '{"weight_map": {"a": "b.safetensors"}}',
        }).forEach(([name, text]) => void writeFileSync(join(directory, name), text)),
      'FILE_TOO_SHORT',
    ],
    [
      'an index that is no JSON',
      (directory) => writeFileSync(join(directory, 'model.safetensors.index.json'), '{'),
      'INDEX_INVALID',
    ],
    [
      'an index without weight_map',
      (directory) => writeFileSync(join(directory, 'model.safetensors.index.json'), '{}'),
      'INDEX_INVALID',
    ],
    [
      'an index of numbers',
      (directory) =>
        writeFileSync(join(directory, 'model.safetensors.index.json'), '{"weight_map": {"a": 1}}'),
      'INDEX_INVALID',
    ],
    [
      'an index that names a file it does not have',
      (directory) =>
        writeFileSync(
          join(directory, 'model.safetensors.index.json'),
          '{"weight_map": {"a": "b.safetensors"}}',
        ),
      'FILE_MISSING',
    ],
    [
      'a shard that is a directory',
      (directory) => mkdirSync(join(directory, 'model.safetensors')),
      'READ_FAILED',
    ],
    [
      'an empty file',
      (directory) => writeFileSync(join(directory, 'model.safetensors'), ''),
      'FILE_TOO_SHORT',
    ],
    [
      'a file cut short',
      (directory) =>
        writeFileSync(join(directory, 'model.safetensors'), safetensors(small().tensors).subarray(0, -1)),
      'FILE_LENGTH_MISMATCH',
    ],
    [
      'a config that is no JSON',
      (directory) => {
        writeCheckpoint(directory, small());
        writeFileSync(join(directory, 'config.json'), 'x');
      },
      'CONFIG_INVALID',
    ],
  ])('refuses a directory with %s', async (_, prepare, code) => {
    const directory = join(temporaryDirectory(), 'a');
    mkdirSync(directory);
    prepare(directory);
    await expect(openCheckpoint(directory)).rejects.toMatchObject({ code, exitCode: 3 });
  });

  it.each([
    '../b.safetensors',
    '/etc/b.safetensors',
    'a/../../b.safetensors',
    'https://example.org/b.safetensors',
    'C:\\b.safetensors',
    '\\b.safetensors',
    '',
  ])('does not follow an index to %j', async (name) => {
    const directory = join(temporaryDirectory(), 'a');
    mkdirSync(directory);
    writeFileSync(
      join(directory, 'model.safetensors.index.json'),
      JSON.stringify({ weight_map: { a: name } }),
    );
    await expect(openCheckpoint(directory)).rejects.toMatchObject({ code: 'INDEX_UNSAFE_NAME' });
  });

  it('refuses a tensor that stands in two shards, and one that its shard lacks', async () => {
    const root = temporaryDirectory();
    const names = Object.keys(small().tensors);
    const twice = writeCheckpoint(join(root, 'twice'), {
      ...small(),
      shards: [names.slice(0, 5), names.slice(4)],
    });
    await expect(openCheckpoint(twice)).rejects.toMatchObject({
      code: 'DUPLICATE_TENSOR',
      details: { tensor: names[4] },
    });
    const directory = writeCheckpoint(join(root, 'lacks'), sharded());
    writeFileSync(
      join(directory, 'model.safetensors.index.json'),
      JSON.stringify({ weight_map: { absent: 'model-1.safetensors' } }),
    );
    await expect(openCheckpoint(directory)).rejects.toMatchObject({
      code: 'TENSOR_MISSING',
      details: { tensor: 'absent' },
    });
  });

  it('refuses what is neither directory nor weights, and what is not there', async () => {
    const file = join(temporaryDirectory(), 'model.ckpt');
    writeFileSync(file, '');
    await expect(openCheckpoint(file)).rejects.toMatchObject({ code: 'NOT_A_CHECKPOINT' });
    rmSync(file);
    mkdirSync(join(file, 'model.safetensors'), { recursive: true });
    await expect(openCheckpoint(file)).rejects.toMatchObject({ code: 'READ_FAILED', exitCode: 3 });
    for (const name of ['./nowhere', './no\0where', `./${'x'.repeat(5000)}`])
      await expect(openCheckpoint(name)).rejects.toMatchObject({ code: 'MODEL_NOT_FOUND', exitCode: 3 });
  });
});

describe('what has no tensors', () => {
  it('is no checkpoint, nor is an index that names none', async () => {
    const root = temporaryDirectory();
    const empty = writeCheckpoint(join(root, 'empty'), { tensors: {} });
    await expect(openCheckpoint(empty)).rejects.toMatchObject({ code: 'NOT_A_CHECKPOINT' });
    writeFileSync(join(empty, 'model.safetensors.index.json'), '{"weight_map": {}}');
    await expect(openCheckpoint(empty)).rejects.toMatchObject({ code: 'INDEX_INVALID' });
  });

  it('is refused without waiting, where it is a pipe', async () => {
    const pipe = join(temporaryDirectory(), 'model.safetensors');
    execFileSync('mkfifo', [pipe]);
    await expect(openCheckpoint(pipe)).rejects.toMatchObject({
      code: 'READ_FAILED',
      details: { file: pipe },
    });
  });
});

describe('the hub cache', () => {
  afterEach(() => vi.unstubAllEnvs());

  const commit = '0123456789abcdef0123456789abcdef01234567';

  /** The hub library's layout: blobs by hash, snapshots of relative links. */
  const writeSnapshot = () => {
    const cache = temporaryDirectory();
    vi.stubEnv('HF_HUB_CACHE', cache);
    const repository = join(cache, 'models--math--expert-1');
    const snapshot = join(repository, 'snapshots', commit);
    for (const directory of [join(repository, 'blobs'), join(repository, 'refs'), snapshot])
      mkdirSync(directory, { recursive: true });
    writeFileSync(join(repository, 'refs', 'main'), commit);
    writeFileSync(join(repository, 'blobs', 'feed'), safetensors(small().tensors));
    symlinkSync('../../blobs/feed', join(snapshot, 'model.safetensors'));
    return { repository, snapshot };
  };

  it('gives a model by name, by name and commit, and by path', async () => {
    const { snapshot } = writeSnapshot();
    for (const model of ['math/expert-1', 'math/expert-1@main', `math/expert-1@${commit}`, snapshot]) {
      const { name, path, tensors } = await openCheckpoint(model);
      expect([name, path, tensors.size]).toEqual([
        'math/expert-1',
        snapshot,
        Object.keys(small().tensors).length,
      ]);
    }
  });

  it('says where it looked for what it does not have', async () => {
    writeSnapshot();
    await expect(openCheckpoint('math/expert-2')).rejects.toThrow(/models--math--expert-2/);
    await expect(openCheckpoint('math/expert-1@v2')).rejects.toMatchObject({ code: 'MODEL_NOT_FOUND' });
  });

  it('has no other commit for a revision whose ref cannot be read', async () => {
    const { repository, snapshot } = writeSnapshot();
    symlinkSync(snapshot, join(repository, 'snapshots', 'main'));
    const ref = join(repository, 'refs', 'main');
    rmSync(ref);
    symlinkSync(ref, ref);
    await expect(openCheckpoint('math/expert-1')).rejects.toMatchObject({
      code: 'READ_FAILED',
      details: { file: ref },
    });
  });
});

describe('the hub cache’s place', () => {
  const home = homedir();

  it.each<[string, NodeJS.ProcessEnv, string]>([
    ['HF_HUB_CACHE', { HF_HUB_CACHE: '/a', HUGGINGFACE_HUB_CACHE: '/b', HF_HOME: '/c' }, '/a'],
    ['its older name', { HUGGINGFACE_HUB_CACHE: '/b', HF_HOME: '/c', XDG_CACHE_HOME: '/d' }, '/b'],
    ['a folder of HF_HOME', { HF_HOME: '/c', XDG_CACHE_HOME: '/d' }, '/c/hub'],
    ['a folder of XDG_CACHE_HOME', { XDG_CACHE_HOME: '/d' }, '/d/huggingface/hub'],
    ['a folder of the home directory', {}, `${home}/.cache/huggingface/hub`],
    ['written with the home directory', { HF_HUB_CACHE: '~/hub' }, `${home}/hub`],
    ['written with other variables', { HF_HOME: `$A/\${B}/$C`, A: '/a', B: 'b' }, '/a/b/$C/hub'],
  ])('is %s', (_, env, place) => {
    expect(hubCacheRoot(env)).toBe(place);
  });
});

describe('a model’s name', () => {
  it('is the directory’s, or what stands before an equals sign', async () => {
    const directory = writeCheckpoint(join(temporaryDirectory(), 'math-1'), small());
    expect((await openCheckpoint(directory)).name).toBe('math-1');
    expect((await openCheckpoint(`expert=${directory}`)).name).toBe('expert');
  });

  it('leaves a path that has an equals sign of its own alone', async () => {
    const directory = writeCheckpoint(join(temporaryDirectory(), 'lr=2e-5'), small());
    expect((await openCheckpoint(directory)).name).toBe('lr=2e-5');
  });

  it('does not take an adapter for a model', async () => {
    const adapter = writeAdapter(join(temporaryDirectory(), 'lora'));
    await expect(openCheckpoint(adapter)).rejects.toMatchObject({
      ...{ code: 'ADAPTER_WITHOUT_BASE', exitCode: 2 },
      message: expect.stringContaining('give BASE+ADAPTER'),
    });
  });
});
