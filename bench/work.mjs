// @ts-check
// Counts the work of commands, in this tree and at another commit.
//
//   npm run bench:work -- COMMIT [--only soup,ties] [--dir DIR]
//
// On a noisy machine, timing hides a loss of 10 %; counts repeat. For each command on small models:
//
// - instructions of the addon and of the rest (V8, Node, libc), by callgrind, which supports AVX2 but not
//   AVX-512: AVX2 kernels are counted
// - system calls on models, outputs and stores, and the bytes that they read and write, by strace; reads
//   through mappings count only as instructions
//
// Builds the commit's tree in --dir and keeps it. Exits with 1 if a count is more than 3 % above that
// commit's. Calls and bytes repeat exactly, the addon's instructions within 10⁻⁶, and the rest within 1 %,
// since V8 runs with --predictable.
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { makeSmallCheckpoints } from './lib/small-checkpoints.mjs';
import { here, treeAt } from './lib/tree-of.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: 'string' },
    dir: { type: 'string', default: join(tmpdir(), 'layerloom-work') },
  },
});

/** A larger share above the other commit's count is a loss. */
const tolerance = 0.03;

const { commit, tree: before } = treeAt(positionals[0] ?? 'HEAD', values.dir);
const trees = [before, here];

const models = join(values.dir, 'models');
const shape = {
  layers: 4,
  vocabulary: 1024,
  sizes: { hidden: 256, inner: 512, keyValue: 64, heads: /** @type {[number, number]} */ ([4, 1]) },
};
makeSmallCheckpoints(models, ['base', 'math', 'swh', 'ben'], shape);
const [base = '', math = '', swh = '', ben = ''] = ['base', 'math', 'swh', 'ben'].map((name) =>
  join(models, name),
);

/** A recipe in `models`. @param {string} method @param {string[]} [lines] @param {string[]} [experts] */
const recipe = (method, lines = [], experts = [math, swh]) => {
  const file = join(models, `${method}.yaml`);
  const text = [`merge_method: ${method}`, `base_model: ${base}`, 'models:'];
  for (const model of experts) text.push(`  - model: ${model}`, '    parameters: { weight: 0.5 }');
  writeFileSync(file, [...text, 'dtype: bfloat16', ...lines, ''].join('\n'));
  return file;
};
const density = ['parameters: { density: 0.6 }'];
const experiment = join(models, 'experiment.yaml');
writeFileSync(
  experiment,
  `base: ${base}
tasks: { math: ${math} }
languages: { swahili: { swh: ${swh} }, bengali: { ben: ${ben} } }
merges:
  - { name: swap, method: layer_swap, bottom: [1, 2], top: 1 }
  - { name: soup, method: soup }
  - { name: ties, method: ties, density: 0.6 }
`,
);

/** Command lines that write to `out`. @type {(out: string) => Record<string, string[]>} */
const commandsOf = (out) => ({
  help: ['--help'],
  swap: ['swap', '--task', math, '--lang', swh, '--bottom', '1', '--top', '1', '-o', out],
  soup: ['soup', math, swh, ben, '-o', out],
  slerp: ['merge', recipe('slerp', ['parameters: { t: 0.3 }'], [math]), '-o', out],
  ties: ['merge', recipe('ties', density), '-o', out],
  dare: ['merge', recipe('dare_ties', density), '-o', out],
  della: ['merge', recipe('della', density), '-o', out],
  sce: ['merge', recipe('sce'), '-o', out],
  quantised: ['soup', math, swh, '--quantize', 'fp8-block', '--base', base, '-o', out],
  relayout: ['relayout', math, '-o', out],
  adapter: ['extract-lora', math, '--base', base, '--rank', '8', '-o', out],
  analysis: ['analyze', math, swh, ben, '--base', base, '-o', out],
  diff: ['diff', math, swh],
  batch: ['batch', experiment, '-o', out],
});

/** Calls that touch files. Excludes thread synchronisation, which depends on timing. */
const traced =
  'openat,read,pread64,readv,preadv,write,pwrite64,writev,pwritev,copy_file_range,sendfile,mmap,ftruncate,fallocate,fsync,fdatasync,msync,rename,renameat2,link,linkat,symlink,unlink,unlinkat,mkdir,rmdir,stat,lstat,fstat,newfstatat,statx,getdents64,readlink,access,flock,fcntl,ioctl';
const [reading, writing] = [
  /^(p?readv?(64)?|sendfile|copy_file_range)$/,
  /^(p?writev?(64)?|copy_file_range)$/,
];

