import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { analyze, diff, layerSwap, openCheckpoint, soup } from '../../src/index.js';
import { bringHeaders } from '../../src/sources/hub/bring-headers.js';
import { missingRanges } from '../../src/sources/ranges/folder.js';
import { llama, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { cli } from '../fixtures/cli.js';
import { hubUser, impatient } from '../fixtures/hub-client.js';
import { startHub } from '../fixtures/hub-server.js';
import { generator } from '../fixtures/numbers.js';
import {
  pickle,
  tensorPickle,
  torchBytes,
  torchFile,
  torchTensors,
  torchZip,
  writeTorchCheckpoint,
  type ZipFixture,
} from '../fixtures/torch-files.js';
import { mutated, readTorch } from '../fixtures/torch-mutations.js';

/**
 * What torch.save of torch 2.13 writes of an OrderedDict, compressed: a [2, 3] of bfloat16, b the same tensor again, c a
 * Parameter of ones, d 3.0 without dimensions, e [0, 4], f [3] of float8, n [True], u [2] of uint16.
 */
const byTorch =
  'H4sICErCBmsCA3gyLmJpbgCllc9v22QYx9/ETtK6LYOOboSNsTJ+pLCliR07SVlp5hVfLLHiaaiqQJGbuE00N+njvBkMcahUtbDjJM6IC+LGAQ7wF3CfxAWp0kCcOO22K7w/XNd2kha6V3KdVM/n+X6f932fJyumICI0NoYG1gQ6jz6T55s2tvPbd11DP4vWBtdOstHouq7TwO1upyfd8pqO5zSX2w0sAZqzIJFbTZBkNiQbuOs1Wvl6H7fdnlT3nPV+223WsdPpdb36PVkCIZdbzZDgHom0Nx0QOSLphtu1cVG7zf8vQYrlLEB6VSDvxnYfMmYaw9iHJjKTprAP46ZgJvZBetCiHiYwTFowxaB1eK7FPzXgzAhL27ZnbznY8SR4vkVMtQ6NMB+BixdYmiJMtzKmgOEsVRf24EUzsQczXPkchvMWvPQV+5L9El624AKjmnCRZ27xLDK8QrIkMFwiWebmOP0qhssWzLIAB16LAApcIQDC8DqVRaa4D2+YIi36TQ6/hSFnwRwL3oC3T9h9RYJ3jgrN+ycg3eng+9tOMyj5KktXgmu85Lxf8jwtucB1i/5ebdC9qtSd0pay0ZFAxqBYUGJ8B9TIturdrhtIaCxEhTLfjwqVINmr9M8Cl3gXw3ULFllgH95rMect7k2DJQKKGGrsMuzBDQrqHLzpC/bbHXKdJFjG8L4FRj+/YmbGfp7/8ZNfkwjRZ2VkV0yjBdoV+Y2ut2Xj+j3H65GLb+jasOb4D6vIpJ8c7FLz9BktPYOuM2n/cOq2297sbDkdbOiVU6qvrWklamDpU/iblI2SxxqYRCI1sH4fO13a54aOkNvG2HVojr3Fv7JpEpU+Nsc4unk4VeYLhr50auP+QmhnCdVqtZ3atzXq4qfZPxYmmdfjXSwGLoqGXkXPpu8/VP/rD744+H/68jPq11jdDx79+T0RQ2Kgi4bqpgJdxdATaO04j9kgtmToM2iEPqLy07/f+IfOYuGEstNBStXQkyRlgtIXHqe+O/n+j5OKDmnN0EXk6zMDFx8vz0brH5ZC4jc46FoyRyVKP/pm887J9z+LyqwBmYOe47VJB35u0x++ertp6MppTrGgVaqqXFW1UrmiygVNVcuVoqpoRbVYKitqqVqolGSlolGXu3d3F3LER465TFCzgc/w9JoYcB76HR8AQ7NnOgKdE9CQURfnw6NjJsI/9PmBeRVPEZ4ck9FpK6LIxImT4W4fj5AfiehozsSxcJNGsYMQVoxj4R6LYh+njjD5EBvegOH1WwhT4mrhlopidKOCzoxj4V6KYrdDmBrHwv0TxR6GMC2OhRtHitbGsRG3JnyVs9Ejz6DRTbZiptNX/cBLwrUAmoq9n/IDQL9k+Jtw7NMPvkc+aFJpzkyxeB77L/z+CLgQCwAA';

const write = (bytes: Uint8Array, name = 'weights.bin'): string => {
  const file = join(temporaryDirectory(), name);
  writeFileSync(file, bytes);
  return file;
};

const refusal = async (bytes: Uint8Array, name?: string) => {
  const error: unknown = await openCheckpoint(write(bytes, name)).then(
    () => 'accepted',
    (reason: unknown) => reason,
  );
  return error instanceof Error ? `${(error as { code?: string }).code}: ${error.message}` : String(error);
};

const weightsIn = (directory: string): Buffer =>
  Buffer.concat(
    readdirSync(directory)
      .filter((name) => name.endsWith('.safetensors'))
      .sort()
      .map((name) => readFileSync(join(directory, name))),
  );

describe('a file of torch.save', () => {
  it('gives names, dtypes, shapes and places of the tensors that torch wrote', async () => {
    const bytes = gunzipSync(Buffer.from(byTorch, 'base64'));
    const { tensors } = await openCheckpoint(write(bytes));
    const found = [...tensors].map(([name, { dtype, shape, begin, end }]) => [
      name,
      dtype,
      shape,
      bytes.subarray(begin, end).toString('hex'),
    ]);
    expect(found).toEqual([
      ['a', 'BF16', [2, 3], '0000803f004040408040a040'],
      ['b', 'BF16', [2, 3], '0000803f004040408040a040'],
      ['c', 'F32', [3], '0000803f0000803f0000803f'],
      ['d', 'F32', [], '00004040'],
      ['e', 'F32', [0, 4], ''],
      ['f', 'F8_E4M3', [3], '000000'],
      ['n', 'BOOL', [1], '01'],
      ['u', 'U16', [2], '00000000'],
    ]);
  });

  it('is taken by each of its endings, and under the usual keys of training programs', async () => {
    const { tensors } = llama({ layers: 1 });
    const names = Object.keys(tensors).sort();
    for (const ending of ['bin', 'pt', 'pth'])
      for (const key of [undefined, 'state_dict', 'model', 'module']) {
        const wrap = (dict: Buffer) =>
          key === undefined ? dict : pickle.dict({ epoch: pickle.int(3), [key]: dict, args: pickle.op('N') });
        const file = write(torchBytes(tensors, wrap), `weights.${ending}`);
        expect([...(await openCheckpoint(file)).tensors.keys()].sort()).toEqual(names);
      }
  });

  it('may have views of one storage, if their elements lie one behind the other', async () => {
    const storages = { 0: Buffer.from([0, 1, 2, 3, 4, 5, 6, 7]) };
    const at = (shape: number[], offset: number, strides?: number[]) =>
      tensorPickle({
        ...{ dtype: 'U8', key: '0', storageElements: 8, shape, offset },
        ...(strides && { strides }),
      });
    const data = pickle.of(
      pickle.dict({
        whole: at([2, 4], 0),
        row: at([1, 4], 4, [99, 1]),
        scalar: at([], 7),
        empty: at([0, 3], 8, [7, 7]),
      }),
    );
    const bytes = torchFile(data, storages);
    const { tensors } = await openCheckpoint(write(bytes));
    const values = Object.fromEntries(
      [...tensors].map(([name, { begin, end }]) => [name, [...bytes.subarray(begin, end)]]),
    );
    expect(values).toEqual({ whole: [0, 1, 2, 3, 4, 5, 6, 7], row: [4, 5, 6, 7], scalar: [7], empty: [] });
  });
});

describe('experts in pytorch_model.bin', () => {
  const names = Object.keys(llama().tensors);
  const shards = [names.slice(0, 30), names.slice(30)];

  it.each([
    ['one file', undefined],
    ['shards with their index', shards],
  ])('of %s are merged, analysed and compared like the same tensors in safetensors', async (_, parts) => {
    const root = temporaryDirectory();
    const models = ['base', 'a', 'b'].map((name, seed) => ({ name, model: llama({ seed: seed + 1 }) }));
    const write = (kind: string, writer: typeof writeCheckpoint) =>
      models.map(({ name, model }) =>
        writer(join(root, kind, name), { ...model, ...(parts && { shards: parts }) }),
      );
    const kinds = {
      torch: write('torch', writeTorchCheckpoint),
      plain: write('plain', writeCheckpoint),
    };
    const results = [];
    for (const [kind, [base = '', a = '', b = '']] of Object.entries(kinds)) {
      const at = (what: string) => join(root, kind, what);
      await layerSwap({ task: a, language: b, bottom: 2, top: 1 }, { out: at('swapped') });
      await soup({ models: [a, b] }, { out: at('soup') });
      const { experts } = await analyze({ base, experts: [a, b] }, { out: at('analysis') });
      const compared = await diff(a, b);
      results.push([
        weightsIn(at('swapped')).toString('base64'),
        weightsIn(at('soup')).toString('base64'),
        experts.map(({ tensors }) => tensors),
        compared.tensors.map(({ name, state, difference }) => ({ name, state, difference })),
      ]);
    }
    expect(results[0]).toEqual(results[1]);
    for (const [index, model] of kinds.torch.entries())
      expect((await diff(model, kinds.plain[index] ?? '')).equal).toBe(true);
  });

  it('keep tied tensors that share a storage, each under its name', async () => {
    const root = temporaryDirectory();
    const model = llama({ tied: true });
    const embeddings = model.tensors['model.embed_tokens.weight'];
    if (embeddings === undefined) throw new Error('no embeddings');
    const tensors = { ...model.tensors, 'lm_head.weight': embeddings };
    const torch = writeTorchCheckpoint(join(root, 'torch'), { ...model, tensors });
    const plain = writeCheckpoint(join(root, 'plain'), { ...model, tensors });
    const places = (await openCheckpoint(torch)).tensors;
    expect(places.get('lm_head.weight')).toEqual(places.get('model.embed_tokens.weight'));
    expect((await diff(torch, plain)).equal).toBe(true);
  });

  it('are not read where safetensors lie beside them', async () => {
    const model = llama({ layers: 1 });
    const directory = writeCheckpoint(join(temporaryDirectory(), 'a'), model);
    writeFileSync(join(directory, 'pytorch_model.bin'), 'anything');
    const { files, sideFiles } = await openCheckpoint(directory);
    expect(files.map(({ path }) => path)).toEqual([join(directory, 'model.safetensors')]);
    expect(sideFiles).toEqual(['config.json']);
  });

  it('refuse an index that names other files', async () => {
    const directory = writeTorchCheckpoint(join(temporaryDirectory(), 'a'), { ...llama(), shards });
    const index = join(directory, 'pytorch_model.bin.index.json');
    writeFileSync(index, '{"weight_map": {"a": "training_args.txt"}}');
    await expect(openCheckpoint(directory)).rejects.toMatchObject({ code: 'INDEX_INVALID' });
  });

  it('come from the hub by what describes the tensors, without the rest', async () => {
    const hidden = 256;
    const model = writeTorchCheckpoint(join(temporaryDirectory(), 'a'), llama({ hidden, layers: 2 }));
    const hub = await startHub();
    hub.addDirectory('org/model', model);
    const { path } = await bringHeaders('org/model', impatient(hubUser(hub)));
    const [there, here] = [await openCheckpoint(model), await openCheckpoint(path)];
    expect([...here.tensors]).toEqual([...there.tensors]);
    expect(here.files[0]?.header).toBe(there.files[0]?.header);
    const bytes = here.files[0]?.bytes ?? 0;
    const lacking = await missingRanges(join(path, 'pytorch_model.bin'), [{ begin: 0, end: bytes }]);
    const missing = lacking.reduce((sum, { begin, end }) => sum + end - begin, 0);
    expect(missing).toBeGreaterThan(bytes / 2);
  });
});

describe('--download of a model in pytorch_model.bin', () => {
  it('fetches the ranges that a merge reads, to the bytes of a merge of local copies', async () => {
    const root = temporaryDirectory();
    const hub = await startHub();
    const models = ['a', 'b'].map((name, seed) =>
      writeTorchCheckpoint(join(root, name), llama({ seed, hidden: 128 })),
    );
    for (const [index, model] of models.entries()) hub.addDirectory(`org/${index}`, model);
    const swap = (task: string, language: string, out: string) => [
      'swap',
      '--task',
      task,
      '--lang',
      language,
      '--bottom',
      '2',
      '--top',
      '1',
      '-o',
      join(root, out),
    ];
    const [a = '', b = ''] = models;
    const fetched = await cli([...swap('org/0', 'org/1', 'fetched'), '--download'], hubUser(hub));
    expect([fetched.code, fetched.stderr]).toEqual([0, expect.not.stringContaining('error')]);
    expect((await cli(swap(a, b, 'local'))).code).toBe(0);
    expect(weightsIn(join(root, 'fetched')).equals(weightsIn(join(root, 'local')))).toBe(true);
    const whole = models.reduce((sum, model) => sum + statSync(join(model, 'pytorch_model.bin')).size, 0);
    expect(hub.weightBytes).toBeLessThan(whole * 0.9);
  });
});

const one = { w: { dtype: 'U8', shape: [4], data: Buffer.from([1, 2, 3, 4]) } };
const oneTensor = tensorPickle({ dtype: 'U8', shape: [4], key: '0', storageElements: 4 });
const four = { 0: Buffer.from([1, 2, 3, 4]) };
const withTensor = (change: Partial<Parameters<typeof tensorPickle>[0]>) =>
  torchFile(
    pickle.of(
      pickle.dict({ w: tensorPickle({ dtype: 'U8', shape: [4], key: '0', storageElements: 4, ...change }) }),
    ),
    four,
  );
const withValue = (value: Buffer) => torchFile(pickle.of(pickle.dict({ w: oneTensor, x: value })), four);

describe('a pickle that would run code', () => {
  const call = (module: string, name: string) =>
    Buffer.concat([pickle.global(module, name), pickle.tuple(pickle.text('true')), pickle.op('R')]);

  it.each([
    ['os.system', withValue(call('os', 'system'))],
    ['posix.system', withValue(call('posix', 'system'))],
    ['builtins.eval', withValue(call('builtins', 'eval'))],
    ['torch.storage._load_from_bytes', withValue(call('torch.storage', '_load_from_bytes'))],
    ['torch.load', withValue(call('torch', 'load'))],
    ['torch._utils._rebuild_sparse_tensor', withValue(call('torch._utils', '_rebuild_sparse_tensor'))],
    ['argparse.Namespace', withValue(pickle.global('argparse', 'Namespace'))],
    ['os.system', withValue(pickle.op('(ios\nsystem\n'))],
    ['os.system', torchFile(pickle.op('cos\nsystem\n(tR.'), four)],
    ['toString.constructor', withValue(pickle.global('toString', 'constructor'))],
    ['torch.__proto__', withValue(pickle.global('torch', '__proto__'))],
  ])('by %s is named as such', async (name, bytes) => {
    expect(await refusal(bytes)).toContain(`its pickle names ${name}, which would run as code`);
    expect(await refusal(bytes)).toMatch(/^PICKLE_RUNS_CODE: /);
  });
});

describe('what PyTorch reads and this reader does not', () => {
  const entry = (bytes: Buffer, fixture: ZipFixture) =>
    torchFile(pickle.of(pickle.dict({ w: oneTensor })), { 0: bytes }, fixture);

  it.each<[string, Uint8Array, RegExp]>([
    [
      'the legacy format',
      Buffer.from('\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.', 'latin1'),
      /legacy format \(a pickle/,
    ],
    [
      'a tar',
      Buffer.concat([Buffer.alloc(257), Buffer.from('ustar'), Buffer.alloc(300)]),
      /legacy format \(a tar\)/,
    ],
    ['compressed entries', entry(four[0], { method: 8 }), /data\.pkl is compressed/],
    [
      'big-endian numbers',
      torchFile(pickle.of(pickle.dict({ w: oneTensor })), four, { order: 'big' }),
      /big-endian/,
    ],
    [
      'a transposed view',
      withTensor({ shape: [2, 2], strides: [1, 2] }),
      /tensor w is a view with strides \[1, 2\].*\.contiguous\(\)/,
    ],
    ['a view that repeats an element', withTensor({ shape: [2, 4], strides: [0, 1] }), /tensor w is a view/],
    ['another protocol', torchFile(Buffer.from([0x80, 4, 0x7d, 0x2e])), /protocol 4/],
    ['another opcode', withValue(pickle.op('2')), /opcode DUP/],
    ['an object of a class', withValue(pickle.op(')\x81')), /opcode NEWOBJ/],
    ['numbers beside tensors', withValue(pickle.int(7)), /x is no tensor/],
    [
      'an optimizer',
      torchFile(pickle.of(pickle.dict({ state: pickle.dict({ step: oneTensor }) })), four),
      /no tensors at its top/,
    ],
    [
      'two state dicts',
      torchFile(
        pickle.of(
          pickle.dict({ model: pickle.dict({ w: oneTensor }), module: pickle.dict({ w: oneTensor }) }),
        ),
        four,
      ),
      /under model and module/,
    ],
    ['a list', torchFile(pickle.of(pickle.op(']'), oneTensor, pickle.op('a')), four), /no dictionary/],
    ['quantised storages', withValue(pickle.global('torch', 'QInt8Storage')), /torch\.QInt8Storage/],
  ])('is refused with the remedy: %s', async (_, bytes, message) => {
    const found = await refusal(bytes);
    expect(found).toMatch(/^WEIGHTS_UNSUPPORTED: /);
    expect(found).toMatch(message);
    expect(found).toMatch(/safetensors\.torch\.save_file/);
  });
});

describe('a file that contradicts itself', () => {
  const plain = torchTensors(one);
  const edited = (fixture: ZipFixture) => torchFile(plain.data, plain.storages, fixture);
  const local = (change: (header: Buffer) => void) =>
    edited({ edit: (name, header) => void (name === 'archive/data/0' && change(header)) });
  const listed = (change: (entry: Buffer) => void) =>
    edited({ edit: (name, _, entry) => void (name === 'archive/data/0' && change(entry)) });
  const ended = (editEnd: NonNullable<ZipFixture['editEnd']>) => edited({ editEnd });
  const good = edited({});

  it('stands beside one that does not', async () => {
    expect((await openCheckpoint(write(good))).tensors.get('w')?.shape).toEqual([4]);
  });

  it.each<[string, Uint8Array, RegExp]>([
    ['something else', Buffer.alloc(600, 'x'), /HEADER_INVALID.*no zip/],
    ['nothing', Buffer.alloc(0), /FILE_TOO_SHORT/],
    ['a zip that is cut off', good.subarray(0, -1), /no directory at its end/],
    ['bytes behind the zip', Buffer.concat([good, Buffer.alloc(22)]), /no directory at its end/],
    ['a comment', ended((_, __, end) => void end.writeUInt16LE(1, 20)), /end of the zip contradicts/],
    ['two counts', ended((_, __, end) => void end.writeUInt16LE(1, 8)), /end of the zip contradicts/],
    [
      'a directory elsewhere',
      ended((end64) => void end64.writeBigUInt64LE(0n, 48)),
      /end of the zip contradicts/,
    ],
    [
      'a huge directory',
      ended((end64) => void end64.writeBigUInt64LE(2n ** 60n, 40)),
      /end of the zip contradicts/,
    ],
    ['a 64-bit end elsewhere', ended((_, locator) => void locator.writeBigUInt64LE(0n, 8)), /64-bit end/],
    [
      'more entries than there are',
      ended((end64, _, end) => {
        for (const at of [24, 32]) end64.writeBigUInt64LE(9n, at);
        for (const at of [8, 10]) end.writeUInt16LE(9, at);
      }),
      /ends before its entries/,
    ],
    [
      'fewer entries than there are',
      ended((end64, _, end) => {
        for (const at of [24, 32]) end64.writeBigUInt64LE(1n, at);
        for (const at of [8, 10]) end.writeUInt16LE(1, at);
      }),
      /holds more than its entries/,
    ],
    ['two entries in one place', listed((entry) => void entry.writeUInt32LE(0, 42)), /overlaps/],
    [
      'an entry over the next',
      listed((entry) => void [20, 24].map((at) => entry.writeUInt32LE(5000, at))),
      /overlaps/,
    ],
    ['an entry beyond the file', listed((entry) => void entry.writeUInt32LE(2 ** 31, 42)), /overlaps/],
    ['two sizes', listed((entry) => void entry.writeUInt32LE(5, 20)), /two sizes/],
    [
      '64-bit sizes that are not there',
      listed((entry) => void entry.writeUInt32LE(0xffffffff, 20)),
      /lacks its 64-bit/,
    ],
    ['an encrypted entry', listed((entry) => void entry.writeUInt16LE(0x809, 8)), /encrypted/],
    [
      'a name twice',
      torchZip([
        ['a/data.pkl', plain.data],
        ['a/data.pkl', plain.data],
      ]),
      /stands twice/,
    ],
    [
      'two pickles',
      torchZip([
        ['a/data.pkl', plain.data],
        ['b/data.pkl', plain.data],
      ]),
      /2 entries data\.pkl/,
    ],
    ['no pickle', torchZip([['a/data/0', four[0]]]), /0 entries data\.pkl/],
    [
      'another name in the local header',
      local((header) => void header.write('x', 30)),
      /local header.*contradicts/,
    ],
    [
      'another size in the local header',
      local((header) => void header.writeUInt32LE(3, 22)),
      /local header.*contradicts/,
    ],
    ['no local header', local((header) => void header.writeUInt32LE(0, 0)), /local header.*contradicts/],
    [
      'a local header that is too long',
      local((header) => void header.writeUInt16LE(60000, 28)),
      /local header.*contradicts/,
    ],
    ['a compressed local header', local((header) => void header.writeUInt16LE(8, 8)), /compressed/],
    ['a storage that is not there', withTensor({ key: '7' }), /data\/7 is not in the zip/],
    [
      'a storage of another size',
      withTensor({ storageElements: 3, shape: [3] }),
      /has 4 bytes, and the pickle says 3/,
    ],
    ['a tensor beyond its storage', withTensor({ offset: 1 }), /beyond its storage/],
    ['a tensor far beyond its storage', withTensor({ shape: [2 ** 50] }), /beyond its storage/],
    ['more elements than can be counted', withTensor({ shape: [2 ** 50, 2 ** 50] }), /too many elements/],
    ['a pickle that is cut off', torchFile(plain.data.subarray(0, -3), four), /cut off/],
    [
      'something behind the pickle',
      torchFile(Buffer.concat([plain.data, plain.data]), four),
      /ends before its zip entry/,
    ],
    ['a value that is not there', torchFile(pickle.of(pickle.op('h\x09')), four), /not there/],
    ['no value', torchFile(pickle.of(), four), /where there is none/],
    ['a value below a mark', torchFile(pickle.of(pickle.op('}(Nb')), four), /./],
    ['a byte that is no opcode', torchFile(pickle.of(pickle.op('\xff')), four), /byte 255/],
    ['no text', torchFile(pickle.of(pickle.op('X\x01\0\0\0\xff')), four), /not UTF-8/],
    [
      'a call of what is no function',
      torchFile(pickle.of(pickle.op('N)R')), four),
      /calls what is no function/,
    ],
    [
      'a call of a storage’s type',
      withValue(Buffer.concat([pickle.global('torch', 'FloatStorage'), pickle.op(')R')])),
      /calls torch\.FloatStorage/,
    ],
    [
      'a tensor of no storage',
      withValue(Buffer.concat([pickle.global('torch._utils', '_rebuild_tensor_v2'), pickle.op('(NNNNNNtR')])),
      /as PyTorch does not/,
    ],
    [
      'a name twice in a dictionary',
      torchFile(
        pickle.of(
          pickle.op('}('),
          ...['w', 'w'].flatMap((name) => [pickle.text(name), oneTensor]),
          pickle.op('u'),
        ),
        four,
      ),
      /twice/,
    ],
  ])('is refused: %s', async (_, bytes, message) => {
    expect(await refusal(bytes)).toMatch(message);
  });
});

describe('limits on memory', () => {
  it.each<[string, Buffer, RegExp]>([
    ['values on the stack', Buffer.alloc(1_200_000, 'N'), /nested too deeply/],
    ['marks', Buffer.alloc(1_200_000, '('), /nested too deeply/],
    ['operations', Buffer.concat([Buffer.from(']'), Buffer.alloc(8_400_000, ']a')]), /operations/],
  ])('hold for %s', async (_, data, message) => {
    expect(await refusal(torchFile(data))).toMatch(message);
  });
});

describe('mutated files', () => {
  it('are refused by an error of ours, or give tensors within the file', async () => {
    const random = generator(33);
    const outcomes = new Map<string, number>();
    for (let round = 0; round < 4000; round += 1) {
      const outcome = await readTorch(mutated(random));
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    }
    // The sweep reaches the readers of zip and pickle, and what they accept.
    for (const code of ['accepted', 'HEADER_INVALID', 'WEIGHTS_UNSUPPORTED', 'PICKLE_RUNS_CODE'])
      expect([code, (outcomes.get(code) ?? 0) > 10]).toEqual([code, true]);
  }, 60_000);
});
