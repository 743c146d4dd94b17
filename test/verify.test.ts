import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { isChosen } from '../src/core/engine/compute/recompute.js';
import { extractLora, layerSwap, merge, openCheckpoint, relayout, soup, verify } from '../src/index.js';
import { lora, writeAdapter } from './fixtures/adapters.js';
import { fill, llama, llamaShapes, temporaryDirectory, writeCheckpoint } from './fixtures/checkpoints.js';
import { cli } from './fixtures/cli.js';
import { everyMethod } from './fixtures/every-method.js';
import { writeFamily } from './fixtures/family.js';

// An output against its record, and against its inputs.

const shape = { hidden: 64, layers: 5 };

const swapped = async (options: { readonly checksums?: boolean } = {}) => {
  const root = temporaryDirectory();
  const [task, language] = [1, 2].map((seed) =>
    writeCheckpoint(join(root, `expert-${seed}`), llama({ ...shape, seed })),
  ) as [string, string];
  const out = join(root, 'out');
  await layerSwap({ task, language, bottom: 1, top: 1, bottomTransition: 1 }, { out, ...options });
  return { root, task, language, out };
};

const flip = (file: string, at: number, bit = 0): void => {
  const bytes = readFileSync(file);
  bytes.writeUInt8(bytes.readUInt8(at) ^ (1 << bit), at);
  writeFileSync(file, bytes);
};

const readRecord = (out: string): Record<string, unknown> =>
  JSON.parse(readFileSync(join(out, 'layerloom.json'), 'utf8'));

const writeRecord = (out: string, record: object): void =>
  writeFileSync(join(out, 'layerloom.json'), JSON.stringify(record));

const statesOf = async (out: string) =>
  Object.fromEntries((await verify(out)).files.map(({ file, state }) => [file, state]));

it('stands before a push with --verify', async () => {
  const { out } = await swapped({ checksums: true });
  const push = () => cli(['push', out, 'org/merged', '--dry-run', '--verify', '--json']);
  expect((await push()).code).toBe(0);
  flip(join(out, readdirSync(out).find((name) => name.endsWith('.safetensors')) ?? ''), 2000);
  const refused = await push();
  expect([refused.code, JSON.parse(refused.stdout).error.code]).toEqual([3, 'OUTPUT_DAMAGED']);
});