/** @param {string} command @param {string[]} args @param {NodeJS.ProcessEnv} env */
const run = (command, args, env) =>
  /** @type {Promise<void>} */ (
    new Promise((resolve, reject) => {
      const child = spawn(command, args, {
        env: { ...process.env, ...env },
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      let said = '';
      child.stderr.on('data', (chunk) => {
        said = (said + chunk).slice(-4000);
      });
      child.on('error', reject);
      child.on('close', (code) =>
        code === 0
          ? resolve()
          : reject(new Error(`${command} ${args.join(' ')} ended with ${code}\n${said}`)),
      );
    })
  );

/**
 * Counts calls of a per-thread trace on paths below `folders`, and their bytes.
 *
 * @param {string} directory
 * @param {string[]} folders
 */
const callsOf = (directory, folders) => {
  const count = { calls: 0, read: 0, written: 0 };
  for (const file of readdirSync(directory))
    for (const line of readFileSync(join(directory, file), 'utf8').split('\n')) {
      const [, name = '', result = ''] = /^(\w+)\(.*\) += (-?\d+)/.exec(line) ?? [];
      if (!folders.some((folder) => line.includes(folder))) continue;
      count.calls += 1;
      if (reading.test(name)) count.read += Math.max(0, Number(result));
      if (writing.test(name)) count.written += Math.max(0, Number(result));
    }
  return count;
};

/** Instructions in callgrind's file: of the addon, and of the rest. @param {string} file */
const instructionsOf = (file) => {
  /** Objects are named at first mention, then numbered. @type {Map<string, boolean>} */
  const isAddon = new Map();
  const count = { addon: 0, program: 0 };
  let [object, called] = ['', false];
  for (const line of readFileSync(file, 'latin1').split('\n')) {
    const [, kind, number = '', name] = /^(c?ob)=\((\d+)\)(?: (.*))?/.exec(line) ?? [];
    if (name !== undefined) isAddon.set(number, name.endsWith('layerloom.node'));
    if (kind === 'ob') object = number;
    else if (line.startsWith('calls=')) called = true;
    else if (/^[-+*\d]/.test(line)) {
      // The line after `calls=` is the callee's cost, which its own lines have too.
      if (!called) count[isAddon.get(object) ? 'addon' : 'program'] += Number(line.split(' ')[1]);
      called = false;
    }
  }
  return count;
};

/** @typedef {{ addon: number, program: number, calls: number, read: number, written: number }} Work */

/**
 * Returns the work of a command in a tree.
 *
 * @param {string} tree
 * @param {string} name
 * @param {string} scratch
 * @returns {Promise<Work>}
 */
const workOf = async (tree, name, scratch) => {
  const work = join(scratch, 'work');
  const [out, trace, grind] = [join(work, 'out'), join(scratch, 'trace'), join(scratch, 'callgrind')];
  const command = [join(tree, 'bin/layerloom.cjs'), ...(commandsOf(out)[name] ?? [])];
  const program = [process.execPath, '--predictable', ...command, ...(name === 'help' ? [] : ['--quiet'])];
  const env = {
    LAYERLOOM_ISA: 'avx2',
    ...{ XDG_CACHE_HOME: join(scratch, 'cache'), XDG_STATE_HOME: join(scratch, 'state') },
  };
  mkdirSync(work);
  // The first run compiles the program and caches the code; V8 makes other code for the processor that
  // valgrind emulates.
  await run('valgrind', ['-q', '--tool=none', '--smc-check=all-non-file', ...program], env);
  rmSync(work, { recursive: true, force: true });
  for (const path of [work, trace]) mkdirSync(path);
  await run(
    'strace',
    ['-ff', '-y', '-qq', '-e', `trace=${traced}`, '-o', join(trace, 'thread'), ...program],
    env,
  );
  rmSync(out, { recursive: true, force: true });
  await run(
    'valgrind',
    ['-q', '--tool=callgrind', '--smc-check=all-non-file', `--callgrind-out-file=${grind}`, ...program],
    env,
  );
  const counted = { ...instructionsOf(grind), ...callsOf(trace, [work, models]) };
  for (const path of [work, trace, grind]) rmSync(path, { recursive: true, force: true });
  return counted;
};

const whole = (/** @type {number} */ count) => count.toLocaleString('en-GB');
/** @type {(keyof Work)[]} */
const counts = ['addon', 'program', 'calls', 'read', 'written'];
const names = Object.keys(commandsOf('')).filter((name) => values.only?.split(',').includes(name) ?? true);
const scratch = trees.map(() => mkdtempSync(join(values.dir, 'run-')));
process.on('exit', () => {
  for (const path of scratch) rmSync(path, { recursive: true, force: true });
});

console.log(
  `| command | count | ${commit.slice(0, 7)} | this tree | ratio |\n| --- | --- | ---: | ---: | ---: |`,
);
let losses = 0;
for (const name of names) {
  const [before, now] = await Promise.all(
    trees.map((tree, index) => workOf(tree, name, scratch[index] ?? '')),
  );
  if (before === undefined || now === undefined) throw new Error('two trees');
  for (const count of counts) {
    const ratio = now[count] === before[count] ? 1 : now[count] / before[count];
    const lost = ratio > 1 + tolerance;
    if (lost) losses += 1;
    const text = lost ? `**${ratio.toFixed(3)}**` : ratio.toFixed(3);
    console.log(`| ${name} | ${count} | ${whole(before[count])} | ${whole(now[count])} | ${text} |`);
  }
}
console.log(
  `\n${losses} of ${names.length * counts.length} counts are more than ${100 * tolerance} % above ${commit.slice(0, 7)}`,
);
process.exitCode = losses > 0 ? 1 : 0;
