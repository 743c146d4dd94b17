// @ts-check
// Runs commands and watches what they cost.
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

/** A process and all below it, by what its threads say: little work, so that watching does not slow what is watched. @param {number} root @returns {number[]} */
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
 * Runs a command to its end. Private memory is the most RssAnon that its tree had, sampled every 20 ms: mapped files are the
 * page cache's and not counted. The peak is the most resident memory of its first process, as the kernel kept it (VmHWM), and its address space the most that it had mapped (VmPeak). Bytes are those that system calls moved (rchar, wchar), as of the last sample; what is read through
 * a mapping is not among them. Processor time is that of its first process, as of the last sample.
 *
 * @param {string} command @param {string[]} args @param {NodeJS.ProcessEnv} [env]
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
    // The 14th and 15th field, of which the second is a name in brackets; in hundredths of a second.
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
 * Fills a directory with so many bytes and empties it. A virtual machine may have given memory that it did not use back to its
 * host, and gets it again at a fifth of the speed: no job shall pay for that which another does not.
 *
 * @param {string} directory on a tmpfs @param {number} bytes
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
