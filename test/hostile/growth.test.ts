import { writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { cli } from '../fixtures/cli.js';
import { type Door, makeDoors, readDoor, removeOutputs } from './doors.js';
import type { Growth } from './growth.js';
import { mostGrown, total, type Work, workOf } from './work.js';

const isAll = process.env['LAYERLOOM_HOSTILE'] === 'all';
/** Of the growths of all files; `npm run test:hostile` tries all. */
const sample = 10;

/** Entries that a file gets more; each count twice the one before. */
const counts = [500, 1000, 2000] as const;
/** Twice the entries more are twice the work, and a little for what is sorted; four times if each is compared with all. */
const most = 2.6;
/** Work that is nothing beside that of the command itself, which differs a little from run to run. */
const little = 500_000;

/** What grows faster than the file when a door's commands read it; undefined where nothing does. */
const fasterIn = async (
  door: Door,
  { label, of }: Growth,
  root: string,
  args: readonly string[],
): Promise<string | undefined> => {
  const works: Work[] = [];
  // Once more at first, when modules are loaded.
  for (const count of [counts[0], ...counts]) {
    writeFileSync(door.file, of(count));
    works.push(await workOf(() => cli([...args, '--json'])));
    removeOutputs(root);
  }
  const [, small, middle, large] = works as [Work, Work, Work, Work];
  const [first, second] = [total(middle) - total(small), total(large) - total(middle)];
  if (second < little || second < most * Math.max(first, little / 2)) return undefined;
  return `${door.name}, ${label}: ${args.join(' ')}: ${first}, then ${second}: ${mostGrown(middle, large)}`;
};

it('work on a file grows no faster than the file, whatever grows in it', async () => {
  const { root, doors } = await makeDoors();
  const all = doors.flatMap((door) =>
    [...door.growths(readDoor(door))].flatMap((growth) =>
      door.commands.map((command) => ({ door, growth, command })),
    ),
  );
  expect(all.length).toBeGreaterThan(300);
  const some = isAll ? all : all.filter((_, index) => index % Math.ceil(all.length / sample) === 0);
  for (const { door, growth, command } of some) {
    const valid = readDoor(door);
    try {
      const faster = await fasterIn(door, growth, root, command);
      expect.soft(faster, faster).toBeUndefined();
    } finally {
      writeFileSync(door.file, valid);
    }
  }
}, 3_600_000);
