// @ts-check
// Chooses a seed's faults among the calls that a workload makes without faults.
import { constants } from 'node:os';
import { final, passing } from './seam.mjs';

/** @import { Call, Fault } from './seam.mjs' */

/** @type {Readonly<Record<string, number>> & typeof constants.errno} */
const errno = { ...constants.errno };

/** A generator of numbers in [0, 1): same seed, same sequence (mulberry32). @param {number} seed */
export const seeded = (seed) => {
  // Neighbouring seeds begin far apart.
  let state = Math.imul(seed ^ (seed >>> 16), 0x45d9f3b) >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
};

/** Errors of the system by kind of call. @type {Readonly<Record<string, readonly string[]>>} */
const failures = {
  open: ['EIO', 'EMFILE', 'EACCES', 'ESTALE'],
  create: ['EIO', 'ENOSPC', 'EMFILE', 'EACCES', 'EROFS', 'EDQUOT'],
  read: ['EIO', 'ESTALE', 'EINTR'],
  write: ['EIO', 'ENOSPC', 'EDQUOT', 'EINTR'],
  sync: ['EIO', 'ENOSPC', 'EDQUOT'],
  rename: ['EIO', 'EACCES', 'ENOSPC'],
  exchange: ['EINVAL', 'ENOSYS', 'EIO'],
  link: ['EMLINK', 'EPERM', 'EIO', 'ENOSPC'],
  symlink: ['EPERM', 'EIO', 'ENOSPC'],
  unlink: ['EIO', 'EACCES', 'EBUSY'],
  rmdir: ['EIO', 'EBUSY', 'ENOTEMPTY'],
  mkdir: ['EIO', 'ENOSPC', 'EACCES'],
  truncate: ['ENOSPC', 'EIO'],
  lock: ['ENOLCK', 'EWOULDBLOCK', 'ENOSYS'],
  map: ['ENOMEM', 'ENODEV', 'EAGAIN'],
  copy: ['EXDEV', 'ENOSPC', 'EIO'],
  clone: ['EOPNOTSUPP', 'EIO', 'ENOSPC'],
  stat: ['EIO', 'EACCES', 'ESTALE'],
  list: ['EIO', 'EACCES', 'EMFILE'],
  chmod: ['EPERM', 'EIO'],
  lookup: ['EAGAIN'],
  connect: ['ECONNREFUSED', 'ETIMEDOUT', 'ENETUNREACH'],
  send: ['EPIPE', 'ECONNRESET'],
  receive: ['ECONNRESET', 'ETIMEDOUT'],
  spawn: ['EAGAIN', 'ENOMEM'],
  thread: ['EAGAIN'],
};

const moving = ['read', 'write', 'copy', 'send', 'receive'];
/** Calls that need disk space, and calls that change the disk. */
const growing = ['create', 'write', 'mkdir', 'copy', 'truncate'];
const changing = [...growing, 'sync', 'rename', 'exchange', 'link', 'symlink', 'unlink', 'rmdir', 'chmod'];

/**
 * @typedef {object} Dice
 * @property {(below: number) => number} below a whole number from 0
 * @property {<T>(of: readonly T[]) => T} one
 */

/** @param {number} seed @returns {Dice} */
export const diceOf = (seed) => {
  const random = seeded(seed);
  const below = (/** @type {number} */ n) => Math.floor(random() * n);
  return {
    below,
    one: (of) => {
      const found = of[below(of.length)];
      if (found === undefined) throw new Error('nothing to choose from');
      return found;
    },
  };
};

/** A random call, each kind equally likely. @param {Dice} dice @param {readonly Call[]} of @returns {Call} */
const someCall = ({ one }, of) => {
  const kind = one([...new Set(of.map((call) => call.kind))].sort());
  return one(of.filter((call) => call.kind === kind));
};

/** Calls whose effects other processes see: a process dies before or after such a call. */
const seen = [...changing, 'send'];

/**
 * Parameters of wrong answers: the status, or milliseconds.
 * @type {Readonly<Record<string, readonly number[]>>}
 */
const numbers = { busy: [429, 500, 502, 503, 504], refused: [401, 403, 404], delay: [1, 5, 10] };

/** How an answer to a request may go wrong. @param {Call} call */
const wrongAnswers = ({ path }) =>
  [...passing, ...final].filter(
    (action) => path.includes(' bytes=') || !['shift', 'grown', 'whole'].includes(action),
  );

/** @param {Dice} dice @param {Call} call @param {string} action @returns {Fault} */
const answered = ({ one }, call, action) => ({
  ...{ ...call, action: /** @type {import('./seam.mjs').WrongAnswer} */ (action) },
  number: one(numbers[action] ?? [0]),
});

/** @param {Dice} dice @param {Call} call @returns {Fault} */
const failing = (dice, call) =>
  moving.includes(call.kind) && dice.below(3) === 0 ? { ...call, action: 'short' } : failed(dice, call);

/** @param {Dice} dice @param {Call} call @returns {Fault} */
const failed = (dice, call) =>
  call.kind === 'answer'
    ? answered(dice, call, dice.one(wrongAnswers(call)))
    : {
        ...{ ...call, action: 'fail' },
        number: errno[dice.one(failures[call.kind] ?? ['EIO'])] ?? errno.EIO,
      };

/**
 * @typedef {'freeze' | 'kill'} Death how the process dies; freeze: the disk stops changing (all in one
 * process)
 */

/**
 * A way for one call to go wrong, and its faults. @typedef {{ readonly how: string; readonly faults: (dice:
 * Dice) => readonly Fault[] }} Mishap
 */

