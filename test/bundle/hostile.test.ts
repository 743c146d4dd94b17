import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LayerloomError } from '../../src/core/base/errors/errors.js';
import { bundle, rebuild, scoreTables, writeReport } from '../../src/index.js';
import { cases } from '../fixtures/cases.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { contentsOf } from '../fixtures/experiment.js';
import { seeded } from '../fixtures/scored.js';
import { writeStudy } from '../fixtures/written-study.js';
import { type Json, ofJson, pathsIn, withAt } from '../hostile/mutations.js';
import { archiveOf, type Entry, entriesOf, withSums } from './archives.js';

let whole: Buffer;
/** The files of a bundle without the folder's name and the sums. */
let files: { name: string; content: Buffer }[] = [];

const place = mkdtempSync(join(tmpdir(), 'layerloom-'));
afterAll(() => rmSync(place, { recursive: true, force: true }));

beforeAll(async () => {
  const root = place;
  await writeStudy(join(root, 'study'), { languages: ['swahili'], gridOf: [], problems: 4 });
  await bundle(join(root, 'study'), { out: join(root, 'study.tar') });
  whole = readFileSync(join(root, 'study.tar'));
  files = entriesOf(whole)
    .map(({ name, content }) => ({ name: name.replace('study/', ''), content }))
    .filter(({ name }) => name !== 'SHA256SUMS');
});

/** Rebuilds a bundle; afterwards the folder has the directory or nothing, and all other files are as before. */
const rebuilt = async (archive: Buffer | string): Promise<{ out: string } | LayerloomError> => {
  const root = temporaryDirectory();
  const [place, file] = [join(root, 'place'), join(root, 'given.tar')];
  mkdirSync(place);
  writeFileSync(join(root, 'secret'), 'secret');
  if (typeof archive !== 'string') writeFileSync(file, archive);
  const before = contentsOf(root);
  try {
    const { out } = await rebuild(typeof archive === 'string' ? archive : file, { out: join(place, 'out') });
    expect(contentsOf(root, (path) => !path.startsWith('place/out/'))).toEqual(before);
    for (const path of readdirSync(out, { recursive: true, withFileTypes: true }))
      expect(path.isFile() || path.isDirectory()).toBe(true);
    return { out };
  } catch (error) {
    if (!(error instanceof LayerloomError)) throw error;
    expect(contentsOf(root)).toEqual(before);
    expect(readdirSync(place)).toEqual([]);
    expect(error.message).not.toMatch(/\n/);
    return error;
  }
};

const refusal = async (archive: Buffer | string): Promise<string> => {
  const outcome = await rebuilt(archive);
  expect(outcome).toBeInstanceOf(LayerloomError);
  return (outcome as LayerloomError).message;
};

const sorted = (entries: readonly Entry[]): Entry[] =>
  entries.toSorted((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)));

/** The bundle with further files, whose sums are right. */
const with_ = (...more: readonly Entry[]): Buffer => archiveOf(withSums(sorted([...files, ...more])));

/** The bundle with an entry of any form before its first file. */
const before = (entry: Entry): Buffer => archiveOf([entry, ...withSums(files)]);

const merge = 'swahili/math-1+swh-1/default';

