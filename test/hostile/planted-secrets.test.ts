import {
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { cases } from '../fixtures/cases.js';
import { llama, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { cli } from '../fixtures/cli.js';
import { generator } from '../fixtures/numbers.js';
import { someCommit } from '../fixtures/range-cache.js';

// A cache that other users write to, beside the user's secrets, and models with a stranger's texts.

const count = cases(500, 2000);

const secret = 'Zq8vXw3LpRt5yNb7Kd';
const other = 'f'.repeat(40);
/** Long ago, so that the first read updates its access time, as on disks mounted with `relatime`. */
const never = new Date(0);

const makePlace = () => {
  const root = realpathSync(temporaryDirectory());
  const cache = join(root, 'home', 'hub');
  const repository = (name: string) => join(cache, `models--org--${name}`);
  const secrets = [
    join(root, 'home', 'token'),
    join(root, 'home', 'stored_tokens'),
    join(root, 'key'),
    join(cache, 'token'),
  ];
  const elsewhere = join(root, 'elsewhere');
  mkdirSync(cache, { recursive: true });
  for (const file of secrets) writeFileSync(file, `hf_${secret}`);
  writeCheckpoint(elsewhere, llama({ layers: 3 }));
  writeFileSync(join(elsewhere, 'config.json'), JSON.stringify({ model_type: secret }));
  writeFileSync(join(elsewhere, 'main'), secret);
  const write = (name: string, layers: number): void => {
    rmSync(repository(name), { recursive: true, force: true });
    writeCheckpoint(join(repository(name), 'snapshots', someCommit), llama({ layers }));
    mkdirSync(join(repository(name), 'refs', 'pr'), { recursive: true });
    writeFileSync(join(repository(name), 'refs', 'main'), someCommit);
  };
  write('b', 4);
  const outside = [
    ...secrets,
    ...['config.json', 'model.safetensors', 'main'].map((name) => join(elsewhere, name)),
  ];
  return { root, cache, elsewhere, outside, secrets, own: repository('a'), write: () => write('a', 1) };
};

type Place = ReturnType<typeof makePlace>;

/** Random choices from a seed. */
const chance = (seed: number) => {
  const random = generator(seed);
  const below = (count: number) => Math.floor(random() * count);
  const one = <T>(list: readonly T[]): T => list[below(list.length)] as T;
  const some = (list: readonly string[], most: number, between: string) =>
    Array.from({ length: 1 + below(most) }, () => one(list)).join(between);
  return { below, one, some };
};

type Chance = ReturnType<typeof chance>;

const wayParts = [
  ...['..', '..', '..', '.', '', 'home', 'hub', 'token', 'key', 'stored_tokens', 'refs', 'main', 'pr', '1'],
  ...[
    'snapshots',
    'blobs',
    'models--org--b',
    'models--org--a',
    'elsewhere',
    someCommit,
    other,
    '~',
    '%2e%2e',
  ],
  ...['．．', '\u0000', ' ', '-rf', 'a\nb', 'config.json', '.git', 'x.lock', '@{0}', '$HOME', 'ä'],
];

/** A text that names a model: right, almost right, or a path to elsewhere. */
const textOf = ({ one, some, below }: Chance, { root, secrets }: Place): string => {
  const name = one([
    'org/a',
    'org/a',
    'org/a',
    'org/b',
    'org/..',
    '../a',
    'org/a--b',
    'models--org/a',
    'org',
  ]);
  const revision = one([
    () => 'main',
    () => someCommit,
    () => 'refs/pr/1',
    () => some(wayParts, 7, '/'),
    () => `${'../'.repeat(1 + below(7))}${one(wayParts)}`,
    () => relative(join(root, 'home/hub/models--org--a/refs'), one(secrets)),
    () => one(secrets),
  ])();
  const text = one([name, `${name}@${revision}`, `${name}@${revision}`, `${name}@${revision}`]);
  return one([text, text, text, `x=${text}`, `${text}+${name}@${revision}`, `${text}?${revision}`]);
};

const change = ({ one, some, below }: Chance, { own, secrets, elsewhere, outside }: Place): void => {
  const snapshot = join(own, 'snapshots', someCommit);
  const place = one([
    ...[
      join(own, 'refs', 'main'),
      join(own, 'refs', 'main'),
      join(own, 'refs', 'pr', '1'),
      join(own, 'refs'),
    ],
    ...['config.json', 'model.safetensors', 'tokenizer.json', 'model.safetensors.index.json'].map((name) =>
      join(snapshot, name),
    ),
    ...[snapshot, join(own, 'snapshots'), join(own, 'snapshots', other), join(own, 'snapshots', 'main'), own],
  ]);
  rmSync(place, { recursive: true, force: true });
  mkdirSync(dirname(place), { recursive: true });
  const target = one([
    ...[...outside, elsewhere, dirname(elsewhere), dirname(dirname(own))],
    ...[join(dirname(own), 'models--org--b'), join(dirname(own), 'models--org--b', 'snapshots', someCommit)],
  ]);
  // A stranger's file contains only what the stranger knows: paths and commits, and a secret only if the stranger has
  // it.
  const content = one([
    () => some(wayParts, 8, '/'),
    () => relative(join(own, 'snapshots'), one([...secrets, elsewhere])),
    () => target,
    () => one([other, someCommit, `${other}\n${someCommit}`, '', ' ']),
    () => `hf_${secret}`,
    () => JSON.stringify({ [secret]: [secret], token: secret }),
  ])();
  if (below(2) === 0) symlinkSync(one([target, relative(dirname(place), target)]), place);
  else writeFileSync(place, content);
};

/** Finds bytes of a secret in a text, or its first bytes as the number that a header's length would be. */
const hasSecret = (text: string): boolean =>
  Array.from({ length: secret.length - 5 }, (_, from) => secret.slice(from, from + 6)).some((part) =>
    text.includes(part),
  ) || text.includes(String(Buffer.from(`hf_${secret}`).readBigUInt64LE()));

/** True for a disk that records access times. */
const isReadNoted = (file: string): boolean => {
  utimesSync(file, never, new Date());
  readFileSync(file);
  return statSync(file).atimeMs !== 0;
};

afterEach(() => vi.unstubAllEnvs());

describe('a cache beside secrets', () => {
  it('opens nothing outside of itself and prints no secret, whatever texts and refs are', async (context) => {
    const place = makePlace();
    vi.stubEnv('HF_HOME', join(place.root, 'home'));
    vi.stubEnv('HF_HUB_CACHE', place.cache);
    vi.stubEnv('LAYERLOOM_CACHE', join(place.root, 'ranges'));
    vi.stubEnv('HF_HUB_OFFLINE', '1');
    if (!isReadNoted(place.outside[0] as string)) context.skip('this disk does not note when files are read');
    const found: string[] = [];
    const codes = new Map<number | null, number>();
    for (let seed = 1; seed <= count; seed += 1) {
      const by = chance(seed);
      place.write();
      for (const file of place.outside) utimesSync(file, never, new Date());
      if (by.below(4) > 0) change(by, place);
      const text = textOf(by, place);
      const recipe = join(place.root, 'recipe.yaml');
      writeFileSync(recipe, JSON.stringify({ method: 'soup', models: [text, 'org/b'] }));
      const { code, stdout, stderr } = await cli(
        by.one([
          ['inspect', text, ...by.one([['--json'], []])],
          ['merge', recipe, '-o', join(place.root, 'out'), '--dry-run', '--json'],
        ]),
      );
      codes.set(code, (codes.get(code) ?? 0) + 1);
      if (hasSecret(stdout + stderr)) found.push(`${seed}: ${text}: prints a secret: ${stderr}`);
      for (const file of place.outside)
        if (statSync(file).atimeMs !== 0) found.push(`${seed}: ${text}: opened ${file}: ${code} ${stderr}`);
    }
    expect(found).toEqual([]);
    // The test would be blind if all or none were refused.
    expect(codes.get(0)).toBeGreaterThan(count / 50);
    expect((codes.get(1) ?? 0) + (codes.get(2) ?? 0) + (codes.get(3) ?? 0)).toBeGreaterThan(count / 4);
  }, 600_000);
});
