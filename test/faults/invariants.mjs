// @ts-check
// Invariants after every run under faults: the oracle of all workloads.
import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';

import { basename, dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { passing } from './seam.mjs';

/** @import { Tree } from './tree.mjs' */
/** @import { Fired } from './seam.mjs' */

/**
 * The end of a command: `code` is undefined if the process died.
 *
 * @typedef {{ readonly code: number | undefined; readonly stdout: string; readonly stderr: string }} Outcome
 *
 * Results of runs without faults: a path has a hash if its content is the same in two of them.
 *
 * @typedef {{ readonly before: Tree; readonly after: Tree; readonly again: Tree }} Reference
 */

/** Names that only an interrupted command leaves. */
export const leftover =
  /\/(claims|partial)\/.|\.(partial|incomplete)$|\.layerloom-(partial|removed|former|batch)/;

const exitCodes = [0, 1, 2, 3, 4, 130];

/** Error codes that the documentation does not list. */
const undocumented = /^(INTERNAL|ERR_.*)?$/;

/** True of faults that any system may have: fewer bytes moved, or a delay. @param {Fired} fault */
const isMild = ({ kind, action }) => (action === 'short' && kind !== 'answer') || action === 'delay';

/** True of a temporary failure of the network. @param {Fired} fault */
const isPassing = ({ kind, action }) =>
  kind === 'answer'
    ? passing.some((one) => one === action)
    : /^(lookup|connect|send|receive)$/.test(kind) && action === 'fail';

/** Failures after which the client gives up on a network that never answered. */
const fewFailures = 4;

/** True if no fault justifies that the command fails. @param {readonly Fired[]} faults */
const isBearable = (faults) => {
  const others = faults.filter((fault) => !isMild(fault));
  return others.every(isPassing) && others.length < fewFailures;
};

const hubCodes = /^(HUB_\w+|PUSH_REFUSED)$/;

/**
 * Checks a failed command's output: a documented code, and a message that names its subject.
 *
 * @param {Outcome} outcome @param {readonly Fired[]} faults @param {string} root
 * @returns {string[]} what is wrong
 */
export const wrongWords = ({ code, stdout, stderr }, faults, root) => {
  if (code === undefined) return [];
  if (!exitCodes.includes(code)) return [`exit code ${code}`];
  // Unsynced data is not durable: the command may not report success.
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
  // A verification that found damage prints it.
  if (found === undefined && code !== 4 && !/damaged|different/.test(stdout))
    wrong.push(`no error as JSON with exit code ${code}: ${last}`);
  else if (found !== undefined && undocumented.test(found))
    wrong.push(`error without a code: ${stderr.trim()}`);
  // An error of threads or processes concerns no file.
  if (
    !/^(THREADS|PROCESS)_UNAVAILABLE$/.test(found ?? '') &&
    !stderr.includes(root) &&
    !stdout.includes(root) &&
    !/\b(net|hub|http)|\borg\//i.test(stderr)
  )
    wrong.push(`message that names no file: ${last}`);
  // Network failures are reported as such, with a remedy.
  const isOfNetwork = faults.every((fault) => fault.kind === 'answer' || isMild(fault) || isPassing(fault));
  if (isOfNetwork && !hubCodes.test(found ?? '')) wrong.push(`${found} for faults of the network: ${last}`);
  if (hubCodes.test(found ?? '') && !/; \w/.test(last)) wrong.push(`message without a remedy: ${last}`);
  return wrong;
};

/** The code of the last error printed as JSON. @param {string} stdout */
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

/** The subtree at a path. @param {Tree} tree @param {string} path @returns {Tree} */
export const within = (tree, path) =>
  new Map([...tree].filter(([name]) => name === path || name.startsWith(`${path}/`)));

/**
 * Differences between two trees; `?` in the first is any content. @param {Tree} expected @param {Tree} found
 */
const differences = (expected, found) => [
  ...[...expected].flatMap(([name, content]) => {
    const other = found.get(name);
    if (other === undefined) return [`${name} is missing`];
    return content !== '?' && other !== content ? [`${name} differs`] : [];
  }),
  ...[...found.keys()].filter((name) => !expected.has(name)).map((name) => `${name} is left over`),
];

/**
 * The common part of two trees; a file that differs becomes `?`. @param {Tree} one @param {Tree} other
 * @returns {Tree}
 */
export const common = (one, other) => {
  const wrong = differences(new Map([...one].map(([name]) => [name, '?'])), other);
  if (wrong.length > 0) throw new Error(`two runs without faults differ: ${wrong.join(', ')}`);
  return new Map([...one].map(([name, content]) => [name, other.get(name) === content ? content : '?']));
};

/**
 * Checks paths that must appear whole or not at all.
 *
 * @param {readonly string[]} wholes @param {Reference} reference @param {Tree} found
 */
export const wrongWholes = (wholes, { before, after }, found) =>
  wholes.flatMap((path) => {
    const there = within(found, path);
    const states = [before, after].map((tree) => differences(within(tree, path), there));
    const isEmptyDirectory =
      there.size === 1 && there.get(path) === 'directory' && within(before, path).size === 0;
    // The parents of a merge inside a directory may exist.
    if (there.size === 0 && within(before, path).size === 0) return [];
    if (states.some((wrong) => wrong.length === 0)) return [];
    return isEmptyDirectory
      ? [`${path} is there and empty`]
      : [`${path} is half there: ${states[1]?.join(', ')}`];
  });

/**
 * Files of a directory and sockets that this process opened and leaves open. Waits a little: if one of several
 * concurrent calls failed, other calls may still be ending.
 *
 * @param {string} directory @param {ReadonlySet<string>} before earlier result of `openPaths`
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
    // A model from the hub is held until the process ends.
    .filter((path) => !path.includes('/.ranges/holders/'))
    .map((path) => `${path} is left open`);

/** Paths of this process's open files, and names of its sockets. */
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

/**
 * Checks that every record parses: JSON, or lines of JSON except the last. @param {string} work @param {Tree}
 * found
 */
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
 * Checks the files of a command that succeeded: only the expected ones, and leftovers that a warning names.
 *
 * @param {Tree} expected @param {Tree} found @param {string} stderr
 */
export const wrongResult = (expected, found, stderr) =>
  differences(expected, found).filter((wrong) => {
    // A power cut may lose the harness's log, which is not synced, and the folders that held only it.
    if (/(^|\/)evaluations\/(logs(\/.*)?|\.runs) is missing$/.test(wrong)) return false;
    if (!wrong.endsWith(' is left over')) return true;
    const [name = ''] = wrong.split(' is left over');
    // The folder for an evaluation's failures stays, even if empty.
    if (/(^|\/)evaluations\/failures$/.test(name)) return false;
    // Clocks of a store and an experiment stay; they are made when a claim is first examined.
    return !/(^|\/)(clock|\.layerloom-clock)$/.test(name) && !namedIn(stderr, name);
  });

/** True if a text names a path or a parent of it. @param {string} text @param {string} name */
const namedIn = (text, name) => {
  for (let at = name; at !== '.'; at = dirname(at)) {
    const [begin = ''] = basename(at).split('#');
    if (begin !== '' && text.includes(begin)) return true;
  }
  return false;
};

/**
 * Checks that a command's outputs exist after it ended. @param {readonly string[]} paths @param {Reference}
 * reference @param {Tree} found
 */
export const lost = (paths, { after }, found) =>
  paths.flatMap((path) =>
    differences(within(after, path), within(found, path)).map((wrong) => `it ended, and ${wrong}`),
  );

/** Lists a record's merges that are not done. @param {string} file */
export const unfinished = (file) => {
  if (!existsSync(file)) return [];
  const { state, merges } = JSON.parse(readFileSync(file, 'utf8'));
  const isDone = [state, ...merges.map((/** @type {{ state: string }} */ merge) => merge.state)].every(
    (one) => one === 'done',
  );
  return isDone ? [] : [`it ended, and ${basename(file)} says otherwise`];
};

/**
 * Checks that merges reported as done exist. @param {Outcome} outcome @param {string} work @param {Reference}
 * reference @param {Tree} found
 */
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
 * Makes the claims in a directory look like those of ended processes, as after a kill.
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
