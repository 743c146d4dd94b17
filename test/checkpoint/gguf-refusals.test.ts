import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { LayerloomError } from '../../src/core/base/errors/errors.js';
import { ggufReader } from '../../src/core/models/checkpoint/containers/gguf/reader.js';
import { readHeader } from '../../src/core/models/checkpoint/containers/read-header.js';
import { merge, openCheckpoint, soup } from '../../src/index.js';
import { lora, writeAdapter } from '../fixtures/adapters.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import {
  type GgufFixture,
  ggufBytes,
  ggufModel,
  randomBlocks,
  u64,
  value,
  writeGguf,
} from '../fixtures/gguf-files.js';
import { generator } from '../fixtures/numbers.js';
import { writeVocabulary } from '../fixtures/vocabulary.js';

const refusal = async (bytes: Uint8Array): Promise<string> => {
  const file = join(temporaryDirectory(), 'model.gguf');
  writeFileSync(file, bytes);
  const error: unknown = await openCheckpoint(file).then(
    () => 'accepted',
    (reason: unknown) => reason,
  );
  return error instanceof LayerloomError
    ? `${error.code}: ${error.message.replace(file, 'FILE')}`
    : String(error);
};

const model = ggufModel();
const having = (change: Partial<GgufFixture>): Buffer => ggufBytes({ ...model, ...change });
const metadata = (key: string, of: Buffer): Buffer => having({ metadata: { ...model.metadata, [key]: of } });
const tensor = (name: string, change: object): Buffer =>
  having({
    tensors: {
      ...model.tensors,
      [name]: { ...randomBlocks('Q8_0', [8, 256], 1), ...model.tensors[name], ...change },
    },
  });
const word = 'token_embd.weight';
const most = 2n ** 64n - 1n;

