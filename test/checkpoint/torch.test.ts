import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { bringHeaders } from '../../src/core/models/sources/hub/bring-headers.js';
import { missingRanges } from '../../src/core/models/sources/ranges/folder/folder.js';
import { analyze, diff, layerSwap, openCheckpoint, soup } from '../../src/index.js';
import { llama, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { cli } from '../fixtures/cli.js';
import { weightsIn } from '../fixtures/contents.js';
import { hubUser, impatient } from '../fixtures/hub-client.js';
import { startHub } from '../fixtures/hub-server.js';
import {
  pickle,
  tensorPickle,
  torchBytes,
  torchFile,
  writeTorchCheckpoint,
} from '../fixtures/torch-files.js';

/**
 * An OrderedDict saved by torch.save of torch 2.13, compressed. a: [2, 3] of bfloat16; b: the same tensor
 * again;
 * c: a Parameter of ones; d: 3.0 without dimensions; e: [0, 4]; f: [3] of float8; n: [True]; u: [2] of
 * uint16.
 */
const byTorch =
  'H4sICErCBmsCA3gyLmJpbgCllc9v22QYx9/ETtK6LYOOboSNsTJ+pLCliR07SVlp5hVfLLHiaaiqQJGbuE00N+njvBkMcahUtbDjJM6IC+LGAQ7wF3CfxAWp0kCcOO22K7w/XNd2kha6V3KdVM/n+X6f932fJyumICI0NoYG1gQ6jz6T55s2tvPbd11DP4vWBtdOstHouq7TwO1upyfd8pqO5zSX2w0sAZqzIJFbTZBkNiQbuOs1Wvl6H7fdnlT3nPV+223WsdPpdb36PVkCIZdbzZDgHom0Nx0QOSLphtu1cVG7zf8vQYrlLEB6VSDvxnYfMmYaw9iHJjKTprAP46ZgJvZBetCiHiYwTFowxaB1eK7FPzXgzAhL27ZnbznY8SR4vkVMtQ6NMB+BixdYmiJMtzKmgOEsVRf24EUzsQczXPkchvMWvPQV+5L9El624AKjmnCRZ27xLDK8QrIkMFwiWebmOP0qhssWzLIAB16LAApcIQDC8DqVRaa4D2+YIi36TQ6/hSFnwRwL3oC3T9h9RYJ3jgrN+ycg3eng+9tOMyj5KktXgmu85Lxf8jwtucB1i/5ebdC9qtSd0pay0ZFAxqBYUGJ8B9TIturdrhtIaCxEhTLfjwqVINmr9M8Cl3gXw3ULFllgH95rMect7k2DJQKKGGrsMuzBDQrqHLzpC/bbHXKdJFjG8L4FRj+/YmbGfp7/8ZNfkwjRZ2VkV0yjBdoV+Y2ut2Xj+j3H65GLb+jasOb4D6vIpJ8c7FLz9BktPYOuM2n/cOq2297sbDkdbOiVU6qvrWklamDpU/iblI2SxxqYRCI1sH4fO13a54aOkNvG2HVojr3Fv7JpEpU+Nsc4unk4VeYLhr50auP+QmhnCdVqtZ3atzXq4qfZPxYmmdfjXSwGLoqGXkXPpu8/VP/rD744+H/68jPq11jdDx79+T0RQ2Kgi4bqpgJdxdATaO04j9kgtmToM2iEPqLy07/f+IfOYuGEstNBStXQkyRlgtIXHqe+O/n+j5OKDmnN0EXk6zMDFx8vz0brH5ZC4jc46FoyRyVKP/pm887J9z+LyqwBmYOe47VJB35u0x++ertp6MppTrGgVaqqXFW1UrmiygVNVcuVoqpoRbVYKitqqVqolGSlolGXu3d3F3LER465TFCzgc/w9JoYcB76HR8AQ7NnOgKdE9CQURfnw6NjJsI/9PmBeRVPEZ4ck9FpK6LIxImT4W4fj5AfiehozsSxcJNGsYMQVoxj4R6LYh+njjD5EBvegOH1WwhT4mrhlopidKOCzoxj4V6KYrdDmBrHwv0TxR6GMC2OhRtHitbGsRG3JnyVs9Ejz6DRTbZiptNX/cBLwrUAmoq9n/IDQL9k+Jtw7NMPvkc+aFJpzkyxeB77L/z+CLgQCwAA';

const write = (bytes: Uint8Array, name = 'weights.bin'): string => {
  const file = join(temporaryDirectory(), name);
  writeFileSync(file, bytes);
  return file;
};

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
