import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openCheckpoint } from '../../src/index.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { generator } from '../fixtures/numbers.js';
import {
  pickle,
  tensorPickle,
  torchFile,
  torchTensors,
  torchZip,
  type ZipFixture,
} from '../fixtures/torch-files.js';
import { mutated, readTorch } from '../fixtures/torch-mutations.js';

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

describe('a file of one of several processes', () => {
  it('is refused with the program that joins them, as verl saves it', async () => {
    const bytes = withValue(pickle.global('torch._tensor', '_rebuild_from_type_v2'));
    expect(await refusal(bytes, 'model_world_size_2_rank_0.pt')).toMatch(
      /^WEIGHTS_UNSUPPORTED: .*parts of tensors \(DTensor\); .*python -m verl\.model_merger merge/,
    );
    expect(await refusal(bytes)).toMatch(/^PICKLE_RUNS_CODE: /);
    const folder = temporaryDirectory();
    for (const rank of [0, 1]) writeFileSync(join(folder, `model_world_size_2_rank_${rank}.pt`), bytes);
    await expect(openCheckpoint(folder)).rejects.toThrow(/parts of tensors; .*verl\.model_merger/);
  });

  it('is named beside its optimizer if there is only one process', async () => {
    const folder = temporaryDirectory();
    const { data, storages } = torchTensors(one);
    for (const what of ['extra_state', 'model', 'optim'])
      writeFileSync(join(folder, `${what}_world_size_1_rank_0.pt`), torchFile(data, storages));
    const file = join(folder, 'model_world_size_1_rank_0.pt');
    await expect(openCheckpoint(folder)).rejects.toThrow(`give ${file} itself`);
    expect((await openCheckpoint(file)).tensors.size).toBe(1);
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
    ['a value numbered out of order', torchFile(pickle.of(pickle.op('}q\x07')), four), /out of order/],
    ['no value', torchFile(pickle.of(), four), /from an empty stack/],
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
    ['objects', Buffer.concat([Buffer.from(']'), Buffer.alloc(2_100_000, ']a')]), /1000000 objects/],
    ['operations', Buffer.concat([Buffer.from(']'), Buffer.alloc(16_400_000, 'Na')]), /8000000 operations/],
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
    // The sweep reaches the readers of zip and pickle, and valid files too.
    for (const code of ['accepted', 'HEADER_INVALID', 'WEIGHTS_UNSUPPORTED', 'PICKLE_RUNS_CODE'])
      expect([code, (outcomes.get(code) ?? 0) > 10]).toEqual([code, true]);
  }, 60_000);
});
