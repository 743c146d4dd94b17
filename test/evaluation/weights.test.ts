import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { shardsOfMerge } from '../../src/study/store/files/weights.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';

it('takes a merge whose record cannot be read for none that is not there yet', async () => {
  const directory = temporaryDirectory();
  const record = join(directory, 'layerloom.json');
  expect(await shardsOfMerge(directory)).toBeUndefined();
  writeFileSync(record, '{"shards": [');
  expect(await shardsOfMerge(directory)).toBeUndefined();
  const unreadable = join(directory, 'unreadable');
  mkdirSync(join(unreadable, 'layerloom.json'), { recursive: true });
  await expect(shardsOfMerge(unreadable)).rejects.toMatchObject({
    code: 'READ_FAILED',
    details: { file: join(unreadable, 'layerloom.json') },
  });
});
