import { readdirSync, writeFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { expect } from 'vitest';
import { cli } from '../fixtures/cli.js';
import { type Door, readDoor, removeOutputs } from './doors.js';
import type { Mutation } from './mutations.js';

/**
 * Exit codes of refusals (docs/errors.md); for 4, stdout may report the part that succeeded, as a document.
 */
const refusals = [2, 3, 4, 5];
const longest = 2000;

const namesIn = (root: string): string[] =>
  readdirSync(root, { recursive: true })
    .map(String)
    .filter((name) => !name.startsWith('study/'));

const faultIn = (
  { code, stdout, stderr }: Awaited<ReturnType<typeof cli>>,
  { file, told }: Door,
): string | undefined => {
  if (code === 0) return undefined;
  if (code === null || !refusals.includes(code)) return `ends with ${code}: ${stderr.slice(0, 500)}`;
  const last = stdout.trimEnd().split('\n').at(-1) ?? '';
  const document = JSON.parse(stdout.startsWith('{') && last !== stdout.trimEnd() ? stdout : last);
  if (!('error' in document)) return code === 4 ? undefined : 'prints no error';
  const { error } = document as { error: { code: string; message: string } };
  if (error.code === 'INTERNAL') return `has no code: ${error.message}`;
  if (error.message.length > longest) return `is ${error.message.length} characters long`;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: what a terminal acts on
  if (/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/.test(error.message)) return 'acts on a terminal';
  const places = [basename(file), basename(dirname(file))];
  if (!places.some((place) => error.message.includes(place)) && told?.test(error.message) !== true)
    return `does not say where: ${error.message}`;
  return undefined;
};

export const mutationsOf = (door: Door, most = Number.POSITIVE_INFINITY): Mutation[] => {
  const all = [...door.mutations(readDoor(door))];
  const count = Math.min(most, all.length);
  return Array.from(
    { length: count },
    (_, index) => all[Math.floor(((index + 0.5) * all.length) / count)] as Mutation,
  );
};

/**
 * Replaces a door's file by each mutation, and runs the door's commands. Each must follow the file, or refuse
 * it by one message with a code and the place, and leave only its output.
 *
 * @returns the number of refused runs
 */
export const tryDoor = async (door: Door, root: string, mutations: readonly Mutation[]): Promise<number> => {
  const valid = readDoor(door);
  const before = namesIn(root);
  let refused = 0;
  try {
    for (const { label, bytes } of mutations) {
      writeFileSync(door.file, bytes);
      for (const args of door.commands) {
        const run = await cli([...args, '--json']);
        const fault = faultIn(run, door);
        expect.soft(fault, `${door.name}, ${label}: ${args.join(' ')}`).toBeUndefined();
        if (run.code !== 0) refused += 1;
        removeOutputs(root);
      }
    }
  } finally {
    writeFileSync(door.file, valid);
  }
  const known = new Set(before);
  expect
    .soft(
      namesIn(root).filter((name) => !known.has(name)),
      `${door.name}: files that stayed`,
    )
    .toEqual([]);
  return refused;
};
