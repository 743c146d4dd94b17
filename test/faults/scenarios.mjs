// @ts-check
// Scenarios of schedules.mjs: initial files, and command lines; a seed chooses some to run at once.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { study, swap, write } from './workloads.mjs';

/** @import { Place, RunCommand } from './workloads.mjs' */

/**
 * A command line that may run at any time beside the others.
 *
 * @typedef {object} Command
 * @property {(place: Place) => string[]} words
 * @property {(place: Place) => string[]} [again] the command after a failure, run alone
 * @property {string} [out] a batch's directory below `work`
 * @property {readonly string[]} [refusals] error codes that other commands may cause
 * @property {readonly string[]} [makes] outputs below `work` after success
 */

/**
 * @typedef {object} Scenario
 * @property {(place: Place, run: RunCommand) => Promise<void>} prepare
 * @property {readonly string[]} commands names to choose from
 * @property {boolean} [onwards] true if the clock must not go back, which would make files look newer than
 * their lists
 */

/** @param {string} name @param {...string} more @returns {(place: Place) => string[]} */
const batch =
  (name, ...more) =>
  ({ work }) => [
    ...['batch', join(work, `${name.slice(0, 1)}.yaml`), '-o', join(work, name)],
    ...['--store', join(work, 'store'), ...more],
  ];

const pair = 'swahili/math-1+swh-1';

/** @param {string} name @param {readonly string[]} merges @param {...string} more @returns {Command} */
const batchOf = (name, merges, ...more) => ({
  words: batch(name, ...more),
  again: batch(name, '--resume'),
  // Another process works there, or did before.
  refusals: ['OUTPUT_BUSY', 'OUTPUT_EXISTS'],
  out: name,
  makes: merges.map((merge) => `${name}/${pair}/${merge}`),
});

const ofA = ['swap', 'narrow', 'ties'];
const ofB = ['swap', 'wide'];

/** @param {string} name @param {string} range @returns {Command} */
const part = (name, range) => ({
  words: batch(name, '--part', range),
  again: batch(name, '--resume'),
  out: name,
  refusals: ['OUTPUT_BUSY'],
});

/** @satisfies {Readonly<Record<string, Command>>} */
const all = {
  a: batchOf('a', ofA),
  'a resumed': batchOf('a', ofA, '--resume'),
  a2: batchOf('a2', ofA),
  b: batchOf('b', ofB),
  'b resumed': batchOf('b', ofB, '--resume'),
  'a 0/2': part('a', '0/2'),
  'a 1/2': part('a', '1/2'),
  // The store may not exist yet.
  gc: { words: ({ work }) => ['store', 'gc', join(work, 'store')], refusals: ['STORE_INVALID'] },
  verify: { words: ({ work }) => ['store', 'verify', join(work, 'store')], refusals: ['STORE_INVALID'] },
  list: { words: ({ work }) => ['store', 'ls', join(work, 'store')], refusals: ['STORE_INVALID'] },
  'verify ties': { words: ({ work }) => ['verify', join(work, 'c', pair, 'ties'), '--against-inputs'] },
  swap: {
    words: (place) => swap(place),
    again: (place) => swap(place, '--force'),
    refusals: ['OUTPUT_BUSY', 'OUTPUT_EXISTS'],
    makes: ['out'],
  },
  'swap replacing': {
    words: (place) => swap(place, '--force'),
    again: (place) => swap(place, '--force'),
    refusals: ['OUTPUT_BUSY'],
    makes: ['out'],
  },
};

/** @type {Readonly<Record<string, Command>>} */
export const commands = all;

/** @param {Place} place */
const writeStudies = (place) => {
  const of = study(place);
  write(place, 'a.yaml', of);
  write(place, 'c.yaml', of);
  const [one] = of.merges;
  write(place, 'b.yaml', {
    ...of,
    merges: [one, { name: 'wide', method: 'layer_swap', bottom: 2, top: 0 }],
  });
};

/**
 * Leaves shards that nobody needs any more, and shards that all will need.
 * @param {Place} place
 * @param {RunCommand} run
 */
const leaveShards = async (place, run) => {
  writeStudies(place);
  await run(batch('a')(place));
  rmSync(join(place.work, 'a'), { recursive: true });
};

/** @type {Readonly<Record<string, Scenario>>} */
export const scenarios = {
  'a new store': {
    prepare: async (place) => writeStudies(place),
    commands: ['a', 'a', 'a2', 'b', 'a 0/2', 'a 1/2', 'gc', 'verify', 'list'],
  },
  'a store of shards that nobody needs': {
    prepare: leaveShards,
    commands: ['a', 'a2', 'b', 'gc', 'gc', 'gc', 'verify', 'a 0/2'],
  },
  'a store in use': {
    prepare: async (place, run) => {
      writeStudies(place);
      await run(batch('c')(place));
      await run(batch('b')(place));
    },
    commands: ['a', 'a2', 'b resumed', 'b resumed', 'gc', 'gc', 'verify', 'verify ties', 'list'],
  },
  'one output': {
    prepare: async (place) => writeStudies(place),
    commands: ['swap', 'swap', 'swap replacing', 'swap replacing'],
    onwards: true,
  },
};
