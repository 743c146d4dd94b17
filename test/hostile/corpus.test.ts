import { expect, it } from 'vitest';
import { makeDoors } from './doors.js';
import { mutationsOf, tryDoor } from './try-door.js';

const sample = process.env['LAYERLOOM_HOSTILE'] === 'all' ? Number.POSITIVE_INFINITY : 14;

it('files of strangers are refused with a code and their place, or do what they say', async () => {
  const { root, doors } = await makeDoors();
  let [tried, refused] = [0, 0];
  for (const door of doors) {
    const mutations = mutationsOf(door, sample);
    tried += mutations.length;
    refused += await tryDoor(door, root, mutations);
  }
  expect(tried).toBeGreaterThan(300);
  expect(refused).toBeGreaterThan(200);
  if (sample > tried) console.info(`${tried} files, ${refused} refusals`);
}, 3_600_000);
