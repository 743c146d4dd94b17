import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { describeOutput } from '../../src/cli/text/models/verification-text.js';
import { mayStand } from '../../src/core/measure/verification/may-stand.js';
import { extractLora, layerSwap, runExperiment, soup, verify } from '../../src/index.js';
import { cases } from '../fixtures/cases.js';
import { llama, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { writeExperiment } from '../fixtures/experiment.js';
import { loadedNames } from '../fixtures/loader-files.js';
import { generator } from '../fixtures/numbers.js';

// A list names files that may be added to an output; any other is damage.

const shape = { layers: 2, hidden: 16 };

const written = async (): Promise<string> => {
  const root = temporaryDirectory();
  const [task, language] = [1, 2].map((seed) =>
    writeCheckpoint(join(root, `expert-${seed}`), {
      ...llama({ ...shape, seed }),
      files: { 'tokenizer.json': '{"model":{}}', 'modeling_own.py': 'pass' },
    }),
  ) as [string, string];
  const out = join(root, 'out');
  await layerSwap({ task, language, bottom: 1, top: 0 }, { out, checksums: true });
  return out;
};

const put = (out: string, name: string, text = 'x'): void => {
  mkdirSync(dirname(join(out, name)), { recursive: true });
  writeFileSync(join(out, name), text);
};

const copyOf = (out: string): string => {
  const copy = join(dirname(out), 'copy');
  rmSync(copy, { recursive: true, force: true });
  cpSync(out, copy, { recursive: true });
  return copy;
};

/** Names that case-insensitive file systems, or readers, take for the same. */
const variants = [
  (name: string) => name.toUpperCase(),
  (name: string) => name.replace(/^./, (letter) => letter.toUpperCase()),
  (name: string) => name.replace('o', '\u043e'),
  (name: string) => name.replace('e', '\uff45'),
  (name: string) => `._${name}`,
  (name: string) => `.${name}`,
  (name: string) => `${name} `,
  (name: string) => `${name}\n.md`,
  (name: string) => `${name}.bak`,
  (name: string) => `LICENSE.${name}`,
  (name: string) => `README.md.${name}`,
];

it('no name that loaders look for is on the list, nor one that looks like it', () => {
  const names = loadedNames();
  expect(names.length).toBeGreaterThan(150);
  const allowed = [...names, ...names.flatMap((name) => variants.map((vary) => vary(name)))].filter(mayStand);
  expect(allowed).toEqual([]);
});

const count = cases(200, 1000);
it(`finds each of ${count} additions, renamings and replacements at random, and names it`, async () => {
  const out = await written();
  const own = readdirSync(out).filter((name) => name !== 'README.md');
  const random = generator(55);
  const below = (count: number): number => Math.floor(random() * count);
  const one = <T>(list: readonly T[]): T => list[below(list.length)] as T;
  const names = loadedNames().filter((name) => !own.includes(name));
  const changes: readonly ((out: string) => string)[] = [
    (at) => {
      const name = one(names);
      put(at, name);
      return name.split('/')[0] ?? '';
    },
    (at) => {
      const name = one(variants)(one([...names, ...own]).replaceAll('/', '-'));
      put(at, name);
      return name;
    },
    (at) => {
      const name = one(own);
      renameSync(
        join(at, name),
        join(at, one([`${name}.old`, name.toUpperCase(), one(names).replaceAll('/', '-')])),
      );
      return name;
    },
    (at) => {
      const name = one(own);
      const { size } = statSync(join(at, name));
      writeFileSync(join(at, name), Buffer.alloc(one([size, size + 1, 0]), one(['x', '\0', ' '])));
      return name;
    },
    (at) => {
      const name = one(own);
      const bytes = readFileSync(join(at, name));
      const place = below(bytes.length);
      bytes.writeUInt8(bytes.readUInt8(place) ^ (1 << below(8)), place);
      writeFileSync(join(at, name), bytes);
      return name;
    },
    (at) => {
      const [a, b] = [one(own), one(own)];
      if (readFileSync(join(at, a)).equals(readFileSync(join(at, b)))) {
        put(at, 'vocab.json');
        return 'vocab.json';
      }
      cpSync(join(at, a), join(at, b));
      return b;
    },
    (at) => {
      const name = one(own);
      rmSync(join(at, name));
      mkdirSync(join(at, name));
      return name;
    },
    (at) => {
      const name = one([
        one(names).replaceAll('/', '-'),
        'assets',
        'LICENSE',
        'a.png',
        '.cache',
        '.git',
        'x',
      ]);
      symlinkSync(one(['/', '..', 'nowhere', name]), join(at, name));
      return name;
    },
    (at) => {
      const folder = one(['assets', 'images', '.cache', 'onnx', '1_Pooling', 'default', '.hidden']);
      put(at, `${folder}/${one(names).replaceAll('/', '-')}`);
      return folder;
    },
  ];
  for (let index = 0; index < count; index += 1) {
    const copy = copyOf(out);
    const name = one(changes)(copy);
    const found = await verify(copy, { threads: 1 }).catch((error: { code?: string }) => error);
    if ('code' in found) {
      expect([name, found.code]).toEqual(['layerloom.json', 'OUTPUT_UNRECORDED']);
      continue;
    }
    const wrong =
      'files' in found ? found.files.filter(({ state }) => !['equal', 'edited'].includes(state)) : [];
    expect({ index, name, ...found }).toMatchObject({ verdict: 'damaged', intact: false });
    expect(wrong.map(({ file }) => file.split('/')[0])).toContain(name);
  }
}, 600_000);

describe('an output in an honest folder', () => {
  it.each([
    [
      'of git',
      {
        '.gitattributes': '*.safetensors filter=lfs',
        '.gitignore': 'x',
        '.git/config': '',
        '.git/lfs/objects/aa/model.safetensors': 'x',
      },
    ],
    ['of a work tree', { '.git': 'gitdir: ../.git/worktrees/x' }],
    [
      "that the hub's client brought",
      {
        '.gitattributes': '',
        '.cache/huggingface/.gitignore': '*',
        '.cache/huggingface/download/model.safetensors.metadata': 'x',
        '.cache/huggingface/download/config.json.lock': '',
        '.huggingface/download/x.lock': '',
      },
    ],
    [
      'of a publisher',
      {
        LICENSE: 'x',
        'LICENSE.txt': 'x',
        'LICENCE-llama': '',
        NOTICE: '',
        'USE_POLICY.md': '',
        'CITATION.cff': '',
        'layers.png': '',
        'assets/plot.svg': '',
        'images/Bild 1 (ä).jpg': '',
      },
    ],
    [
      'that a file manager looked at',
      { '.DS_Store': '', 'assets/.DS_Store': '', 'Thumbs.db': '', 'desktop.ini': '' },
    ],
  ] as const)('%s is intact', async (_, files) => {
    const out = await written();
    for (const [name, text] of Object.entries(files)) put(out, name, text);
    const found = await verify(out);
    expect(found.files.filter(({ state }) => state !== 'equal')).toEqual([]);
    expect(found).toMatchObject({ verdict: 'intact', intact: true, structure: null });
  });

  it('of a cache is intact: links to files that are named by their content', async () => {
    const out = await written();
    const repository = join(dirname(out), 'models--org--merged');
    const [blobs, snapshot] = [join(repository, 'blobs'), join(repository, 'snapshots', '1'.repeat(40))];
    for (const folder of [blobs, snapshot]) mkdirSync(folder, { recursive: true });
    put(out, '.gitattributes');
    put(out, 'LICENSE');
    for (const [index, name] of readdirSync(out).entries()) {
      cpSync(join(out, name), join(blobs, `${index}`));
      symlinkSync(`../../blobs/${index}`, join(snapshot, name));
    }
    expect(await verify(snapshot)).toMatchObject({ verdict: 'intact' });
  });

  it.each([
    ['an exported file', 'model.q4.gguf', 'keep an exported file in a folder of its own'],
    ["macOS's copy of attributes", '._model.safetensors', 'macOS keeps attributes in it'],
    ['a name in other letters', 'Config.json', 'is named almost like config.json'],
    ['a folder', 'runs/events.1', 'loaders look into folders'],
  ])('is damaged by %s, with advice', async (_, name, advice) => {
    const out = await written();
    put(out, name);
    const { verdict, files } = await verify(out);
    expect(verdict).toBe('damaged');
    expect(files.find(({ state }) => state === 'different')?.reason).toContain(advice);
  });
});

describe('what a record and a card say', () => {
  const edit = (out: string, change: (record: Record<string, unknown>) => void): void => {
    const file = join(out, 'layerloom.json');
    const record = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
    change(record);
    writeFileSync(file, `${JSON.stringify(record, null, 2)}\n`);
  };

  it.each([
    ['method', (record: Record<string, unknown>) => Object.assign(record, { method: 'ties' })],
    ['origins', (record: Record<string, unknown>) => Object.assign(record, { origins: [] })],
    ['hashes', (record: Record<string, unknown>) => Object.assign(record, { sideFiles: [] })],
    ['a key more', (record: Record<string, unknown>) => Object.assign(record, { note: 'x' })],
    [
      'a seal of its own',
      (record: Record<string, unknown>) => Object.assign(record, { recordSha256: '0'.repeat(64) }),
    ],
  ])('%s was edited in layerloom.json: damaged', async (_, change) => {
    const out = await written();
    edit(out, change);
    expect(await verify(out)).toMatchObject({ verdict: 'damaged' });
  });

  it('the same key twice is damage, whichever a reader takes', async () => {
    const out = await written();
    const file = join(out, 'layerloom.json');
    writeFileSync(file, readFileSync(file, 'utf8').replace('"method"', '"method": "ties",\n  "method"'));
    await expect(verify(out)).rejects.toMatchObject({
      code: 'OUTPUT_UNRECORDED',
      details: { verdict: 'damaged' },
    });
  });

  it('is compared with the merge where the seal was made again', async () => {
    const out = await written();
    edit(out, (record) => {
      Object.assign(record, { origins: [{ layers: null, from: ['somebody'] }] });
      delete record['recordSha256'];
    });
    const found = await verify(out);
    expect(found).toMatchObject({ verdict: 'intact' });
    expect(found.warnings).toEqual([expect.stringContaining('without a checksum of itself') as string]);
    const { verdict, files } = await verify(out, { againstInputs: true });
    expect(verdict).toBe('damaged');
    expect(files).toContainEqual(
      expect.objectContaining({
        file: 'layerloom.json',
        reason: 'says other origins than its recipe and the inputs give',
      }),
    );
  });

  it('a record of an earlier version, without seal, origins and side files, still reads', async () => {
    const out = await written();
    edit(out, (record) => {
      delete record['recordSha256'];
      delete record['origins'];
      delete record['sideFiles'];
    });
    expect(await verify(out, { againstInputs: true })).toMatchObject({ verdict: 'intact' });
    const found = await verify(out);
    expect(found).toMatchObject({ verdict: 'intact-by-size', intact: true });
    const text = describeOutput(found);
    expect(text).toContain(': intact by size; contents not checked\n');
    expect(text).toMatch(/\d files recorded by name only \(.*tokenizer\.json.*\): `againstInputs`/);
    expect(text).not.toContain('of the recorded size');
  });

  it.each(['itself', 'nowhere'])('a record that is a link to %s is damage', async (to) => {
    const out = await written();
    rmSync(join(out, 'layerloom.json'));
    symlinkSync(to === 'itself' ? 'layerloom.json' : to, join(out, 'layerloom.json'));
    await expect(verify(out)).rejects.toMatchObject({
      code: 'OUTPUT_UNRECORDED',
      details: { verdict: 'damaged' },
    });
  });

  const second = '```yaml\nmethod: soup\nmodels: [a, b]\n```\n';
  const changesOfCard: readonly (readonly [string, (card: string) => string, string])[] = [
    ['another recipe', (card) => card.replace('bottom: 1', 'bottom: 2'), 'damaged'],
    ['a second recipe behind it', (card) => `${card}\n${second}`, 'damaged'],
    ['a second recipe before it', (card) => card.replace('Recipe:', `${second}\nRecipe:`), 'damaged'],
    ['a second recipe in another fence', (card) => `${card}\n~~~\nmerge_method: ties\n~~~\n`, 'damaged'],
    [
      'a second recipe in a quotation',
      (card) => `${card}\n> \`\`\`yml\n> method: ties\n> \`\`\`\n`,
      'damaged',
    ],
    ['a second recipe that nothing closes', (card) => `${card}\n\`\`\`\nmethod: ties\n`, 'damaged'],
    ['other words', (card) => card.replace(/^# .*$/m, '# Mine'), 'intact'],
    ['a licence', (card) => card.replace('---\n', '---\nlicense: mit\n'), 'intact'],
    ['line ends of Windows', (card) => card.replaceAll('\n', '\r\n'), 'intact'],
    [
      'a configuration of another kind',
      (card) => `${card}\n\`\`\`yaml\nservices:\n  method: x\n\`\`\`\n`,
      'intact',
    ],
    ['no recipe', () => '# Mine', 'intact'],
  ];
  it.each(changesOfCard)('a card with %s', async (_, change, verdict) => {
    const out = await written();
    const card = join(out, 'README.md');
    writeFileSync(card, change(readFileSync(card, 'utf8')));
    for (const againstInputs of [false, true])
      expect(await verify(out, { againstInputs })).toMatchObject({ verdict });
  });

  it.each(['folder', 'link to nowhere'])('a card that is a %s', async (kind) => {
    const out = await written();
    rmSync(join(out, 'README.md'));
    if (kind === 'folder') mkdirSync(join(out, 'README.md'));
    else symlinkSync('README.md', join(out, 'README.md'));
    for (const againstInputs of [false, true])
      expect(await verify(out, { againstInputs })).toMatchObject({ verdict: 'damaged' });
  });
});

describe('a verdict', () => {
  it('is of sizes alone where no SHA-256 was recorded, and of all where weights were computed again', async () => {
    const root = temporaryDirectory();
    const models = [1, 2].map((seed) => writeCheckpoint(join(root, `m${seed}`), llama({ ...shape, seed })));
    const out = join(root, 'out');
    await soup({ models }, { out });
    expect(await verify(out)).toMatchObject({ verdict: 'intact-by-size', intact: true });
    expect(await verify(out, { againstInputs: true })).toMatchObject({ verdict: 'intact' });
    expect(await verify(out, { againstInputs: true, sample: 0.01 })).toMatchObject({
      verdict: 'intact-by-size',
    });
  });

  it('of a merge of a batch is of its contents, which the store has hashed', async () => {
    const { file, out } = writeExperiment('\n  - {name: default, method: layer_swap, bottom: 2, top: 1}\n');
    const { merges } = await runExperiment(file, { out });
    const paths = merges.map(({ name }) => join(out, name));
    expect(paths).toHaveLength(4);
    for (const path of paths) {
      expect(await verify(path)).toMatchObject({ verdict: 'intact' });
      expect(await verify(path, { againstInputs: true })).toMatchObject({ verdict: 'intact' });
    }
  });

  it('of an extracted adapter is of its contents', async () => {
    const root = temporaryDirectory();
    const [base, expert] = [1, 2].map((seed) =>
      writeCheckpoint(join(root, `m${seed}`), llama({ ...shape, seed })),
    ) as [string, string];
    const out = join(root, 'adapter');
    await extractLora({ base, expert, rank: 2 }, { out });
    expect(await verify(out)).toMatchObject({ verdict: 'intact' });
    put(
      out,
      'adapter_config.json',
      readFileSync(join(out, 'adapter_config.json'), 'utf8').replace('"r": 2', '"r": 3'),
    );
    expect(await verify(out)).toMatchObject({ verdict: 'damaged' });
  });

  it.each([
    ['a folder with no record', (root: string) => root, 'it has no layerloom.json'],
    ['a file', (root: string) => join(root, 'model.safetensors'), 'it is a file'],
  ])('is refused for %s, in plain words', async (_, pathOf, reason) => {
    const root = writeCheckpoint(join(temporaryDirectory(), 'model'), llama(shape));
    for (const againstInputs of [false, true])
      await expect(verify(pathOf(root), { againstInputs })).rejects.toMatchObject({
        code: 'OUTPUT_UNRECORDED',
        details: { verdict: 'not-an-output', reason },
        message: expect.stringContaining('is not an output of layerloom') as string,
      });
  });

  it('names git LFS where its pointers stand in place of the files', async () => {
    const out = await written();
    const [shard = ''] = readdirSync(out).filter((name) => name.endsWith('.safetensors'));
    put(out, shard, 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n');
    const { files } = await verify(out);
    expect(files.find(({ file }) => file === shard)?.reason).toContain('git lfs pull');
  });
});
