import {
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { writeWhole } from '../../src/engine/output/durable.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';

const partial = (letter: string) => `.out.json.${letter.repeat(8)}-0000-4000-8000-000000000000.partial`;

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
    await expect(writeWhole(file, 'second', true)).rejects.toMatchObject({ code: 'EEXIST' });
    expect([readFileSync(file, 'utf8'), readdirSync(root)]).toEqual(['first', ['out.json']]);
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

  it('takes away what writers of it left that were killed minutes ago', async () => {
    const root = temporaryDirectory();
    const [old, recent] = [join(root, partial('a')), join(root, partial('b'))];
    for (const path of [old, recent]) writeFileSync(path, 'half');
    utimesSync(old, 1e9, 1e9);
    await writeWhole(join(root, 'out.json'), 'whole');
    expect([existsSync(old), existsSync(recent)]).toEqual([false, true]);
  });
});
