import { describe, expect, it } from 'vitest';
import { parseAddress } from '../../src/core/models/address/address.js';
import { isCommit, isRepositoryName, isRevision, parseHubId } from '../../src/core/models/address/remote.js';
import { locateText } from '../../src/core/models/sources/locate.js';
import type { RemoteSource } from '../../src/core/models/sources/source.js';
import { remoteSources } from '../../src/core/models/sources/sources.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { cli } from '../fixtures/cli.js';

const commit = '0123456789abcdef0123456789abcdef01234567';

describe('the name of a repository', () => {
  it.each(['org/name', 'a/b', 'Org-1/name_2.0', '_/x', '1/2', `${'a'.repeat(96)}/b`])('may be %s', (name) => {
    expect(isRepositoryName(name)).toBe(true);
  });

  it.each([
    ...[
      '',
      'name',
      '/name',
      'org/',
      'org/name/more',
      'org//name',
      './name',
      '../name',
      'org/..',
      'org/.name',
    ],
    ...[
      '-org/name',
      'org/-name',
      'org/name.',
      'org/name-',
      'org./name',
      'or..g/name',
      'org/na--me',
      'o--g/name',
    ],
    ...[
      'org/name.git',
      'org/na me',
      'org/näme',
      'org/na\0me',
      'org/name\n',
      'org\\name',
      'org/%2e%2e',
      '~/name',
    ],
    `${'a'.repeat(97)}/b`,
  ])('is never %j', (name) => {
    expect(isRepositoryName(name)).toBe(false);
  });
});

describe('a revision', () => {
  it.each([
    'main',
    'v1.0',
    'refs/pr/1',
    'refs/convert/parquet',
    'feature/a_b-c',
    commit,
    commit.slice(0, 7),
    '1',
  ])('may be %s', (revision) => {
    expect(isRevision(revision)).toBe(true);
    expect(parseHubId(`org/name@${revision}`)).toEqual({ id: 'org/name', revision });
  });

  it.each([
    ...[
      '',
      '.',
      '..',
      '../main',
      'a/../b',
      '../../../token',
      '/main',
      'main/',
      'a//b',
      './a',
      'a/.',
      'a/./b',
    ],
    ...['.hidden', 'a/.b', 'end.', 'a./b', 'a..b', '-x', 'a/-x', 'x.lock', 'a.lock/b', 'a@{1}', '@', 'a@b'],
    ...[
      'a b',
      'a\tb',
      'a\nb',
      'main\n',
      'a\0b',
      'a\u007fb',
      'a\\..\\b',
      '%2e%2e/token',
      'a~1',
      'a^',
      'a:b',
      'ä',
    ],
    ...['．．/token', 'a?', 'a*', 'a[b', 'a'.repeat(256)],
  ])('is never %j', (revision) => {
    expect(isRevision(revision)).toBe(false);
    expect(parseHubId(`org/name@${revision}`)).toBeUndefined();
  });

  it('is a commit where it is one in full', () => {
    expect([commit, commit.toUpperCase(), commit.slice(1), `${commit}\n`].map(isCommit)).toEqual([
      ...[true, false, false, false],
    ]);
  });
});

describe('an address', () => {
  const refused = [
    'org/x@../../../token',
    'org/x@',
    'org/x@a..b',
    'org/x--y@main',
    'org/x.git@main',
    'org/x@a b',
  ];

  it.each(refused)('is refused where it is spelt as a revision that no hub has: %s', async (text) => {
    const folder = temporaryDirectory();
    for (const each of [text, `name=${text}`, `${text}+org/adapter`, `org/base+${text}`])
      await expect(parseAddress(each, folder)).rejects.toMatchObject({ code: 'INVALID_PARAMETER' });
  });

  it('is a path where it is none of the hub', async () => {
    for (const at of ['./org/x@../y', '../org/x@..', '/org/x@..', 'a/b/c@..'])
      expect(await parseAddress(at)).toEqual({ kind: 'model', at, isHere: false });
  });

  it('is refused by commands', async () => {
    const { code, stderr } = await cli(['inspect', 'org/x@../../../token']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('org/name@revision')]);
  });
});

describe('an address without a model', () => {
  const missing = async (address: string) =>
    await locateText(address).then(
      () => 'found',
      (error: Error) => error.message,
    );

  it('is called unread unless a source names it', async () => {
    const other: RemoteSource = {
      find: async (at) => (at.startsWith('other://') ? { tried: '/other/a' } : undefined),
      names: (at) => at.startsWith('other://'),
      folders: 'other',
      describePath: async () => undefined,
      bringHeaders: async () => [],
      bringRanges: async () => undefined,
      statedContent: async () => undefined,
    };
    expect(await missing('other://a')).toContain('such addresses are not read');
    (remoteSources as RemoteSource[]).push(other);
    try {
      expect(await missing('other://a')).toMatch(/^other:\/\/a: no such model \(tried [^;]*\/other\/a\)$/);
    } finally {
      (remoteSources as RemoteSource[]).pop();
    }
  });
});
