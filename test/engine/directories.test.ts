import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { makeDirectories, orNoDirectories } from '../../src/core/engine/output/durable.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';

const failAfter = (path: string) =>
  orNoDirectories(async () => {
    await makeDirectories(path);
    throw new Error('failed');
  });

it('removes the directories of failed work, also of work within it', async () => {
  const root = temporaryDirectory();
  const work = orNoDirectories(() => failAfter(join(root, 'a', 'b')));
  await expect(work).rejects.toThrow('failed');
  expect(existsSync(join(root, 'a'))).toBe(false);
});

it('keeps the directories of other work that goes on', async () => {
  const root = temporaryDirectory();
  let goOn: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const other = orNoDirectories(async () => {
    await makeDirectories(join(root, 'other'));
    await gate;
  });
  await expect(failAfter(join(root, 'failed'))).rejects.toThrow('failed');
  goOn();
  await other;
  expect(existsSync(join(root, 'other'))).toBe(true);
});