/** @param {Call} call @param {Death} death @returns {Mishap[]} */
const mishapsOf = (call, death) =>
  call.kind === 'answer'
    ? wrongAnswers(call).map((how) => ({
        ...{ how, faults: (dice) => [perhapsAlways(dice, answered(dice, call, how))] },
      }))
    : mishapsOfSystem(call, death);

/** @param {Call} call @param {Death} death @returns {Mishap[]} */
const mishapsOfSystem = (call, death) => [
  { how: 'fail', faults: (dice) => [perhapsAlways(dice, failed(dice, call))] },
  ...(moving.includes(call.kind)
    ? [{ how: 'short', faults: () => [{ ...call, action: /** @type {const} */ ('short') }] }]
    : []),
  ...(seen.includes(call.kind) ? [{ how: death, faults: () => [{ ...call, action: death }] }] : []),
  ...(call.kind === 'write'
    ? [
        {
          how: 'torn',
          faults: () => [
            { ...call, action: /** @type {const} */ ('short') },
            { ...call, action: death },
          ],
        },
      ]
    : []),
];

/** Cached by the calls of a workload. @type {WeakMap<readonly Call[], readonly Mishap[]>} */
const walks = new WeakMap();

/**
 * All mishaps of single calls, each once. A round takes one of each kind of call and way to fail, so that the
 * few renames come as early as the many reads.
 *
 * @param {readonly Call[]} calls @param {Death} death
 */
const walkOf = (calls, death) => {
  const known = walks.get(calls);
  if (known !== undefined) return known;
  const { below } = diceOf(calls.length);
  /** @type {Map<string, Mishap[]>} */
  const groups = new Map();
  for (const call of calls)
    for (const mishap of mishapsOf(call, death)) {
      const key = `${call.kind} ${mishap.how}`;
      const group = groups.get(key) ?? [];
      groups.set(key, group);
      group.splice(below(group.length + 1), 0, mishap);
    }
  const ordered = [...groups.values()].map((group) => ({ group, at: below(groups.size) }));
  ordered.sort((one, other) => one.at - other.at);
  const most = Math.max(...ordered.map(({ group }) => group.length));
  const walk = Array.from({ length: most }, (_, round) =>
    ordered.flatMap(({ group }) => group.slice(round, round + 1)),
  ).flat();
  walks.set(calls, walk);
  return walk;
};

/**
 * From some point on, all calls of these kinds fail.
 * @param {Dice} dice
 * @param {readonly Call[]} of
 * @param {readonly string[]} kinds
 * @param {number} number
 * @returns {Fault[]}
 */
const onwards = ({ below }, of, kinds, number) => {
  const concerned = of.filter(({ kind }) => kinds.includes(kind));
  const from = below(concerned.length + 1);
  return kinds.flatMap((kind) => {
    const before = concerned.slice(0, from).filter((call) => call.kind === kind).length;
    return { kind, path: '*', occurrence: before + 1, onwards: true, action: 'fail', number };
  });
};

/** True of faults that a system may repeat for ever. @param {Fault} fault */
const isLasting = ({ kind, path, action, number }) => {
  if (kind === 'answer') return action !== 'delay';
  // A download waits for another process that fetches the same.
  if (kind === 'lock' && /^work\/hf\//.test(path)) return false;
  return action === 'fail' && number !== errno.EINTR;
};

/**
 * Applies the fault to one call, or to this and all later calls. @param {Dice} dice @param {Fault} fault
 * @returns {Fault}
 */
const perhapsAlways = ({ below }, fault) =>
  // No system interrupts every call for ever, or never reads a byte.
  below(4) === 0 && isLasting(fault) ? { ...fault, onwards: true } : fault;

/**
 * Chooses the faults of a seed. Every second seed takes the next mishap of a single call, so that each happens once
 * before any is repeated. All other seeds combine faults of several calls at random.
 *
 * @param {number} seed
 * @param {number} turn number of smaller seeds of the workload
 * @param {readonly Call[]} calls of the workload without faults
 * @param {Death} death
 * @returns {readonly Fault[]}
 */
export const faultsOf = (seed, turn, calls, death) => {
  const dice = diceOf(seed);
  if (turn % 2 === 0) {
    const walk = walkOf(calls, death);
    return walk[(turn / 2) % walk.length]?.faults(dice) ?? [];
  }
  const changes = calls.filter(({ kind }) => seen.includes(kind));
  // If nothing is changed, only a call fails.
  const way = dice.below(changes.length === 0 ? 2 : 10);
  if (way < 2) return [0, 1].map(() => perhapsAlways(dice, failing(dice, someCall(dice, calls))));
  if (way < 3) return onwards(dice, calls, growing, errno.ENOSPC);
  if (way < 4) return onwards(dice, calls, changing, dice.one([errno.EIO, errno.EROFS]));
  if (way < 6 || death === 'kill') {
    const call = someCall(dice, changes);
    /** @type {Fault[]} */
    const torn = call.kind === 'write' && dice.below(2) === 0 ? [{ ...call, action: 'short' }] : [];
    return [...torn, { ...call, action: death === 'freeze' || dice.below(2) === 0 ? death : 'kill-after' }];
  }
  // After a failure the process dies while it clears up, or fails again.
  if (way < 8) return [failing(dice, someCall(dice, calls)), { ...someCall(dice, changes), action: death }];
  return Array.from({ length: 2 + dice.below(4) }, () => ({
    ...{ ...someCall(dice, calls), action: 'delay', number: 1 + dice.below(10) },
  }));
};