describe('a file that is no GGUF file is refused, and so is one', () => {
  it.each<[string, Buffer, RegExp]>([
    ['that is too short', Buffer.from('GGUF'), /^FILE_TOO_SHORT: FILE has 4 bytes/],
    [
      'of another beginning',
      having({ magic: 'GGML' }),
      /^HEADER_INVALID: FILE: header: it does not begin with GGUF/,
    ],
    ['of version 1', having({ version: 1 }), /^WEIGHTS_UNSUPPORTED: FILE: it is of version 1 of GGUF/],
    ['whose numbers are big-endian', having({ version: 0x03000000 }), /^WEIGHTS_UNSUPPORTED: .*big-endian/],
    [
      'of more tensors than can be counted',
      having({ counts: [most, 1] }),
      /^HEADER_INVALID: .*the number of tensors is 18446744073709551615/,
    ],
    [
      'of more tensors than models have',
      having({ counts: [2 ** 40, 1] }),
      /^HEADER_INVALID: .*1099511627776 tensors/,
    ],
    ['of more keys than models have', having({ counts: [1, 2 ** 20] }), /^HEADER_INVALID: .*1048576 keys/],
    [
      'whose header is cut off',
      having({}).subarray(0, 500),
      /^HEADER_TRUNCATED: FILE announces a header of \d+ bytes and has 500/,
    ],
    [
      'of fewer tensors than it says',
      having({ counts: [2 ** 20, Object.keys(model.metadata).length] }),
      /^HEADER_(TRUNCATED|INVALID): /,
    ],
    ['whose data are cut off', having({}).subarray(0, -64), /^FILE_LENGTH_MISMATCH: FILE has \d+ bytes/],
    [
      'with a key twice',
      // The second overlaps the first.
      having({
        ...{ counts: [0, 2], tensors: {} },
        metadata: { a: Buffer.concat([value.u32(1), u64(1), Buffer.from('a'), value.u32(1)]) },
      }),
      /^HEADER_INVALID: .*it has a twice/,
    ],
    [
      'that names no architecture',
      having({ metadata: {} }),
      /^WEIGHTS_UNSUPPORTED: .*its architecture is undefined/,
    ],
    [
      'with a long text',
      metadata('x', value.raw(8, Buffer.concat([u64(2 ** 40), Buffer.from('x')]))),
      /^HEADER_TRUNCATED: /,
    ],
    [
      'with a text longer than can be counted',
      metadata('x', value.raw(8, u64(most))),
      /^HEADER_INVALID: .*the length of the value of x/,
    ],
    [
      'with a text that is not UTF-8',
      metadata('x', value.raw(8, Buffer.concat([u64(1), Buffer.of(255)]))),
      /^HEADER_INVALID: .*the value of x is not UTF-8/,
    ],
    [
      'with a value of no type',
      metadata('x', value.raw(13, Buffer.alloc(8))),
      /^HEADER_INVALID: .*the value of x is of type 13/,
    ],
    [
      'with an array of arrays',
      metadata('x', value.raw(9, Buffer.concat([Buffer.of(9, 0, 0, 0), u64(1), Buffer.alloc(64)]))),
      /^HEADER_INVALID: .*an array of arrays/,
    ],
    [
      'with a long array',
      metadata('x', value.raw(9, Buffer.concat([Buffer.of(12, 0, 0, 0), u64(2 ** 50)]))),
      /^HEADER_TRUNCATED: /,
    ],
    [
      'with a long array of texts',
      metadata('x', value.raw(9, Buffer.concat([Buffer.of(8, 0, 0, 0), u64(2 ** 50)]))),
      /^HEADER_(TRUNCATED|INVALID): /,
    ],
    [
      'aligned to nothing',
      metadata('general.alignment', value.u32(0)),
      /^HEADER_INVALID: .*general\.alignment is no power of two/,
    ],
    [
      'aligned to no power of two',
      metadata('general.alignment', value.u32(48)),
      /^HEADER_INVALID: .*no power of two/,
    ],
    [
      'with a tensor of no dimensions',
      tensor(word, { shape: [] }),
      /^HEADER_INVALID: FILE: tensor token_embd\.weight: it has 0 dimensions/,
    ],
    [
      'with a tensor of five dimensions',
      tensor(word, { shape: [1, 1, 1, 8, 256] }),
      /^HEADER_INVALID: .*it has 5 dimensions/,
    ],
    ['with a tensor of no elements', tensor(word, { shape: [0, 256] }), /^HEADER_INVALID: .*fills no blocks/],
    [
      'with a tensor of too many elements',
      tensor(word, { shape: [2 ** 40, 2 ** 40] }),
      /^SHAPE_OVERFLOW: .*too many elements/,
    ],
    [
      'with rows that blocks do not fill',
      tensor(word, { shape: [8, 248] }),
      /^HEADER_INVALID: .*\[8, 248\] fills no blocks of Q8_0/,
    ],
    [
      'with an offset that is not aligned',
      tensor(word, { offset: 33 }),
      /^OFFSETS_INVALID: .*33 is no multiple of 32/,
    ],
    ['with an offset behind its end', tensor(word, { offset: 2 ** 40 }), /^FILE_LENGTH_MISMATCH: /],
    ['with an offset beyond all', tensor(word, { offset: most - 31n }), /^HEADER_INVALID: .*an offset is/],
    [
      'with a type that is not read',
      tensor(word, { type: 'Q2_K' }),
      /^WEIGHTS_UNSUPPORTED: FILE: tensor token_embd\.weight is of Q2_K; F32, .*Q6_K are read/,
    ],
    [
      'with a type that there is not',
      tensor(word, { type: 'none' }),
      /^WEIGHTS_UNSUPPORTED: .*is of type 99/,
    ],
    [
      'with a tensor that the model has not',
      tensor('blk.0.ffn_gate_exps.weight', {}),
      /^WEIGHTS_UNSUPPORTED: FILE: tensor blk\.0\.ffn_gate_exps\.weight is not among the tensors of llama/,
    ],
    [
      'with a tensor named like a part of JavaScript',
      tensor('blk.0.constructor.weight', {}),
      /^WEIGHTS_UNSUPPORTED: .*is not among the tensors of llama/,
    ],
    [
      'of another architecture',
      metadata('general.architecture', value.text('mamba')),
      /^WEIGHTS_UNSUPPORTED: FILE: its architecture is mamba; llama, qwen2/,
    ],
    [
      'that is a part of a model',
      metadata('split.count', value.u32(3)),
      /^WEIGHTS_UNSUPPORTED: .*one of 3 parts; join them/,
    ],
    [
      'of no heads',
      metadata('llama.attention.head_count', value.u32(0)),
      /^WEIGHTS_UNSUPPORTED: .*attention\.head_count is no number of heads/,
    ],
    [
      'of heads that rows do not fill',
      metadata('llama.attention.head_count', value.u32(3)),
      /^WEIGHTS_UNSUPPORTED: .*has 256 rows for 3 heads/,
    ],
  ])('%s', async (_, bytes, message) => {
    expect(await refusal(bytes)).toMatch(message);
  });
});

