// @ts-check
// Shows that two builds write the same bytes: node test/peers/same-bytes.mjs OLD_TREE NEW_TREE [--work DIR] [--only PATTERN] [--isa avx2,scalar] [--threads 1,2] [--details]
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { writeCheckpoints } from './same-bytes/checkpoints.mjs';

/** @typedef {import('./same-bytes/recorder.mjs').Groups} Results */

const program = fileURLToPath(new URL('same-bytes/run-tree.mjs', import.meta.url));

/** An instruction set (the best if empty) and threads of a merge. @typedef {{ isa: string, threads: string }} Way */

/**
 * Runs a tree's build over the models of one dtype. @param {string} tree @param {string} work @param {string}
 * dtype @param {string} only @param {Way} way @returns {Promise<Results>}
 */
const runPart = async (tree, work, dtype, only, { isa, threads }) => {
  // Runs both trees at one path in turn, since links to inputs count: the inputs are the same files.
  const [root, results] = [join(work, `run-${dtype}`), join(work, `${dtype}.json`)];
  const child = spawn(
    process.execPath,
    [program, resolve(tree), join(work, 'models'), root, results, dtype, only, threads],
    {
      stdio: ['ignore', 'inherit', 'inherit'],
      env: { ...process.env, ...(isa === '' ? {} : { LAYERLOOM_ISA: isa }) },
    },
  );
  const code = await new Promise((done) => child.on('close', done));
  rmSync(root, { recursive: true, force: true });
  if (code !== 0) throw new Error(`${tree} did not come to the end`);
  return JSON.parse(readFileSync(results, 'utf8'));
};

/** @param {string} tree @param {string} work @param {string} only @returns {Promise<Results>} */
const runTree = async (tree, work, only) => {
  /** @type {Results} */
  const all = {};
  for (const way of ways) {
    const parts = await Promise.all(['BF16', 'F32'].map((dtype) => runPart(tree, work, dtype, only, way)));
    const of = ways.length === 1 ? '' : `, ${way.isa} ${way.threads}`;
    for (const [group, outputs] of parts.flatMap(Object.entries))
      all[group + of] = { ...all[group + of], ...outputs };
  }
  return all;
};

const isWeights = (/** @type {string} */ file) => file.endsWith('.safetensors');

/** @param {Results} old @param {Results} now */
const compare = (old, now) =>
  [...new Set([...Object.keys(old), ...Object.keys(now)])].map((group) => {
    const [before, after] = [old[group] ?? {}, now[group] ?? {}];
    const outputs = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    let [files, weights] = [0, 0];
    /** @type {string[]} */
    const different = [];
    for (const output of outputs) {
      const [one = {}, other = {}] = [before[output], after[output]];
      for (const file of new Set([...Object.keys(one), ...Object.keys(other)])) {
        files += 1;
        if (isWeights(file)) weights += 1;
        if (one[file] !== other[file]) different.push(`${output}: ${file}`);
      }
    }
    // Weights first: only the first three are shown.
    different.sort((one, other) => Number(isWeights(other)) - Number(isWeights(one)));
    return { group, outputs: outputs.length, files, weights, different };
  });

/** Operations that wrote nothing although they should. @param {Results} results */
const refusedIn = (results) =>
  Object.entries(results)
    .filter(([group]) => !group.startsWith('refusals'))
    .flatMap(([group, outputs]) =>
      Object.entries(outputs)
        .filter(([, files]) => '(error)' in files)
        .map(([output, files]) => `${group} ${output}: ${files['(error)']}`),
    );

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    work: { type: 'string' },
    details: { type: 'boolean' },
    only: { type: 'string', default: '' },
    isa: { type: 'string', default: '' },
    threads: { type: 'string', default: '1' },
  },
});
/** @type {Way[]} */
const ways = values.isa
  .split(',')
  .flatMap((isa) => values.threads.split(',').map((threads) => ({ isa, threads })));
const [oldTree, newTree] = positionals;
if (oldTree === undefined || newTree === undefined) {
  console.error(
    'usage: node test/peers/same-bytes.mjs OLD_TREE NEW_TREE [--work DIR] [--only PATTERN] [--isa avx2,scalar] [--threads 1,2] [--details]',
  );
  process.exit(2);
}
const parent = resolve(values.work ?? tmpdir());
mkdirSync(parent, { recursive: true });
const work = mkdtempSync(join(parent, 'same-bytes-'));
try {
  writeCheckpoints(join(work, 'models'));
  const old = await runTree(oldTree, work, values.only);
  const now = await runTree(newTree, work, values.only);
  const rows = compare(old, now);
  const shown = values.details ? Number.POSITIVE_INFINITY : 3;
  console.log('| group | outputs | files | equal | different |\n| --- | ---: | ---: | ---: | --- |');
  for (const { group, outputs, files, different } of rows) {
    const names = different.slice(0, shown).join(', ') + (different.length > shown ? ', …' : '');
    const said = different.length === 0 ? '0' : `${different.length}: ${names}`;
    console.log(`| ${group} | ${outputs} | ${files} | ${files - different.length} | ${said} |`);
  }
  const count = (/** @type {(row: (typeof rows)[number]) => number} */ of) =>
    rows.reduce((sum, row) => sum + of(row), 0);
  const differing = count(({ different }) => different.length);
  const files = count((row) => row.files);
  console.log(`| all | ${count((row) => row.outputs)} | ${files} | ${files - differing} | ${differing} |`);
  const others = count(({ different }) => different.filter(isWeights).length);
  console.log(`${count(({ weights }) => weights)} are safetensors, of which ${others} differ`);
  const refused = refusedIn(old);
  if (refused.length > 0) console.log(`refused by ${oldTree}, and so not compared: ${refused.join('; ')}`);
  process.exitCode = differing === 0 && refused.length === 0 ? 0 : 1;
} finally {
  rmSync(work, { recursive: true, force: true });
}
