// @ts-check
// What a process says to the library of preload.cpp, which is loaded into it or into a process that it starts.
import { openSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The library; `cmake-js build -O native/build -T faults` builds it. */
export const library = fileURLToPath(new URL('../../native/build/faults.so', import.meta.url));

/**
 * A call is known by its kind, its path below the root without random parts, and how many of both came before.
 *
 * @typedef {{ readonly kind: string; readonly path: string; readonly occurrence: number }} Call
 *
 * What goes wrong at a call, and with `onwards` at all behind it: it fails with an errno, moves half of the bytes, waits
 * for milliseconds, is the last before or behind which the process is killed, or the last before which the disk no
 * longer changes, which is a kill as the disk sees it. An answer of the hub goes wrong in ways of its own
 * (hub.mjs).
 *
 * @typedef {'fail' | 'short' | 'delay' | 'kill' | 'kill-after' | 'freeze'} Action
 * @typedef {Call & { readonly onwards?: true; readonly action: Action | WrongAnswer; readonly number?: number }} Fault
 *
 * A fault that came to pass, with the whole path.
 *
 * @typedef {{ readonly kind: string; readonly path: string; readonly action: string; readonly number: number }} Fired
 */

/**
 * How an answer goes wrong: a status, no answer, half of one that ends by being closed, reset, silent or well formed, an
 * answer that nobody hears, two of them, another range, all of the file, another content or length, a page of HTML.
 *
 * @typedef {'busy' | 'refused' | 'reset' | 'cut' | 'torn' | 'stall' | 'short' | 'lost' | 'twice' | 'shift' | 'whole' | 'changed' | 'grown' | 'page' | 'delay'} WrongAnswer
 */

/** What passes: the request is repeated, and the command goes on. @type {readonly WrongAnswer[]} */
export const passing = [
  'busy',
  'reset',
  'cut',
  'torn',
  'stall',
  'short',
  'lost',
  'twice',
  'shift',
  'whole',
  'delay',
];

/** What a command may end of. @type {readonly WrongAnswer[]} */
export const final = ['refused', 'changed', 'grown', 'page'];

/** The order of `Does` in preload.cpp. */
const actions = ['fail', 'short', 'delay', 'kill', 'kill-after', 'freeze'];

/** An order of calls that come in any: requests at once do. @param {Call} one @param {Call} other */
export const byName = (one, other) =>
  one.kind.localeCompare(other.kind) ||
  one.path.localeCompare(other.path) ||
  one.occurrence - other.occurrence;

/** A line of control. @param {Fault} fault */
export const lineOf = ({ kind, path, occurrence, onwards, action, number = 0 }) =>
  ['fault', kind, path, `${occurrence}${onwards ? '+' : ''}`, action, number].join('\t');

/** Says a line to the library in this process. @param {...(string | number)} words */
export const say = (...words) => {
  try {
    openSync(`/:faults:/${words.join('\t')}`, 'r');
  } catch {
    // The path of a line is never there.
  }
};

/**
 * Has the library write what it noted, and reads it.
 *
 * @param {'dump' | 'fired'} what
 * @param {string} folder outside the root
 */
const told = (what, folder) => {
  const file = join(folder, what);
  say(what, file);
  const text = readFileSync(file, 'utf8');
  rmSync(file);
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => line.split('\t'));
};

/** The calls since `begin`, where they were traced. @param {string} folder @returns {Call[]} */
export const calls = (folder) =>
  told('dump', folder).map(([kind = '', path = '', occurrence]) => ({
    ...{ kind, path, occurrence: Number(occurrence) },
  }));

/** The faults that came to pass since `begin`. @param {string} folder @returns {Fired[]} */
export const fired = (folder) =>
  told('fired', folder).map(([kind = '', path = '', does, number]) => ({
    ...{ kind, path, action: actions[Number(does)] ?? '', number: Number(number) },
  }));