describe('an output against its record', () => {
  it('is intact, and its weights are known by their sizes where no SHA-256 was recorded', async () => {
    const { out } = await swapped();
    const { intact, files, structure, unlisted, againstInputs } = await verify(out);
    expect({ intact, structure, unlisted, againstInputs }).toEqual({
      intact: true,
      structure: null,
      unlisted: [],
      againstInputs: null,
    });
    const states = new Map(files.map(({ file, state }) => [file, state]));
    expect(states.get('config.json')).toBe('equal');
    expect(states.get('README.md')).toBe('equal');
    expect([...states].filter(([file]) => file.endsWith('.safetensors')).map(([, state]) => state)).toEqual(
      Array(7).fill('unrecorded'),
    );
  });

  it('shows a flipped bit of weights where their SHA-256 was recorded', async () => {
    const { out } = await swapped({ checksums: true });
    expect(Object.values(await statesOf(out)).every((state) => state === 'equal')).toBe(true);
    const { files } = await openCheckpoint(out);
    const path = files[2]?.path ?? '';
    flip(path, readFileSync(path).length - 1, 7);
    const found = await verify(out);
    expect(found.intact).toBe(false);
    expect(found.files.filter(({ state }) => state !== 'equal')).toEqual([
      expect.objectContaining({
        state: 'different',
        reason: expect.stringMatching(/^has SHA-256 \w{12}… instead of \w{12}…$/) as string,
      }),
    ]);
  });

  it.each([
    ['a file that is missing', 'missing', (out: string) => rmSync(join(out, 'config.json'))],
    [
      'a file that was changed',
      'different',
      (out: string) => flip(join(out, 'config.json'), readFileSync(join(out, 'config.json')).length - 1),
    ],
    [
      'a folder in its place',
      'different',
      (out: string) => {
        rmSync(join(out, 'config.json'));
        mkdirSync(join(out, 'config.json'));
      },
    ],
  ] as const)('shows %s', async (_, state, damage) => {
    const { out } = await swapped();
    damage(out);
    const found = await verify(out);
    expect(found.intact).toBe(false);
    expect(found.files.find(({ file }) => file === 'config.json')).toMatchObject({ state });
  });

  it.each(['adapter_model.safetensors', 'modeling_x.py', 'special_tokens_map.json', 'added.jinja'])(
    'shows %s, which a loader would read and no merge wrote',
    async (name) => {
      const { out } = await swapped();
      writeFileSync(join(out, name), '');
      expect(await verify(out)).toMatchObject({ intact: false, unlisted: [name] });
    },
  );

  it('lets a card be edited, and says what was added', async () => {
    const { out } = await swapped();
    writeFileSync(join(out, 'README.md'), '# Mine');
    writeFileSync(join(out, 'LICENSE'), '');
    const found = await verify(out);
    expect(found).toMatchObject({ intact: true, unlisted: ['LICENSE'] });
    expect(found.files.find(({ file }) => file === 'README.md')).toMatchObject({ state: 'edited' });
  });

  it('says why it cannot be opened', async () => {
    const { out } = await swapped();
    const { files } = await openCheckpoint(out);
    truncateSync(files[0]?.path ?? '', 20);
    expect(await verify(out)).toMatchObject({
      intact: false,
      structure: expect.stringContaining(files[0]?.path ?? '-') as string,
    });
  });

  it.each([
    ['no record', undefined],
    ['one that is not JSON', 'x'],
    ['one that names files elsewhere', JSON.stringify({ layerloom: '1', files: ['../../etc/passwd'] })],
    [
      'one whose hashes are none',
      JSON.stringify({ layerloom: '1', files: [], shards: [{ file: 'a', bytes: 1, sha256: 'x' }] }),
    ],
  ])('is refused with %s', async (_, text) => {
    const { out } = await swapped();
    rmSync(join(out, 'layerloom.json'));
    if (text !== undefined) writeFileSync(join(out, 'layerloom.json'), text);
    await expect(verify(out)).rejects.toMatchObject({ code: 'OUTPUT_UNRECORDED', exitCode: 3 });
  });

  it('is of an extracted adapter too, which has no recipe', async () => {
    const { root, task, language } = await swapped();
    const out = join(root, 'lora');
    await extractLora({ base: language, expert: task, rank: 2 }, { out });
    expect(await verify(out)).toMatchObject({ intact: true });
    await expect(verify(out, { againstInputs: true })).rejects.toMatchObject({
      code: 'INVALID_PARAMETER',
      details: { parameter: 'againstInputs' },
    });
  });

  it.each([
    [{ sample: 0.5 }, 'sample'],
    [{ againstInputs: true, sample: 0 }, 'sample'],
    [{ againstInputs: true, sample: 1.5 }, 'sample'],
    [{ againstInputs: true, sample: Number.NaN }, 'sample'],
    [{ againstInputs: true, seed: -1 }, 'seed'],
  ])('is refused with %o', async (options, parameter) => {
    await expect(verify(temporaryDirectory(), options)).rejects.toMatchObject({
      code: 'INVALID_PARAMETER',
      details: { parameter },
    });
  });
});

