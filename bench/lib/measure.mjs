// @ts-check
// Runs commands and measures their cost.
import { spawn } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** @typedef {{ seconds: number, privateBytes: number, peakBytes: number, addressBytes: number, processorSeconds: number, readBytes: number, writtenBytes: number, stdout: string }} Cost */

/** @param {string} path */
const read = (path) => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // the process has just ended
  }
};

/** Names in a directory of /proc. @param {string} path */
const list = (path) => {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
};

/**
 * A process and its descendants, from its threads' lists of children: cheap, so that measuring does not slow
 * the process.
 *
 * @param {number} root
 * @returns {number[]}
 */
const treeOf = (root) => {
  const tree = [root];
  for (const pid of tree)
    for (const thread of list(`/proc/${pid}/task`))
      tree.push(
        ...read(`/proc/${pid}/task/${thread}/children`)
          .split(' ')
          .filter((child) => child !== '')
          .map(Number),
      );
  return tree;
};

const number = (/** @type {string} */ text, /** @type {RegExp} */ pattern) =>
  Number(pattern.exec(text)?.[1] ?? 0);

/**
 * Runs a command to its end. Private memory is the maximum RssAnon of its process tree, sampled every 20 ms;
 * mapped files do not count. For the first process: peak resident memory (VmHWM), peak address space
 * (VmPeak), and processor time. Bytes are those of system calls (rchar, wchar), without reads through
 * mappings. Times and bytes are those of the last sample.
 *
 * @param {string} command
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {Promise<Cost>}
 */
export const measure = async (command, args, env) => {
  const started = performance.now();
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  const ended = new Promise((resolve, reject) => child.on('close', resolve).on('error', reject));
  const cost = {
    privateBytes: 0,
    peakBytes: 0,
    addressBytes: 0,
    processorSeconds: 0,
    readBytes: 0,
    writtenBytes: 0,
  };
  const timer = setInterval(() => {
    const tree = treeOf(child.pid ?? 0);
    const total = (/** @type {(pid: number) => number} */ of) => tree.map(of).reduce((a, b) => a + b, 0);
    cost.privateBytes = Math.max(
      cost.privateBytes,
      total((pid) => number(read(`/proc/${pid}/status`), /^RssAnon:\s+(\d+)/m) * 1024),
    );
    const status = read(`/proc/${child.pid}/status`);
    cost.peakBytes = Math.max(cost.peakBytes, number(status, /^VmHWM:\s+(\d+)/m) * 1024);
    cost.addressBytes = Math.max(cost.addressBytes, number(status, /^VmPeak:\s+(\d+)/m) * 1024);
    // Fields 14 and 15, in hundredths of a second. Field 2 is a name in brackets.
    const [user = 0, system = 0] = read(`/proc/${child.pid}/stat`)
      .replace(/^.*\) /s, '')
      .split(' ')
      .slice(11, 13)
      .map(Number);
    cost.processorSeconds = Math.max(cost.processorSeconds, (user + system) / 100);
    cost.readBytes = Math.max(
      cost.readBytes,
      total((pid) => number(read(`/proc/${pid}/io`), /^rchar: (\d+)/m)),
    );
    cost.writtenBytes = Math.max(
      cost.writtenBytes,
      total((pid) => number(read(`/proc/${pid}/io`), /^wchar: (\d+)/m)),
    );
  }, 20);
  const code = await ended;
  const seconds = (performance.now() - started) / 1000;
  clearInterval(timer);
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}\n${stderr.slice(-2000)}`);
  return { seconds, ...cost, stdout };
};

/**
 * Fills a directory with bytes and empties it. A virtual machine may have returned unused memory to its host,
 * and gets it back at a fifth of the speed; no single job should pay for that.
 *
 * @param {string} directory on a tmpfs
 * @param {number} bytes
 */
export const prime = (directory, bytes) => {
  const block = Buffer.alloc(16 * 1024 * 1024, 1);
  const path = join(directory, 'prime');
  const file = openSync(path, 'w');
  for (let written = 0; written < bytes; written += block.length) writeSync(file, block);
  closeSync(file);
  rmSync(path);
};

/** @param {readonly number[]} numbers */
export const median = (numbers) => {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1
    ? (sorted[middle] ?? Number.NaN)
    : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
};
