// @ts-check
// Controls the library of preload.cpp, loaded into this process or into one that it starts.
import { openSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The library, built by `cmake-js build -O native/build -T faults`. */
export const library = fileURLToPath(new URL('../../native/build/faults.so', import.meta.url));

/**
 * A call is identified by its kind, its path below the root without random parts, and how many of both came
 * before.
 *
 * @typedef {{ readonly kind: string; readonly path: string; readonly occurrence: number }} Call
 *
 * A fault of a call, and with `onwards` of all later ones. The call fails with an errno, moves half of the
 * bytes, or waits for milliseconds. `kill` ends the process before it and `kill-after` after it; `freeze`
 * stops all changes of the disk instead, which looks like a kill to the disk. Answers of the hub have their
 * own faults (hub.mjs).
 *
 * @typedef {'fail' | 'short' | 'delay' | 'kill' | 'kill-after' | 'freeze'} Action
 * @typedef {Call & { readonly onwards?: true; readonly action: Action | WrongAnswer; readonly number?: number
 * }} Fault
 *
 * A fault that happened, with the whole path.
 *
 * @typedef {{ readonly kind: string; readonly path: string; readonly action: string; readonly number: number
 * }} Fired
 */

/**
 * How an answer goes wrong. A status; no answer; half of one that ends closed, reset, silent or well formed;
 * a lost answer; two answers; another range; the whole file; other content or length; an HTML page.
 *
 * @typedef {'busy' | 'refused' | 'reset' | 'cut' | 'torn' | 'stall' | 'short' | 'lost' | 'twice' | 'shift' |
 * 'whole' | 'changed' | 'grown' | 'page' | 'delay'} WrongAnswer
 */

/** Temporary faults: the request is repeated, and the command continues. @type {readonly WrongAnswer[]} */
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

/** Faults that may end a command. @type {readonly WrongAnswer[]} */
export const final = ['refused', 'changed', 'grown', 'page'];

/** The order of `Does` in preload.cpp. */
const actions = ['fail', 'short', 'delay', 'kill', 'kill-after', 'freeze'];

/** A fixed order for concurrent calls, which come in any order. @param {Call} one @param {Call} other */
export const byName = (one, other) =>
  one.kind.localeCompare(other.kind) ||
  one.path.localeCompare(other.path) ||
  one.occurrence - other.occurrence;

/** A line of control. @param {Fault} fault */
export const lineOf = ({ kind, path, occurrence, onwards, action, number = 0 }) =>
  ['fault', kind, path, `${occurrence}${onwards ? '+' : ''}`, action, number].join('\t');

/** Sends a control line to the library in this process. @param {...(string | number)} words */
export const say = (...words) => {
  try {
    openSync(`/:faults:/${words.join('\t')}`, 'r');
  } catch {
    // No control path exists.
  }
};

/**
 * Has the library write its notes, and reads them.
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

/** The calls since `begin`, if traced. @param {string} folder @returns {Call[]} */
export const calls = (folder) =>
  told('dump', folder).map(([kind = '', path = '', occurrence]) => ({
    ...{ kind, path, occurrence: Number(occurrence) },
  }));

/** The faults that happened since `begin`. @param {string} folder @returns {Fired[]} */
export const fired = (folder) =>
  told('fired', folder).map(([kind = '', path = '', does, number]) => ({
    ...{ kind, path, action: actions[Number(does)] ?? '', number: Number(number) },
  }));
