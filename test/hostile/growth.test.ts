import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { cli } from '../fixtures/cli.js';
import { makeDoors, readDoor, removeOutputs } from './doors.js';
import { type GrowthPair, knownPairs, pairsOf } from './growth-pairs.js';
import { mostGrown, total, type Work, workOf } from './work.js';

const isAll = process.env['LAYERLOOM_HOSTILE'] === 'all';
/** The name of a single door to try; default: all. */
const chosen = process.env['LAYERLOOM_DOOR'];
/** A sample of the growths of all files; `npm run test:hostile` tries all. */
const sample = 10;

/**
 * Numbers of added entries. Each is four times the number before, so that tables that double are equally full at each.
 */
const counts = [125, 500, 2000] as const;
/**
 * Limit of growth for four times the entries: four times the work, plus sorting. Comparing each with all
 * would give sixteen.
 */
const most = 6;
/** Amounts to ignore, since the command itself varies a little: steps, and bytes. */
const little = { steps: 500_000, bytes: 8e6 };

/**
 * Names work that grows faster than a count in the function that `prepare` returns for it; undefined if none
 * does.
 */
const fasterIn = async (prepare: (count: number) => () => Promise<unknown>): Promise<string | undefined> => {
  // A first run loads modules.
  await prepare(counts[0])();
  const works: Work[] = [];
  for (const count of counts) works.push(await workOf(prepare(count)));
  const [small, middle, large] = works as [Work, Work, Work];
  const faster = (['steps', 'bytes'] as const).flatMap((of) => {
    const [first, second] = [total(middle[of]) - total(small[of]), total(large[of]) - total(middle[of])];
    if (second < little[of] || second < most * Math.max(first, little[of] / 4)) return [];
    return [`${first} ${of} more, then ${second}: ${mostGrown(middle[of], large[of])}`];
  });
  return faster.length === 0 ? undefined : faster.join('; and ');
};

it('sees copies of copies by their memory, and elements that are compared with all by their steps', async () => {
  const copies = (count: number) => async () => {
    let all: Record<string, number> = {};
    for (let index = 0; index < count; index += 1) all = { ...all, [`key ${index}`]: index };
    return all;
  };
  const comparisons = (count: number) => async () => {
    const all: number[] = [];
    for (let index = 0; index < count; index += 1) if (!all.includes(index)) all.push(index);
    return all;
  };
  const linear = (count: number) => async () => {
    const all: number[] = [];
    for (let index = 0; index < 1000 * count; index += 1) all.push(index);
    return new Set(all);
  };
  expect(await fasterIn(copies)).toMatch(/^\d+ bytes more/);
  expect(await fasterIn(comparisons)).toMatch(/^\d+ steps more.* includes \d+/);
  expect(await fasterIn(linear)).toBeUndefined();
});

it('work on a file, and the memory asked for, grow no faster than the file, whatever grows in it', async () => {
  const { root, doors } = await makeDoors();
  const all = doors
    .filter(({ name }) => chosen === undefined || name === chosen)
    .flatMap((door) =>
      [...door.growths(readDoor(door))].flatMap((growth) =>
        door.commands.map((command) => ({ door, growth, command })),
      ),
    );
  expect(all.length).toBeGreaterThan(chosen === undefined ? 300 : 0);
  const some = isAll ? all : all.filter((_, index) => index % Math.ceil(all.length / sample) === 0);
  for (const { door, growth, command } of some) {
    const valid = readDoor(door);
    try {
      const faster = await fasterIn((count) => {
        removeOutputs(root);
        writeFileSync(door.file, growth.of(count));
        return () => cli([...command, '--json']);
      });
      const told = `${door.name}, ${growth.label}: ${command.join(' ')}: ${faster}`;
      expect.soft(faster, told).toBeUndefined();
    } finally {
      writeFileSync(door.file, valid);
    }
  }
}, 3_600_000);

const fasterWith = async ({ files, command }: GrowthPair, root: string): Promise<string | undefined> => {
  const valid = files.map(([file]) => (existsSync(file) ? readFileSync(file) : undefined));
  try {
    return await fasterIn((count) => {
      removeOutputs(root);
      for (const [file, growth] of files) writeFileSync(file, growth.of(count));
      return () => cli([...command(count), '--json']);
    });
  } finally {
    for (const [index, [file]] of files.entries()) {
      const bytes = valid[index];
      if (bytes === undefined) rmSync(file);
      else writeFileSync(file, bytes);
    }
  }
};

it('work and memory grow no faster than the files where two places grow together', async () => {
  const { root, doors } = await makeDoors();
  const all = [...pairsOf(doors)];
  expect(all.length).toBeGreaterThan(10_000);
  // A prime step, so that the sample reaches all doors and does not follow the order of keys.
  const step = Math.ceil(all.length / (isAll ? 20 * sample : sample)) | 1;
  const some = chosen === undefined ? all.filter((_, index) => index % step === 0) : [];
  for (const pair of [...knownPairs(root, doors), ...some])
    expect.soft(await fasterWith(pair, root), pair.label).toBeUndefined();
}, 3_600_000);