describe('an output against its inputs', () => {
  it('is what they give, by methods of each kind', async () => {
    const recipes = everyMethod(writeFamily());
    const kinds = ['slerp', 'ties', 'della', 'model_stock', 'sce', 'revert', 'nested'];
    for (const [name, recipe] of Object.entries(recipes).filter(([each]) => kinds.includes(each))) {
      const out = join(temporaryDirectory(), 'out');
      await merge(recipe, { out });
      const { intact, againstInputs, files } = await verify(out, { againstInputs: true });
      expect({ name, intact, different: againstInputs?.different }).toEqual({
        name,
        intact: true,
        different: [],
      });
      expect(againstInputs?.recomputed).toBe(againstInputs?.tiles);
      expect({ name, files: files.filter(({ state }) => state !== 'equal') }).toEqual({ name, files: [] });
    }
  });

  it.each([
    ['quantised', { quantize: 'int8' }],
    ['in other shards', { layout: 'size' }],
    ['in another dtype', { dtype: 'float16' }],
  ] as const)('%s is what they give', async (_, options) => {
    const { root, task, language } = await swapped();
    const out = join(root, 'again');
    await soup({ models: [task, language] }, { out, ...options });
    expect(await verify(out, { againstInputs: true })).toMatchObject({ intact: true });
    const [first] = (await openCheckpoint(out)).files;
    flip(first?.path ?? '', readFileSync(first?.path ?? '').length - 3);
    expect(await verify(out, { againstInputs: true })).toMatchObject({ intact: false });
  });

  it('of copies of whole files, and of averaged adapters of lower rank, is what they give', async () => {
    const { root, task } = await swapped();
    const copy = join(root, 'copy');
    await relayout({ model: task }, { out: copy });
    expect(await verify(copy, { againstInputs: true })).toMatchObject({ intact: true });
    const adapters = [1, 2].map((seed) =>
      writeAdapter(join(root, `adapter-${seed}`), lora({ shapes: llamaShapes(shape), seed })),
    );
    const out = join(root, 'adapter');
    await soup({ models: adapters }, { out, as: 'adapter', rank: 2 });
    expect(await verify(out, { againstInputs: true })).toMatchObject({ intact: true });
    const weights = join(out, 'adapter_model.safetensors');
    flip(weights, readFileSync(weights).length - 5);
    expect(await verify(out, { againstInputs: true })).toMatchObject({ intact: false });
  });

  it('shows each tensor with a flipped bit, and where, and one in a header', async () => {
    const { out } = await swapped();
    const { tensors, files } = await openCheckpoint(out);
    const flipped = [...tensors].filter((_, index) => index % 3 === 0);
    for (const [index, [, { file, begin, end }]] of flipped.entries())
      flip(files[file]?.path ?? '', begin + ((index * 37) % (end - begin)), index % 8);
    const { againstInputs, intact } = await verify(out, { againstInputs: true });
    expect(intact).toBe(false);
    const places = flipped.map(
      ([tensor, { begin, end }], index) => [tensor, begin + ((index * 37) % (end - begin))] as const,
    );
    expect(new Map(againstInputs?.different.map(({ tensor, at }) => [tensor, at]))).toEqual(new Map(places));
    const space = readFileSync(files[0]?.path ?? '').indexOf('"__metadata__"');
    flip(files[0]?.path ?? '', space + 3);
    const again = await verify(out, { againstInputs: true });
    expect(again.againstInputs?.different).toContainEqual(
      expect.objectContaining({ tensor: null, at: space + 3 }),
    );
  });

  it('finds what differs where a seed has its tile, and each tile with the stated probability', async () => {
    const { out } = await swapped();
    const { files } = await openCheckpoint(out);
    const [path = ''] = files.slice(-1).map((file) => file.path);
    flip(path, readFileSync(path).length - 1);
    for (const seed of [1, 2, 3, 4, 5, 6]) {
      const { againstInputs, intact } = await verify(out, { againstInputs: true, sample: 0.5, seed });
      const chosen = Array.from({ length: 7 }, (_, tile) => isChosen({ share: 0.5, seed }, tile));
      expect(againstInputs).toMatchObject({ tiles: 7, recomputed: chosen.filter(Boolean).length, seed });
      expect(intact).toBe(againstInputs?.different.length === 0);
    }
    const draws = 100_000;
    const taken = Array.from({ length: draws }, (_, tile) => isChosen({ share: 0.05, seed: 7 }, tile));
    // Five standard deviations of the number of tiles.
    const off = Math.abs(taken.filter(Boolean).length - 0.05 * draws);
    expect(off).toBeLessThan(5 * Math.sqrt(draws * 0.05 * 0.95));
  });

  it('of copies whose modification times are others is compared, with a warning', async () => {
    const { task, out } = await swapped();
    for (const { path } of (await openCheckpoint(task)).files) utimesSync(path, 1, 1);
    const { intact, warnings } = await verify(out, { againstInputs: true });
    expect(intact).toBe(true);
    expect(warnings).toEqual([expect.stringContaining('since the merge') as string]);
  });

  it('differs where an input has other weights', async () => {
    const { task, out } = await swapped();
    const { files, tensors } = await openCheckpoint(task);
    const name = 'model.layers.2.self_attn.q_proj.weight';
    const { file = 0, begin = 0 } = tensors.get(name) ?? {};
    flip(files[file]?.path ?? '', begin);
    const { againstInputs } = await verify(out, { againstInputs: true });
    expect(againstInputs?.different.map(({ tensor }) => tensor)).toEqual([name]);
  });

  it('is compared by its card where it has no record, beside its inputs', async () => {
    const { root, out } = await swapped();
    rmSync(join(out, 'layerloom.json'));
    const published = join(root, 'published');
    cpSync(out, published, { recursive: true });
    for (const name of ['expert-1', 'expert-2'])
      cpSync(join(root, name), join(published, name), { recursive: true });
    const { intact, layerloom, againstInputs } = await verify(published, { againstInputs: true });
    expect({ intact, layerloom }).toEqual({ intact: true, layerloom: null });
    expect(againstInputs?.different).toEqual([]);
  });

  it('says what it was compared with', async () => {
    const { out, task, language } = await swapped();
    const { againstInputs } = await verify(out, { againstInputs: true });
    expect(againstInputs?.inputs).toEqual(
      [task, language].map((path) => ({ name: basename(path), path, commit: null })),
    );
  });

  it('is not believed where the recipe of its card is another', async () => {
    const { out } = await swapped();
    const card = join(out, 'README.md');
    writeFileSync(card, readFileSync(card, 'utf8').replace('bottom: 1', 'bottom: 2'));
    expect(await verify(out, { againstInputs: true })).toMatchObject({ intact: false });
  });

  it('is not believed where it is its own input', async () => {
    const { out } = await swapped();
    const record = readRecord(out);
    writeRecord(out, { ...record, completeRecipe: { method: 'relayout', model: '.' }, inputs: [] });
    const found = await verify(out, { againstInputs: true });
    expect(found.files).toContainEqual(
      expect.objectContaining({ file: 'layerloom.json', reason: 'has the output for an input' }),
    );
    expect(found.intact).toBe(false);
  });

  it('is not believed where a commit of the hub stands for other files', async () => {
    const { out } = await swapped();
    const record = readRecord(out);
    const revision = '1'.repeat(40);
    const [first, ...others] = record['inputs'] as Record<string, unknown>[];
    writeRecord(out, {
      ...record,
      completeRecipe: { ...(record['completeRecipe'] as object), task: `org/m@${revision}` },
      inputs: [{ ...first, name: 'org/m', hub: { id: 'org/m', revision } }, ...others],
    });
    const found = await verify(out, { againstInputs: true });
    expect(found.intact).toBe(false);
    expect(found.files).toContainEqual(
      expect.objectContaining({
        file: 'layerloom.json',
        reason: `names org/m@${revision}, and that was not read`,
      }),
    );
  });

  it('is believed where it names the commits of the hub that were read', async () => {
    const cache = temporaryDirectory();
    vi.stubEnv('HF_HUB_CACHE', cache);
    const revision = '1'.repeat(40);
    for (const [index, name] of ['m', 's'].entries()) {
      const repository = join(cache, `models--org--${name}`);
      mkdirSync(join(repository, 'refs'), { recursive: true });
      writeFileSync(join(repository, 'refs', 'main'), revision);
      writeCheckpoint(join(repository, 'snapshots', revision), llama({ ...shape, seed: index + 1 }));
    }
    const out = join(temporaryDirectory(), 'out');
    try {
      await layerSwap({ task: 'org/m', language: 'own=org/s', bottom: 1, top: 1 }, { out });
      const found = await verify(out, { againstInputs: true });
      expect(found.files.filter(({ state }) => state === 'different')).toEqual([]);
      expect(found.intact).toBe(true);
    } finally {
      vi.unstubAllEnvs();
    }
  });

  it('has at least one tile in a sample', async () => {
    const { out } = await swapped();
    for (const seed of [1, 2, 3, 4, 5]) {
      const { againstInputs } = await verify(out, { againstInputs: true, sample: 1e-9, seed });
      expect(againstInputs?.recomputed).toBe(1);
    }
  });

  it('is made of float32 too', async () => {
    const root = temporaryDirectory();
    const models = [1, 2].map((seed) =>
      writeCheckpoint(join(root, `m${seed}`), {
        ...llama(shape),
        tensors: fill(llamaShapes(shape), 'F32', seed),
      }),
    );
    const out = join(root, 'out');
    await soup({ models }, { out });
    expect(await verify(out, { againstInputs: true })).toMatchObject({ intact: true });
  });
});

it('an output of a base with an adapter is as its inputs', async () => {
  const root = temporaryDirectory();
  const base = writeCheckpoint(join(root, 'base'), llama({ layers: 2 }));
  const adapter = writeAdapter(join(root, 'adapter'), lora({ shapes: llamaShapes({ layers: 2 }) }));
  const out = join(root, 'out');
  await relayout({ model: `${base}+${adapter}` }, { out });
  expect(await verify(out, { againstInputs: true })).toMatchObject({ intact: true });
});