describe('a bundle of a stranger', () => {
  it('is unpacked if its form and sums are right', async () => {
    expect(archiveOf(withSums(files)).equals(whole)).toBe(true);
    expect(await rebuilt(whole)).toHaveProperty('out');
    expect(await rebuilt(with_({ name: `${merge}/model.sig`, content: '{}' }))).toHaveProperty('out');
  });

  it.each<[string, Entry, RegExp]>([
    ['a path out of the folder', { name: 'study/../../evil/layerloom.json' }, /not a file of a study/],
    [
      'a path out of it, deep within',
      { name: 'study/swahili/../../evil/README.md' },
      /not a file of a study/,
    ],
    ['an absolute path', { name: '/tmp/evil/layerloom.json' }, /not a file of a study/],
    ['another folder', { name: 'evil/README.md' }, /not a file of a study/],
    ['a hidden file', { name: 'study/.ssh/README.md' }, /not a file of a study/],
    ['a file of no study', { name: 'study/a/install.sh' }, /not a file of a study/],
    ['weights', { name: 'study/a/model.safetensors' }, /not a file of a study/],
    ['a backslash', { name: 'study/a\\..\\b/README.md' }, /not a file of a study/],
    ['a line in a name', { name: 'study/a\nb/README.md' }, /not a file of a study/],
    ['an empty name', { name: '' }, /not a file of a study/],
    ['a file as a folder', { name: 'study/README.md/README.md' }, /not a file of a study/],
    ['a symbolic link', { name: 'study/a/README.md', type: '2', link: '/etc/passwd' }, /a symbolic link/],
    ['a hard link', { name: 'study/a/README.md', type: '1', link: 'study/b' }, /a hard link/],
    ['a device', { name: 'study/a/README.md', type: '3' }, /a device/],
    ['a pipe', { name: 'study/a/README.md', type: '6' }, /a pipe/],
    ['a directory', { name: 'study/a/', type: '5' }, /a directory/],
    ['a sparse file', { name: 'study/a/README.md', type: 'S' }, /a sparse file/],
    [
      'an extended header',
      { name: 'study/a', type: 'x', content: '20 size=99999999999\n' },
      /an extended header/,
    ],
    [
      'a long name of GNU',
      { name: '././@LongLink', type: 'L', content: 'x'.repeat(600) },
      /a long name of GNU tar/,
    ],
    [
      'an unknown kind',
      { name: 'study/a/README.md', type: '7' },
      /a header is not one that layerloom writes/,
    ],
    ['a mode', { name: 'study/a/README.md', mode: '0004755' }, /a header is not one that layerloom writes/],
    [
      'a size in base 256',
      { name: 'study/a/README.md', size: '\u0080\0\0\0\0\0\0\0\0\0' },
      /a header is not one that layerloom writes/,
    ],
    [
      'a negative size',
      { name: 'study/a/README.md', size: '-0000000001' },
      /a header is not one that layerloom writes/,
    ],
    ['a size beyond the end', { name: 'study/CITATION.cff', size: 8 ** 10 }, /it ends within CITATION\.cff/],
  ])('is refused with %s', async (_, entry, reason) => {
    expect(await refusal(before(entry))).toMatch(reason);
  });

  it('is refused with a file twice, in another case, or out of order', async () => {
    const [first] = files;
    expect(await refusal(archiveOf(withSums([...files.slice(0, 1), ...files])))).toMatch(
      /twice, or its names are not sorted/,
    );
    expect(await refusal(archiveOf(withSums(files.toReversed())))).toMatch(
      /twice, or its names are not sorted/,
    );
    expect(await refusal(with_({ name: `${merge.toUpperCase()}/layerloom.json` }))).toMatch(
      /twice, in upper and lower case/,
    );
    expect(first?.name).toBe('CITATION.cff');
  });

  it('is refused where bytes are hidden, lacking or changed', async () => {
    expect(await refusal(Buffer.concat([whole, Buffer.from('more')]))).toMatch(/bytes follow its end/);
    expect(await refusal(whole.subarray(0, whole.length / 2))).toMatch(/ends (within|too early)/);
    expect(await refusal(whole.subarray(0, whole.length - 512))).toMatch(/ends too early/);
    expect(await refusal(Buffer.alloc(0))).toMatch(/ends too early/);
    expect(await refusal(Buffer.alloc(10_240))).toMatch(/a header is not one that layerloom writes/);
    const changed = Buffer.from(whole);
    changed.write('X', 520);
    expect(await refusal(changed)).toMatch(/SHA256SUMS/);
    const padded = Buffer.from(whole);
    padded.write('X', 1023);
    expect(await refusal(padded)).toMatch(/hidden between/);
  });

  it('is refused where the record is none, or leads elsewhere', async () => {
    const text = files.find(({ name }) => name === 'experiment.json')?.content.toString() ?? '';
    const withRecord = (record: string) =>
      archiveOf(
        withSums(
          files.map((file) =>
            file.name === 'experiment.json' ? { name: file.name, content: record } : file,
          ),
        ),
      );
    expect(
      await refusal(archiveOf(withSums(files.filter(({ name }) => name !== 'experiment.json')))),
    ).toMatch(/has no experiment\.json/);
    expect(await refusal(withRecord('['.repeat(1e6)))).toMatch(/its experiment\.json/);
    expect(await refusal(withRecord('{}'))).toMatch(/its experiment\.json/);
    for (const path of ['../secret', '/etc', '.', 'a/../../b', 'evaluations', 'a//b'])
      expect(await refusal(withRecord(text.replaceAll(`"path":"${merge}"`, `"path":"${path}"`)))).toMatch(
        /not a folder of a study/,
      );
  });

  it('is refused before a file is written if it has too many', async () => {
    const file = join(temporaryDirectory(), 'many.tar');
    const out = openSync(file, 'w');
    // Headers differ by their number and sum alone: made one by one they take half a minute.
    const nameOf = (index: number) => `study/a/${String(index).padStart(9, '0')}/README.md`;
    const first = archiveOf([{ name: nameOf(0) }]).subarray(0, 512);
    const sumOfFirst = Number.parseInt(first.toString('latin1', 148, 154), 8);
    const headers = Buffer.alloc(512 * 10_000, first);
    for (let from = 0; from <= 500_000; from += 10_000) {
      for (let at = 0; at < 10_000; at += 1) {
        const name = nameOf(from + at);
        const digits = [...name.slice(8, 17)].reduce((sum, digit) => sum + Number(digit), 0);
        headers.write(name, 512 * at);
        headers.write((sumOfFirst + digits).toString(8).padStart(6, '0'), 512 * at + 148);
      }
      writeSync(out, headers);
    }
    expect(headers.subarray(-512)).toEqual(archiveOf([{ name: nameOf(509_999) }]).subarray(0, 512));
    closeSync(out);
    expect(statSync(file).size).toBeGreaterThan(250e6);
    expect(await refusal(file)).toMatch(/more than 500000 files/);
  }, 600_000);

  it('replaces nothing that exists, and reads regular files alone', async () => {
    const root = temporaryDirectory();
    const [file, out] = [join(root, 'study.tar'), join(root, 'study')];
    writeFileSync(file, whole);
    mkdirSync(out);
    await rebuild(file);
    const before = contentsOf(root);
    await expect(rebuild(file)).rejects.toMatchObject({ code: 'OUTPUT_EXISTS' });
    await expect(rebuild(root, { out: join(root, 'new') })).rejects.toMatchObject({ code: 'READ_FAILED' });
    await expect(rebuild('/dev/zero', { out: join(root, 'new') })).rejects.toMatchObject({
      code: 'READ_FAILED',
    });
    await expect(rebuild(join(root, 'absent.tar'))).rejects.toMatchObject({ code: 'READ_FAILED' });
    expect(contentsOf(root)).toEqual(before);
  });
});

