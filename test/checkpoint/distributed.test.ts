import { mkdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { analyze, diff, layerSwap, merge, openCheckpoint, relayout, soup } from '../../src/index.js';
import { fill, llama, safetensors, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { weightsIn } from '../fixtures/contents.js';
import {
  type Described,
  type DistributedFixture,
  gridOver,
  rowsOver,
  writeDistributed,
} from '../fixtures/distributed-files.js';
import { mutatedFiles, openFiles } from '../fixtures/distributed-mutations.js';
import { generator } from '../fixtures/numbers.js';
import { pickle } from '../fixtures/torch-files.js';

const files = ['__0_0.distcp', '__1_0.distcp', '__2_0.distcp', '__3_0.distcp'];

const cuts: Readonly<Record<string, NonNullable<DistributedFixture['cut']>>> = {
  'in one file': (shape) => [{ at: shape.map(() => 0), sizes: shape, file: '__0_0.distcp' }],
  'cut by rows, unevenly, with empty pieces': rowsOver(files.slice(0, 3)),
  'cut by rows and columns': gridOver(files),
};

const optimizer = {
  path: ['optimizer', 'state', 'model.norm.weight', 'exp_avg'],
  tensor: { dtype: 'F32', shape: [4], data: Buffer.alloc(16, 7) },
};

const write = (fixture: Partial<DistributedFixture> = {}): string => {
  const { tensors, config } = llama({ layers: 2 });
  return writeDistributed(join(temporaryDirectory(), 'run'), { tensors, config, ...fixture });
};

const plain = (options: Parameters<typeof llama>[0] = { layers: 2 }): string =>
  writeCheckpoint(join(temporaryDirectory(), 'run'), llama(options));

describe.each(Object.entries(cuts))('a distributed checkpoint %s', (_, cut) => {
  it('is the model that safetensors of its tensors are', async () => {
    const [run, same] = [write({ cut, others: [optimizer] }), plain()];
    expect((await diff(run, same)).equal).toBe(true);
    const [out, other] = [join(temporaryDirectory(), 'out'), join(temporaryDirectory(), 'out')];
    await relayout({ model: run }, { out });
    await relayout({ model: same }, { out: other });
    expect(weightsIn(out).equals(weightsIn(other))).toBe(true);
  });

  it('merges and is analysed like it, by methods of whole tensors too', async () => {
    const root = temporaryDirectory();
    const models = ['base', 'a', 'b'].map((name, seed) => ({
      name,
      ...llama({ seed: seed + 1, layers: 3 }),
    }));
    const results = [];
    for (const kind of ['cut', 'plain']) {
      const [base = '', a = '', b = ''] = models.map(({ name, ...model }) =>
        kind === 'cut'
          ? writeDistributed(join(root, kind, name), { ...model, cut })
          : writeCheckpoint(join(root, kind, name), model),
      );
      const at = (what: string) => join(root, kind, what);
      await layerSwap({ task: a, language: b, bottom: 1, top: 1 }, { out: at('swapped') });
      await soup({ models: [a, b], dtype: 'float32' }, { out: at('soup') });
      await merge({ method: 'ties', base, models: [a, b], weight: 0.5, density: 0.4 }, { out: at('ties') });
      const { experts } = await analyze({ base, experts: [a, b] }, { out: at('analysis') });
      results.push([
        ...['swapped', 'soup', 'ties'].map((what) => weightsIn(at(what)).toString('base64')),
        experts.map(({ tensors }) => tensors),
      ]);
    }
    expect(results[0]).toEqual(results[1]);
  });
});

it.each(['F32', 'F16', 'BF16', 'F8_E4M3', 'F64', 'I64', 'BOOL'])(
  'cuts tensors of %s bit for bit',
  async (dtype) => {
    const { tensors, config } = llama({ layers: 1 });
    const bytes = { F64: 8, I64: 8, F32: 4, F16: 2, BF16: 2 }[dtype] ?? 1;
    const odd = {
      dtype,
      shape: [6, 5],
      data: Buffer.from(Array.from({ length: 30 * bytes }, (_, at) => at * 37)),
    };
    const all = { ...tensors, 'model.layers.0.extra.weight': odd };
    for (const cut of Object.values(cuts)) {
      const run = write({ tensors: all, config, cut });
      const out = join(temporaryDirectory(), 'out');
      await relayout({ model: run }, { out });
      expect(
        (await diff(out, writeCheckpoint(join(temporaryDirectory(), 'run'), { tensors: all, config }))).equal,
      ).toBe(true);
    }
  },
);

describe('keys of a distributed checkpoint', () => {
  const names = Object.keys(llama({ layers: 2 }).tensors).sort();
  const read = async (run: string) => [...(await openCheckpoint(run)).tensors.keys()].sort();

  it.each(
    [[], ['model'], ['module'], ['state_dict'], ['app', 'model'], ['model_state_dict']].map((under) => [
      under,
    ]),
  )('are those of the state dict under %j', async (under) => {
    expect(await read(write({ under, others: [optimizer] }))).toEqual(names);
  });

  it('may be at the top beside numbers of the run, and without the paths before flattening', async () => {
    const step = { path: ['epoch'], tensor: { dtype: 'I64', shape: [], data: Buffer.alloc(8) } };
    expect(await read(write({ others: [step, optimizer] }))).toEqual(names);
    expect(await read(write({ under: [], others: [optimizer], metadata: { withoutPaths: true } }))).toEqual(
      names,
    );
  });

  it.each([
    '_orig_mod.',
    '_fsdp_wrapped_module.',
    'module.',
    '_fsdp_wrapped_module._checkpoint_wrapped_module.',
  ])('lose the wrapper %s', async (wrapper) => {
    const { tensors } = llama({ layers: 2 });
    const wrapped = Object.fromEntries(
      Object.entries(tensors).map(([name, tensor]) => [wrapper + name, tensor]),
    );
    expect(await read(write({ tensors: wrapped }))).toEqual(names);
  });

  it('are refused under two models', async () => {
    const [name = '', tensor] = Object.entries(llama().tensors)[0] ?? [];
    const others = tensor === undefined ? [] : [{ path: ['module', name], tensor }];
    await expect(openCheckpoint(write({ others }))).rejects.toThrow(
      /tensors under model and module; which is meant/,
    );
    const top = tensor === undefined ? [] : [{ path: [name], tensor }];
    await expect(openCheckpoint(write({ others: top }))).rejects.toThrow(/tensors under model and its top/);
    await expect(openCheckpoint(write({ under: ['ema'] }))).rejects.toThrow(
      /no tensors of a model, and some under ema; .*format_utils dcp_to_torch FOLDER FILE/,
    );
  });
});

it('takes config.json and tokenizer from the folder above, if its own has none', async () => {
  const { tensors, config } = llama({ layers: 2 });
  const root = temporaryDirectory();
  writeFileSync(join(root, 'config.json'), JSON.stringify(config));
  writeFileSync(join(root, 'tokenizer_config.json'), '{}');
  const run = writeDistributed(join(root, 'pytorch_model_fsdp_0'), { tensors });
  const { config: read, sideFiles, warnings } = await openCheckpoint(run);
  expect(read).toEqual(config);
  expect(sideFiles).toEqual(['config.json', 'tokenizer_config.json']);
  expect(warnings.join()).toContain(`${run} has no config.json; the one of ${root} is read`);
  rmSync(join(root, 'config.json'));
  const { warnings: without } = await relayout({ model: root }, { out: join(temporaryDirectory(), 'out') });
  expect(without.join()).toContain('has no config.json, and so the output has none');
});

it('is found in the folder that Accelerate makes, in checkpoints of a run too', async () => {
  const root = temporaryDirectory();
  for (const kind of ['cut', 'plain'])
    for (const step of [10, 20]) {
      const { tensors, config } = llama({ seed: step, layers: 2 });
      const folder = join(root, kind, `checkpoint-${step}`);
      if (kind === 'plain') writeCheckpoint(folder, { tensors, config });
      else {
        writeDistributed(join(folder, 'pytorch_model_fsdp_0'), { tensors, cut: rowsOver(files) });
        writeFileSync(join(folder, 'config.json'), JSON.stringify(config));
      }
    }
  for (const kind of ['cut', 'plain'])
    await soup({ models: [join(root, kind)], schedule: 'uniform' }, { out: join(root, `${kind}-soup`) });
  expect(weightsIn(join(root, 'cut-soup')).equals(weightsIn(join(root, 'plain-soup')))).toBe(true);
  rmSync(join(root, 'cut/checkpoint-20/pytorch_model_fsdp_0/__1_0.distcp'));
  await expect(
    soup({ models: [join(root, 'cut')], schedule: 'uniform' }, { out: join(root, 'o') }),
  ).rejects.toMatchObject({
    code: 'RUN_UNFINISHED',
  });
});

it('has a tied head or one of its own, told by values', async () => {
  const { tensors, config } = llama({ layers: 1 });
  const name = 'model.embed_tokens.weight';
  const embeddings = tensors[name];
  if (embeddings === undefined) throw new Error(`no ${name}`);
  for (const [data, isTied] of [
    [embeddings.data, true],
    [embeddings.data.toReversed(), false],
  ] as const)
    for (const cut of [rowsOver(files), gridOver(files)]) {
      const run = write({
        tensors: { ...tensors, 'lm_head.weight': { ...embeddings, data } },
        config: { ...config, tie_word_embeddings: true },
        cut,
      });
      expect((await openCheckpoint(run)).tied).toBe(isTied);
    }
});

describe('a distributed checkpoint is refused', () => {
  const cut = rowsOver(files.slice(0, 2));
  const first = (edit: (tensor: Described) => Described) => (all: Described[]) => {
    const [tensor] = all;
    if (tensor !== undefined) all[0] = edit(tensor);
  };
  const piece = (change: Partial<Described['pieces'][number]>) =>
    first((tensor) => ({
      ...tensor,
      pieces: tensor.pieces.map((one, index) => (index === 1 ? { ...one, ...change } : one)),
    }));

  it.each<[string, NonNullable<DistributedFixture['edit']>, RegExp]>([
    ['a name outside', piece({ file: '../__1_0.distcp' }), /INDEX_UNSAFE_NAME.*outside the checkpoint/],
    ['an absolute name', piece({ file: '/tmp/__1_0.distcp' }), /INDEX_UNSAFE_NAME.*outside the checkpoint/],
    ['a name in a folder', piece({ file: 'a/__1_0.distcp' }), /INDEX_INVALID.*no \.distcp file beside it/],
    ['another ending', piece({ file: 'model.safetensors' }), /INDEX_INVALID.*no \.distcp file beside it/],
    ['a file that is not there', piece({ file: '__7_0.distcp' }), /FILE_MISSING.*__7_0\.distcp/],
    [
      'an end beyond the file',
      piece({ length: 2 ** 40 }),
      /HEADER_INVALID.*save has not finished, or its copy is incomplete/,
    ],
    [
      'an offset that overflows',
      piece({ offset: Number.MAX_SAFE_INTEGER }),
      /HEADER_INVALID.*should end at byte/,
    ],
    ['an offset into another stream', piece({ offset: 6, length: 400 }), /HEADER_INVALID/],
    ['a stream of no bytes', piece({ length: 0 }), /FILE_TOO_SHORT|HEADER_INVALID/],
    ['another shape than the stream’s', piece({ sizes: [1, 1] }), /HEADER_INVALID.*and \.metadata says/],
    [
      'another dtype',
      first((tensor) => ({ ...tensor, dtype: 'F16' })),
      /HEADER_INVALID.*and \.metadata says F16/,
    ],
    [
      'an unknown dtype',
      first((tensor) => ({ ...tensor, dtype: 'quint8' })),
      /PICKLE_RUNS_CODE.*torch\.quint8/,
    ],
    ['overlapping pieces', piece({ at: [1, 0] }), /HEADER_INVALID.*overlap or interlock/],
    ['a piece outside', piece({ at: [2 ** 40, 0] }), /HEADER_INVALID.*lies outside its shape/],
    [
      'one piece twice',
      first((tensor) => ({ ...tensor, pieces: [...tensor.pieces, ...tensor.pieces.slice(1)] })),
      /HEADER_INVALID.*twice/,
    ],
    [
      'a gap',
      first((tensor) => ({ ...tensor, pieces: tensor.pieces.slice(1) })),
      /HEADER_INVALID.*its pieces lack \d+ of its \d+ elements; write the file again$/,
    ],
    ['no pieces', first((tensor) => ({ ...tensor, pieces: [] })), /HEADER_INVALID.*has no pieces/],
    ['a larger shape', first((tensor) => ({ ...tensor, shape: [2 ** 50, 2 ** 50] })), /SHAPE_OVERFLOW/],
    [
      'compression',
      first((tensor) => ({ ...tensor, transforms: ['zstd'] })),
      /WEIGHTS_UNSUPPORTED.*compressed.*dcp_to_torch/,
    ],
  ])('with %s', async (_, edit, message) => {
    const run = write({ cut, edit });
    const error: unknown = await openCheckpoint(run).then(
      () => 'accepted',
      (reason: unknown) => reason,
    );
    expect(error).toMatchObject({ code: expect.any(String) });
    const { code, message: text } = error as { code: string; message: string };
    expect(`${code} ${text}`).toMatch(message);
    expect(text).not.toContain('\n');
  });

  it.each([
    pickle.global('os', 'system'),
    pickle.global('torch.distributed.checkpoint.metadata', 'os'),
    pickle.global('builtins', 'getattr'),
  ])('whose pickle names other code (%#)', async (extra) => {
    const run = write({ metadata: { extra: [extra] } });
    await expect(openCheckpoint(run)).rejects.toMatchObject({ code: 'PICKLE_RUNS_CODE' });
  });

  it('in the making: without .metadata, without a file, and with a file cut off', async () => {
    const run = write({ cut });
    truncateSync(join(run, '__1_0.distcp'), 3000);
    await expect(openCheckpoint(run)).rejects.toThrow(/of a file of 3000 bytes; its save has not finished/);
    rmSync(join(run, '__1_0.distcp'));
    await expect(openCheckpoint(run)).rejects.toMatchObject({ code: 'FILE_MISSING' });
    rmSync(join(run, '.metadata'));
    await expect(openCheckpoint(run)).rejects.toThrow(/and no \.metadata, which is written last/);
    await expect(openCheckpoint(join(run, '__0_0.distcp'))).rejects.toThrow(
      /is one file of .* give its directory/,
    );
  });

  it('as a folder in the place of a file', async () => {
    const run = write({ cut });
    rmSync(join(run, '__1_0.distcp'));
    mkdirSync(join(run, '__1_0.distcp'));
    await expect(openCheckpoint(run)).rejects.toMatchObject({ code: 'READ_FAILED' });
  });
});

describe('parts of tensors in safetensors', () => {
  const part = (offsets: readonly number[]) => ({
    format: 'pt',
    DCP_version: '1.0',
    DCP_SHARDING_INFO: JSON.stringify({ w: { saved_offsets: offsets } }),
  });
  const tensors = fill({ w: [2, 2] }, 'F32', 1);

  it('are refused, alone and in their folder', async () => {
    const folder = temporaryDirectory();
    const named = (name: string, offsets: readonly number[]) => {
      writeFileSync(join(folder, name), safetensors(tensors, part(offsets)));
      return join(folder, name);
    };
    const [first, second] = [
      named('shard-00001-model-00001-of-00001.safetensors', [0, 0]),
      named('shard-00002-model-00001-of-00001.safetensors', [2, 0]),
    ];
    for (const file of [first, second])
      await expect(openCheckpoint(file)).rejects.toMatchObject({ code: 'WEIGHTS_UNSUPPORTED' });
    await expect(openCheckpoint(folder)).rejects.toThrow(
      /hold parts of tensors, as HuggingFaceStorageWriter/,
    );
    await expect(openCheckpoint(named('model.safetensors', [2, 0]))).rejects.toThrow(/parts of tensors/);
    expect((await openCheckpoint(named('model.safetensors', [0, 0]))).tensors.size).toBe(1);
  });
});

it('is refused by an error of ours if its bytes are changed, or lies within its files', async () => {
  const random = generator(7);
  const folder = temporaryDirectory();
  const outcomes = new Map<string, number>();
  for (let round = 0; round < 1500; round += 1) {
    const outcome = await openFiles(mutatedFiles(random), folder);
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
  }
  // The sweep reaches the readers of pickles, pieces and streams, and valid files too.
  for (const code of ['accepted', 'HEADER_INVALID', 'WEIGHTS_UNSUPPORTED', 'PICKLE_RUNS_CODE'])
    expect([code, (outcomes.get(code) ?? 0) > 10]).toEqual([code, true]);
}, 60_000);
