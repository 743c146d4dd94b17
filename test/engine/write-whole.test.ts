import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  lstatSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { writeWhole } from '../../src/core/engine/output/durable.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';

const partial = (letter: string) => `.out.json.${letter.repeat(8)}-0000-4000-8000-000000000000.partial`;

/** Sets the clock minutes ahead for the rest of a test, since ctime cannot be set. */
const minutesLater = () => {
  const clock = vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 180_000);
  onTestFinished(() => clock.mockRestore());
};

describe('a file that a user names', () => {
  it('replaces a former one, and leaves nothing beside it', async () => {
    const root = temporaryDirectory();
    const file = join(root, 'out.json');
    writeFileSync(file, 'former');
    await writeWhole(file, ['in ', Buffer.from('parts')]);
    expect([readFileSync(file, 'utf8'), readdirSync(root)]).toEqual(['in parts', ['out.json']]);
  });

  it('that must be new leaves one that is there', async () => {
    const root = temporaryDirectory();
    const file = join(root, 'out.json');
    await writeWhole(file, 'first', true);
    await expect(writeWhole(file, 'second', true)).rejects.toMatchObject({ cause: { code: 'EEXIST' } });
    expect([readFileSync(file, 'utf8'), readdirSync(root)]).toEqual(['first', ['out.json']]);
  });

  it('loses a second name that a killed writer left it', async () => {
    const root = temporaryDirectory();
    const file = join(root, 'out.json');
    writeFileSync(file, 'former');
    linkSync(file, join(root, partial('a')));
    minutesLater();
    await writeWhole(file, 'new');
    expect([readFileSync(file, 'utf8'), readdirSync(root)]).toEqual(['new', ['out.json']]);
  });

  it('behind a link is replaced there, and the link stays', async () => {
    const root = temporaryDirectory();
    const [file, link] = [join(root, 'out.json'), join(root, 'link.json')];
    writeFileSync(file, 'former');
    symlinkSync(file, link);
    await writeWhole(link, 'new');
    expect(readFileSync(file, 'utf8')).toBe('new');
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
  });

  it('behind a link to a file that is not there is made there', async () => {
    const root = temporaryDirectory();
    symlinkSync('out.json', join(root, 'link.json'));
    await writeWhole(join(root, 'link.json'), 'new');
    expect(readFileSync(join(root, 'out.json'), 'utf8')).toBe('new');
    expect(lstatSync(join(root, 'link.json')).isSymbolicLink()).toBe(true);
  });

  it('keeps its permissions, its other names and a long name', async () => {
    const root = temporaryDirectory();
    const [file, long] = [join(root, 'out.json'), join(root, 'x'.repeat(250))];
    writeFileSync(file, 'former');
    chmodSync(file, 0o600);
    await writeWhole(file, 'private');
    expect([readFileSync(file, 'utf8'), statSync(file).mode & 0o777]).toEqual(['private', 0o600]);
    linkSync(file, join(root, 'other'));
    await writeWhole(file, 'both');
    expect(readFileSync(join(root, 'other'), 'utf8')).toBe('both');
    for (const content of ['new', 'again']) await writeWhole(long, [content]);
    expect([readFileSync(long, 'utf8'), readdirSync(root).length]).toEqual(['again', 3]);
  });

  it.runIf(process.getuid?.() === 0)(
    'of another user stays that one’s, and partial files of others are left',
    async () => {
      const root = temporaryDirectory();
      const file = join(root, 'out.json');
      writeFileSync(file, 'former');
      chownSync(file, 65534, 65534);
      writeFileSync(join(root, partial('c')), 'half');
      chownSync(join(root, partial('c')), 65534, 65534);
      minutesLater();
      await writeWhole(file, 'new');
      expect([readFileSync(file, 'utf8'), statSync(file).uid]).toEqual(['new', 65534]);
      writeFileSync(join(root, 'own.json'), 'former');
      expect(existsSync(join(root, partial('c')))).toBe(true);
    },
  );

  it('takes away what writers of it left that were killed minutes ago', async () => {
    const root = temporaryDirectory();
    const left = join(root, partial('a'));
    writeFileSync(left, 'half');
    await writeWhole(join(root, 'out.json'), 'whole');
    expect(existsSync(left)).toBe(true);
    minutesLater();
    await writeWhole(join(root, 'out.json'), 'whole');
    expect(existsSync(left)).toBe(false);
  });
});
