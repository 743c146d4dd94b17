// @ts-check
// What holds after every run under faults, whatever went wrong: the one oracle of all workloads.
import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';

import { basename, dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { passing } from './seam.mjs';

/** @import { Tree } from './tree.mjs' */
/** @import { Fired } from './seam.mjs' */

/**
 * How a command ended: `code` is undefined where the process died.
 *
 * @typedef {{ readonly code: number | undefined; readonly stdout: string; readonly stderr: string }} Outcome
 *
 * What the runs without faults made: what is equal in two of them has its hash.
 *
 * @typedef {{ readonly before: Tree; readonly after: Tree; readonly again: Tree }} Reference
 */

/** Names of what only an interrupted command leaves. */
export const leftover =
  /\/(claims|partial)\/.|\.(partial|incomplete)$|\.layerloom-(partial|removed|former|batch)/;

const exitCodes = [0, 1, 2, 3, 4, 130];

/** Codes of errors that stand for nothing that the documentation has. */
const undocumented = /^(INTERNAL|ERR_.*)?$/;

/** True of what any system may do: a call moves fewer bytes, or is slow. @param {Fired} fault */
const isMild = ({ kind, action }) => (action === 'short' && kind !== 'answer') || action === 'delay';

/** True of a failure of the network that passes. @param {Fired} fault */
const isPassing = ({ kind, action }) =>
  kind === 'answer'
    ? passing.some((one) => one === action)
    : /^(lookup|connect|send|receive)$/.test(kind) && action === 'fail';

/** Failures of a network that has never answered, after which it is given up. */
const fewFailures = 4;

/** True if nothing happened that a command may end of. @param {readonly Fired[]} faults */
const isBearable = (faults) => {
  const others = faults.filter((fault) => !isMild(fault));
  return others.every(isPassing) && others.length < fewFailures;
};

/** Codes of what a hub and the way to it do. */
const hubCodes = /^(HUB_\w+|PUSH_REFUSED)$/;

/**
 * Checks what a failed command said: a documented code, and a message that names what it is about.
 *
 * @param {Outcome} outcome @param {readonly Fired[]} faults @param {string} root
 * @returns {string[]} what is wrong
 */
export const wrongWords = ({ code, stdout, stderr }, faults, root) => {
  if (code === undefined) return [];
  if (!exitCodes.includes(code)) return [`exit code ${code}`];
  // What was not synced is not durable: a command may not say that it is done.
  const unsynced = faults.find(
    ({ kind, action, path }) =>
      kind === 'sync' && action === 'fail' && /\.layerloom-partial\/checkpoint\//.test(path),
  );
  if (code === 0 && unsynced !== undefined && stderr === '')
    return [`a failed sync of ${unsynced.path} was swallowed`];
  if (code === 0) return [];
  if (isBearable(faults)) return [`exit code ${code} without a failure: ${stderr.trim()}`];
  const last = stderr.trim().split('\n').at(-1) ?? '';
  const wrong = [];
  const found = errorIn(stdout);
  // A verification that found damage prints its finding.
  if (found === undefined && code !== 4 && !/damaged|different/.test(stdout))
    wrong.push(`no error as JSON with exit code ${code}: ${last}`);
  else if (found !== undefined && undocumented.test(found))
    wrong.push(`error without a code: ${stderr.trim()}`);
  // An error of threads or processes is of no file.
  if (
    !/^(THREADS|PROCESS)_UNAVAILABLE$/.test(found ?? '') &&
    !stderr.includes(root) &&
    !stdout.includes(root) &&
    !/\b(net|hub|http)|\borg\//i.test(stderr)
  )
    wrong.push(`message that names no file: ${last}`);
  // What happened on the way is said as that, with what to do.
  const isOfNetwork = faults.every((fault) => fault.kind === 'answer' || isMild(fault) || isPassing(fault));
  if (isOfNetwork && !hubCodes.test(found ?? '')) wrong.push(`${found} for faults of the network: ${last}`);
  if (hubCodes.test(found ?? '') && !/; \w/.test(last)) wrong.push(`message without a remedy: ${last}`);
  return wrong;
};

/** The code of the last error that was printed as JSON. @param {string} stdout */
export const errorIn = (stdout) => {
  const at = stdout.lastIndexOf('{"error"');
  const documentAt = stdout.search(/\{\s*"error"/);
  const text =
    at >= 0 ? stdout.slice(at).split('\n')[0] : documentAt >= 0 ? stdout.slice(documentAt) : undefined;
  if (text === undefined) return undefined;
  try {
    return String(JSON.parse(text).error.code);
  } catch {
    return 'ERR_JSON';
  }
};

/** The part of a tree that is at a path. @param {Tree} tree @param {string} path @returns {Tree} */
export const within = (tree, path) =>
  new Map([...tree].filter(([name]) => name === path || name.startsWith(`${path}/`)));

/** What differs of two trees; `?` in the first is any content. @param {Tree} expected @param {Tree} found */
const differences = (expected, found) => [
  ...[...expected].flatMap(([name, content]) => {
    const other = found.get(name);
    if (other === undefined) return [`${name} is missing`];
    return content !== '?' && other !== content ? [`${name} differs`] : [];
  }),
  ...[...found.keys()].filter((name) => !expected.has(name)).map((name) => `${name} is left over`),
];

/** What two runs have in common: of a file that differs only that it is there. @param {Tree} one @param {Tree} other @returns {Tree} */
export const common = (one, other) => {
  const wrong = differences(new Map([...one].map(([name]) => [name, '?'])), other);
  if (wrong.length > 0) throw new Error(`two runs without faults differ: ${wrong.join(', ')}`);
  return new Map([...one].map(([name, content]) => [name, other.get(name) === content ? content : '?']));
};

/**
 * Checks what appears whole or not at all.
 *
 * @param {readonly string[]} wholes @param {Reference} reference @param {Tree} found
 */
export const wrongWholes = (wholes, { before, after }, found) =>
  wholes.flatMap((path) => {
    const there = within(found, path);
    const states = [before, after].map((tree) => differences(within(tree, path), there));
    const isEmptyDirectory =
      there.size === 1 && there.get(path) === 'directory' && within(before, path).size === 0;
    // Of a merge inside a directory the parents may be there.
    if (there.size === 0 && within(before, path).size === 0) return [];
    if (states.some((wrong) => wrong.length === 0)) return [];
    return isEmptyDirectory
      ? [`${path} is there and empty`]
      : [`${path} is half there: ${states[1]?.join(', ')}`];
  });

/**
 * Files of a directory and sockets that this process has open and does not close by itself: of calls side by side, of
 * which one failed, others may just end.
 *
 * @param {string} directory @param {ReadonlySet<string>} before what was open before, as `openPaths` tells
 */
export const leftOpen = async (directory, before) => {
  for (const ms of [0, 5, 20, 100, 500]) {
    if (openIn(directory, before).length === 0) break;
    await pause(ms);
  }
  return openIn(directory, before);
};

/** @param {string} directory @param {ReadonlySet<string>} before */
const openIn = (directory, before) =>
  [...openPaths()]
    .filter((path) => !before.has(path) && (path.startsWith(directory) || path.startsWith('socket:')))
    // A model that came from the hub is held until the process ends.
    .filter((path) => !path.includes('/.ranges/holders/'))
    .map((path) => `${path} is left open`);

/** Paths of the files that this process has open, and names of its sockets. */
export const openPaths = () =>
  new Set(
    readdirSync('/proc/self/fd').flatMap((fd) => {
      try {
        return [readlinkSync(join('/proc/self/fd', fd))];
      } catch {
        // The listing's own.
        return [];
      }
    }),
  );

/** Checks that every record parses: JSON, and lines of JSON but the last. @param {string} work @param {Tree} found */
export const wrongRecords = (work, found) =>
  [...found.keys()].flatMap((name) => {
    const isPartial = name
      .split('/')
      .some((part) => /^\.|#|\.incomplete$|\.new$/.test(part) && part !== '.store');
    if (isPartial || !existsSync(join(work, name))) return [];
    if (!/\.jsonl?$/.test(name)) return [];
    const text = readFileSync(join(work, name), 'utf8');
    const documents = name.endsWith('.json') ? [text] : text.split('\n').slice(0, -1);
    if (!documents.every(isJson)) return [`${name} is not JSON`];
    return /"code": ?"INTERNAL"/.test(text) ? [`${name} has an error without a code`] : [];
  });

/** @param {string} text */
const isJson = (text) => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

/**
 * Checks what a command that succeeded left: what it should, and nothing else but what a warning names.
 *
 * @param {Tree} expected @param {Tree} found @param {string} stderr
 */
export const wrongResult = (expected, found, stderr) =>
  differences(expected, found).filter((wrong) => {
    // A log of the harness, which is not synced, may be lost by a power cut, and so may folders that hold nothing more.
    if (/(^|\/)evaluations\/(logs(\/.*)?|\.runs) is missing$/.test(wrong)) return false;
    if (!wrong.endsWith(' is left over')) return true;
    const [name = ''] = wrong.split(' is left over');
    // The folder of an evaluation's failures stays, without any.
    if (/(^|\/)evaluations\/failures$/.test(name)) return false;
    // A store's clock and an experiment's stay, and are made where a claim is first examined.
    return !/(^|\/)(clock|\.layerloom-clock)$/.test(name) && !namedIn(stderr, name);
  });

/** True if a text names a path, or a directory that it is in. @param {string} text @param {string} name */
const namedIn = (text, name) => {
  for (let at = name; at !== '.'; at = dirname(at)) {
    const [begin = ''] = basename(at).split('#');
    if (begin !== '' && text.includes(begin)) return true;
  }
  return false;
};

/** Checks that what a command made is there when it has ended. @param {readonly string[]} paths @param {Reference} reference @param {Tree} found */
export const lost = (paths, { after }, found) =>
  paths.flatMap((path) =>
    differences(within(after, path), within(found, path)).map((wrong) => `it ended, and ${wrong}`),
  );

/** Checks that a record says of all merges that they are done. @param {string} file */
export const unfinished = (file) => {
  if (!existsSync(file)) return [];
  const { state, merges } = JSON.parse(readFileSync(file, 'utf8'));
  const isDone = [state, ...merges.map((/** @type {{ state: string }} */ merge) => merge.state)].every(
    (one) => one === 'done',
  );
  return isDone ? [] : [`it ended, and ${basename(file)} says otherwise`];
};

/** Checks that merges which were reported done are there. @param {Outcome} outcome @param {string} work @param {Reference} reference @param {Tree} found */
export const wrongReports = ({ stdout }, work, { after }, found) =>
  stdout.split('\n').flatMap((line) => {
    if (!line.startsWith('{"')) return [];
    const event = JSON.parse(line);
    if (event.event !== 'merge' || event.state !== 'done') return [];
    const path = [...after.keys()].find((name) => name.endsWith(`/${event.name}`));
    if (path === undefined) return [`${event.name} was reported, and no run has it in ${work}`];
    return differences(within(after, path), within(found, path)).map(
      (wrong) => `${event.name} was reported done: ${wrong}`,
    );
  });

/**
 * Makes the claims in a directory those of processes that have ended, as they are after a kill: in a process that goes
 * on they are its own.
 *
 * @param {string} directory
 */
export const endProcesses = (directory) => {
  for (const name of readdirSync(directory, { recursive: true, encoding: 'utf8' })) {
    const path = join(directory, name);
    if (!/(^|\/)\.?claims\/[^/]+$|\.claim(\.next)*$/.test(name) || !lstatSync(path).isFile()) continue;
    writeFileSync(path, readFileSync(path, 'utf8').replace(/"started":"[^"]*"/, '"started":"0"'));
  }
};