describe('a header that is larger than any', () => {
  it('is refused once it is seen, and not read on', () => {
    const array = value.raw(9, Buffer.concat([Buffer.of(0, 0, 0, 0), u64(2 ** 28)]));
    const start = Buffer.alloc(100_000_000);
    ggufBytes({ metadata: { x: array }, tensors: {} }).copy(start);
    const endOf = (bytes: number) => ggufReader.headerEnd(start.subarray(0, bytes), 'model.gguf', 2 ** 30);
    expect([endOf(0), endOf(2 ** 20), endOf(90_000_000)]).toEqual([2 ** 20, 2 ** 21, 100_000_000]);
    expect(() => endOf(100_000_000)).toThrow(/announces a header of 268435\d{3} bytes/);
  });
});

describe('a file with bytes changed', () => {
  it('is read or refused by a code, whichever they are', async () => {
    const bytes = ggufBytes(model);
    const end = ggufReader.headerEnd(bytes, 'model.gguf', bytes.length);
    const random = generator(5);
    const codes = new Set<string>();
    for (let run = 0; run < 400; run += 1) {
      const copy = Buffer.from(bytes);
      const changes = 1 + Math.floor(random() * 4);
      for (let at = 0; at < changes; at += 1) copy[Math.floor(random() * end)] = Math.floor(random() * 256);
      const cut = random() < 0.2 ? copy.subarray(0, Math.floor(random() * copy.length)) : copy;
      const read = async (begin: number, to: number) => cut.subarray(begin, to);
      const code = await readHeader(ggufReader, read, 'model.gguf', cut.length).then(
        (header) => {
          try {
            ggufReader.parseHeader(header, 'model.gguf', cut.length);
            return 'read';
          } catch (error) {
            return error instanceof LayerloomError ? error.code : Promise.reject(error);
          }
        },
        (error: unknown) => (error instanceof LayerloomError ? error.code : Promise.reject(error)),
      );
      codes.add(code);
    }
    expect(codes.size).toBeGreaterThan(5);
  });
});

describe('what is not done with blocks', () => {
  it('is moving rows of a vocabulary', async () => {
    const root = temporaryDirectory();
    const words = ['<unk>', 'a', 'b', 'c', 'd', 'e', 'f', 'g'];
    const models = [words, words.toReversed()].map((tokens, index) => {
      const directory = writeVocabulary(join(root, `${index}`), { tokens, rows: words.length });
      rmSync(join(directory, 'model.safetensors'));
      writeGguf(join(directory, 'model.gguf'), ggufModel({ seed: index + 1 }));
      return directory;
    });
    await expect(
      soup({ models, tokenizerSource: 'union' } as never, { out: join(root, 'out') }),
    ).rejects.toMatchObject({
      code: 'VOCABULARY_UNMERGEABLE',
      message: expect.stringContaining('a change of vocabulary would move its rows'),
    });
  });

  it('is a DoRA adapter over them, whose norms are of stored weights', async () => {
    const root = temporaryDirectory();
    const base = writeGguf(join(root, 'model.gguf'), model);
    const shapes = { 'model.layers.0.mlp.up_proj.weight': [512, 256] };
    const adapter = writeAdapter(
      join(root, 'dora'),
      lora({ shapes, targets: ['up_proj'], rank: 2, config: { use_dora: true } }),
    );
    await expect(
      soup({ models: [base, `${base}+${adapter}`] }, { out: join(root, 'out') }),
    ).rejects.toMatchObject({
      code: 'ADAPTER_UNSUPPORTED',
      message: expect.stringContaining(
        "tensor model.layers.0.mlp.up_proj.weight is quantised in the base, and the adapter's change divides by norms of the base with the adapter (DoRA); write the base first",
      ),
    });
  });

  it('is a scale of NaN, which a merge names', async () => {
    const root = temporaryDirectory();
    const bad = ggufModel();
    const name = 'blk.1.ffn_down.weight';
    bad.tensors[name]?.data.writeUInt16LE(0x7e00, 208);
    const models = [
      writeGguf(join(root, 'bad.gguf'), bad),
      writeGguf(join(root, 'good.gguf'), ggufModel({ seed: 2 })),
    ];
    await expect(
      merge({ method: 'soup', models } as never, { out: join(root, 'out') }),
    ).rejects.toMatchObject({
      code: 'NON_FINITE',
      message: expect.stringContaining('model.layers.1.mlp.down_proj.weight'),
    });
  });
});
