import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { chooseTensors } from '../../src/core/measure/extraction/choose-tensors.js';
import { LibraryThread, TookTooLong } from '../../src/core/texts/in-thread.js';
import { llama, safetensors, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { cli } from '../fixtures/cli.js';
import { ggufModel, value, writeGguf } from '../fixtures/gguf-files.js';
import { pickle, torchFile, torchTensors } from '../fixtures/torch-files.js';
import { vocabularyFixture } from '../fixtures/vocabulary.js';

const expressions = new URL('../../dist/core/texts/expressions.cjs', import.meta.url);
const never = '(a+)+$';
const tried = `${'a'.repeat(40)}!`;

const told = async (args: readonly string[]): Promise<string> => {
  const { code, stdout, stderr } = await cli(args);
  return code === 0 ? `ok: ${stdout}` : stderr;
};

describe('expressions of strangers', () => {
  it('end with their thread, and a thread that has ended answers no call', async () => {
    const thread = new LibraryThread(expressions);
    expect(await thread.call('found', [['a$'], ['ba', 'b']], 1)).toEqual([['ba']]);
    await expect(thread.call('found', [['('], []], 1)).rejects.toThrow(/Invalid regular expression/);
    await expect(thread.call('found', [[never], [tried]], 0.1)).rejects.toThrow(TookTooLong);
    await thread.end();
    await expect(thread.call('found', [['a'], ['a']], 1)).rejects.toThrow('its thread ended');
  });

  it('are refused as modules of an adapter where they take too long', async () => {
    const tensors = new Map([
      [`${tried}.weight`, { dtype: 'F32', shape: [2, 2], file: 'x', begin: 0, end: 16 } as const],
    ]);
    const chosen = chooseTensors(
      tensors as never,
      { places: new Map() } as never,
      { modules: [never] },
      () => true,
    );
    await expect(chosen).rejects.toThrow(/modules: expected regular expressions that take less time/);
  });

  it('split no texts of a transplant where they take too long, in any step of the tokenizer', async () => {
    const root = temporaryDirectory();
    const model = writeCheckpoint(join(root, 'model'), vocabularyFixture({ tokens: ['<s>', 'a', 'b'] }));
    const donor = writeCheckpoint(join(root, 'donor'), vocabularyFixture({ tokens: ['<s>', 'b', tried] }));
    const file = join(model, 'tokenizer.json');
    const tokenizer = JSON.parse(readFileSync(file, 'utf8')) as object;
    const replace = { type: 'Replace', pattern: { Regex: '(a|aa)+$' }, content: '' };
    const growing = { type: 'Replace', pattern: { String: 'a' }, content: 'aa' };
    for (const step of [
      { pre_tokenizer: { type: 'Split', pattern: { Regex: never }, behavior: 'Isolated', invert: false } },
      { normalizer: replace },
      { normalizer: { type: 'Sequence', normalizers: Array.from({ length: 40 }, () => growing) } },
    ]) {
      writeFileSync(file, JSON.stringify({ ...tokenizer, ...step }));
      const out = join(root, 'out');
      expect(await told(['transplant', model, '--donor', donor, '--rows', 'subword', '-o', out])).toMatch(
        /splits no texts here \((it takes too long|.*memory limit.*|Invalid string length)\)/,
      );
    }
  }, 60_000);
});

describe('a file of torch', () => {
  const inspected = async (data: Buffer, storages = {}): Promise<string> => {
    const root = temporaryDirectory();
    writeFileSync(join(root, 'config.json'), JSON.stringify(llama().config));
    writeFileSync(join(root, 'pytorch_model.bin'), torchFile(data, storages));
    return told(['inspect', root]);
  };
  const { tensors } = llama();
  const dict = (...entries: readonly (readonly [Buffer, Buffer])[]): Buffer =>
    Buffer.concat([Buffer.from('}('), ...entries.flat(), Buffer.from('u')]);

  it('has each key of a dictionary once, whatever the key and the dictionary are', async () => {
    let inner: Buffer = Buffer.alloc(0);
    const { storages } = torchTensors(tensors, (of) => {
      inner = of;
      return of;
    });
    const [state, one, yes] = [pickle.text('state_dict'), pickle.int(1), Buffer.from([0x88])];
    for (const data of [
      dict([state, inner], [state, inner]),
      Buffer.concat([dict([state, inner]), Buffer.from('('), state, inner, Buffer.from('u')]),
      dict([state, inner], [pickle.text('epoch'), dict([one, one], [one, one])]),
      dict([state, inner], [pickle.text('epoch'), dict([one, one], [yes, one])]),
    ])
      expect(await inspected(pickle.of(data), storages)).toMatch(/a key twice in one dictionary/);
    expect(await inspected(pickle.of(dict([state, inner])), storages)).toMatch(/^ok/);
  });

  it('may refer to one dictionary by any number of keys', async () => {
    const count = 20_000;
    const entries = Array.from({ length: count }, (_, at) => [pickle.text(`e${at}`), pickle.int(1)] as const);
    const references = Array.from(
      { length: count },
      (_, at) => [pickle.text(`r${at}`), Buffer.from([0x68, 0])] as const,
    );
    const shared = Buffer.concat([dict(...entries), Buffer.from([0x71, 0])]);
    const data = pickle.of(dict([pickle.text('x'), shared], ...references));
    expect(await inspected(data)).toMatch(/it holds no tensors/);
  });
});

describe('numbers of layers', () => {
  it('are refused above those that models have, before lists are made of them', async () => {
    const root = temporaryDirectory();
    const { tensors, config } = llama();
    const [, one] = Object.entries(tensors)[0] ?? [];
    const base = writeCheckpoint(join(root, 'base'), llama());
    for (const layer of ['10000', '30000000', '4294967295', '9007199254740993', '9'.repeat(20)]) {
      const name = `model.layers.${layer}.mlp.up_proj.weight`;
      const model = writeCheckpoint(join(root, 'model'), {
        tensors: { ...tensors, [name]: one as never },
        config,
      });
      for (const command of [
        ['inspect', model],
        ['diff', base, model],
        ['soup', model, model, '-o', join(root, 'out'), '--dry-run'],
      ])
        expect(await told(command), `${command[0]} ${layer}`).toMatch(/model has no layer \d of \d/);
    }
  });
});

describe('GGUF', () => {
  const inspected = async (more: Record<string, Buffer>, edit: (bytes: Buffer) => void = () => undefined) => {
    const root = temporaryDirectory();
    const { metadata, tensors } = ggufModel();
    const file = join(root, 'model.gguf');
    writeGguf(file, { metadata: { ...metadata, ...more }, tensors });
    const bytes = readFileSync(file);
    edit(bytes);
    writeFileSync(file, bytes);
    return told(['inspect', root]);
  };

  it('has as many layers as it says', async () => {
    expect(await inspected({})).toMatch(/^ok/);
    for (const count of [1, 3, 1e9])
      expect(await inspected({ 'llama.block_count': value.u32(count) })).toMatch(
        new RegExp(`says that it has ${count} layers, and has tensors of 2`),
      );
  });

  it('has no configuration where a part of each head is turned', async () => {
    expect(await inspected({ 'llama.rope.dimension_count': value.u32(64) })).toMatch(/^ok/);
    const partial = await inspected({ 'llama.rope.dimension_count': value.u32(32) });
    expect(partial).not.toMatch(/head_dim/);
  });

  it('has tensors in bytes of their own', async () => {
    const shared = await inspected({}, (bytes) => {
      // The offset is last in a tensor's description: the second norm's becomes the first's.
      const place = (name: string) => bytes.indexOf(name) + name.length + 4 + 8 + 4;
      bytes.copy(
        bytes,
        place('blk.1.attn_norm.weight'),
        place('output_norm.weight'),
        place('output_norm.weight') + 8,
      );
    });
    expect(shared).toMatch(/overlaps the tensor before it/);
  });
});

describe('special tokens', () => {
  it('have a limit, since each becomes a row', async () => {
    const root = temporaryDirectory();
    const [one, other] = ['one', 'other'].map((name) =>
      writeCheckpoint(join(root, name), vocabularyFixture({ tokens: ['<s>', 'a', 'b'] })),
    );
    const tokens = Array.from({ length: 100_001 }, (_, index) => `<${index}>`);
    writeFileSync(
      join(String(one), 'special_tokens_map.json'),
      JSON.stringify({ additional_special_tokens: tokens }),
    );
    expect(await told(['soup', String(one), String(other), '-o', join(root, 'out'), '--dry-run'])).toMatch(
      /has 100001 added and special tokens, and may have 100000/,
    );
  });
});

describe('names of tensors', () => {
  it('have a limit, since they are compared and taken apart', async () => {
    const model = temporaryDirectory();
    const named = (length: number): void =>
      writeFileSync(
        join(model, 'model.safetensors'),
        safetensors({ ['x'.repeat(length)]: { dtype: 'F32', shape: [1], data: Buffer.alloc(4) } }),
      );
    named(1_001);
    expect(await told(['inspect', model])).toMatch(/the name has 1001 characters, and may have 1000/);
    named(1_000);
    expect(await told(['inspect', model])).toMatch(/^ok/);
  });
});

describe('a table of scores', () => {
  const selected = async (text: string, ...args: readonly string[]): Promise<string> => {
    const file = join(temporaryDirectory(), 'scores.csv');
    writeFileSync(file, text);
    return told(['select', '--scores', file, '--count', '1', '--balance', '0', ...args]);
  };

  it('may have columns and models of any name', async () => {
    for (const name of ['__proto__', 'constructor', 'toString'])
      for (const args of [[], ['--tasks', name], ['--weights', `${name}=2`], ['--at-least', `${name}=0.4`]]) {
        const columns = await selected(`name,role,${name},x\na,task,1,0.5\nb,task,0.5,0.75\n`, ...args);
        expect(columns, `${name} ${args.join(' ')}`).not.toMatch(/TypeError|Cannot|undefined|not a function/);
        const models = await selected(`name,role,x\n${name},task,1\nb,task,0.5\n`);
        expect(models).not.toMatch(/TypeError|Cannot|undefined|not a function/);
      }
  });

  it('has each column once, and a value for each', async () => {
    expect(await selected('name,x, x\na,1,1\n')).toMatch(/has two columns x/);
    expect(await selected('name,x\na,1,1\n')).toMatch(/line 2: 3 values for 2 columns/);
    expect(await selected('name,x\na,"1\n')).toMatch(/line 2: Quoted field unterminated/);
  });
});