/** Everything that reads a study; refuses with errors of ours alone. */
const readAll = async (out: string, withPage: boolean): Promise<void> => {
  const root = temporaryDirectory();
  const page = () => writeReport(out, { out: join(root, 'page.html') });
  for (const read of [
    () => scoreTables(out),
    () => bundle(out, { out: join(root, 'again.tar') }),
    ...(withPage ? [page] : []),
  ])
    await read().catch((error: unknown) => {
      if (!(error instanceof LayerloomError)) throw error;
    });
};

describe('changed bundles', () => {
  it('are refused where bytes of the archive changed', async () => {
    const random = seeded(59);
    const pick = (below: number) => Math.floor(random() * below);
    for (let index = 0; index < 150; index += 1) {
      const changed = Buffer.from(whole);
      // Half of the changes are in headers.
      const at =
        index % 2 === 0 ? pick(whole.length) : Math.floor(pick(whole.length) / 512) * 512 + pick(512);
      changed[at] = ((changed[at] ?? 0) + 1 + pick(255)) % 256;
      const [from, to] = [pick(whole.length), pick(whole.length)].sort((a, b) => a - b) as [number, number];
      const kinds = [
        changed,
        Buffer.concat([whole.subarray(0, from), whole.subarray(to + 1)]),
        Buffer.concat([whole.subarray(0, to + 1), whole.subarray(from)]),
      ];
      expect(await refusal(kinds[index % 3] as Buffer)).toMatch(/is no bundle of a study/);
    }
  }, 120_000);

  it('are refused, or read without a crash, where their files changed and their sums are right', async () => {
    const random = seeded(590);
    const pick = (below: number) => Math.floor(random() * below);
    const outcomes = { refused: 0, read: 0 };
    const count = cases(30, 150);
    for (let index = 0; index < count; index += 1) {
      const [record] = files.filter(({ name }) => name === 'experiment.json');
      const chosen = index % 2 === 0 ? record : files[pick(files.length)];
      const changed = files.map((file) =>
        file === chosen && file.name.endsWith('.json')
          ? { ...file, content: changedJson(file.content, pick) }
          : file,
      );
      const outcome = await rebuilt(archiveOf(withSums(changed)));
      if (outcome instanceof LayerloomError) outcomes.refused += 1;
      else {
        outcomes.read += 1;
        await readAll(outcome.out, index % 5 === 0);
      }
    }
    expect(outcomes.refused).toBeGreaterThan(count / 8);
    expect(outcomes.read).toBeGreaterThan(count / 8);
  }, 300_000);
});

const strange: readonly Json[] = [
  null,
  -1,
  1e308,
  '',
  '../../secret',
  [],
  {},
  { __proto__: 1 },
  '\u0007',
  2 ** 53,
];

const changedJson = (content: Buffer, pick: (below: number) => number): Buffer => {
  const text = content.toString();
  if (pick(4) === 0) {
    const all = [...ofJson(text.length > 20_000 ? text.slice(0, 20_000) : text)];
    return all[pick(all.length)]?.bytes ?? content;
  }
  const value = JSON.parse(text) as Json;
  const paths = [...pathsIn(value)];
  const path = paths[pick(paths.length)] ?? [];
  return Buffer.from(JSON.stringify(withAt(value, path, strange[pick(strange.length)]) ?? null));
};
