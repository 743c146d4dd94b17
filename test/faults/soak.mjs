// @ts-check
// A batch of thousands of merges that is killed every few seconds and restarted, until all are made:
//
//   node test/faults/soak.mjs [--merges 10000] [--seconds 4] [--directory DIRECTORY] [--seed 1]
//
// Prints open files and private memory of a process at its death, and leftovers of earlier ones on disk. At
// the end checks that every merge exists, that the store is whole, that some merges equal separately made
// ones, and that none of the figures grew.
import { spawn, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { diceOf } from './choose.mjs';
import { leftover } from './invariants.mjs';
import { writeInputs } from './workloads.mjs';

const { values } = parseArgs({
  options: {
    merges: { type: 'string', default: '10000' },
    seconds: { type: 'string', default: '4' },
    directory: { type: 'string', default: existsSync('/dev/shm') ? '/dev/shm' : tmpdir() },
    seed: { type: 'string', default: '1' },
  },
});

const command = fileURLToPath(new URL('../../bin/layerloom.cjs', import.meta.url));
const root = mkdtempSync(join(values.directory, 'layerloom-soak-'));
const [inputs, work] = [join(root, 'inputs'), join(root, 'work')];
const out = join(work, 'study');
const merges = Number(values.merges);
const dice = diceOf(Number(values.seed));

mkdirSync(work, { recursive: true });
writeInputs({ inputs, work });
const pairs = Math.ceil(merges / 2);
writeFileSync(
  join(work, 'study.json'),
  JSON.stringify({
    tasks: { 'math-1': join(inputs, 'math-1'), 'math-2': join(inputs, 'math-2') },
    languages: { swahili: { 'swh-1': join(inputs, 'swh-1') } },
    merges: [
      {
        ...{ name: 'swap', method: 'layer_swap', bottom: 1, top: 1 },
        weights: Array.from({ length: pairs }, (_, index) => [index + 1, 1]),
      },
    ],
  }),
);

const environment = {
  ...process.env,
  ...{ XDG_CACHE_HOME: join(root, 'cache'), XDG_STATE_HOME: join(root, 'state') },
};

/** Open files, and private memory in MB, of a process; undefined if it has ended. @param {number} pid */
const stateOf = (pid) => {
  try {
    const memory = /^RssAnon:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return { files: readdirSync(`/proc/${pid}/fd`).length, memory: Number(memory) / 1000 };
  } catch {
    return undefined;
  }
};

/**
 * Counts an experiment's entries, and leftovers of interrupted commands older than a time. @param {number}
 * time
 */
const leftBefore = (time) => {
  const names = readdirSync(out, { recursive: true, encoding: 'utf8' });
  const left = names.filter((name) => leftover.test(name) || name.includes('.claim'));
  const old = left.filter((name) => {
    const found = statSync(join(out, name), { throwIfNoEntry: false });
    return found !== undefined && found.mtimeMs < time;
  });
  return { entries: names.length, left: old.length };
};

/**
 * Runs the batch until it ends or is killed. @param {number} killedAfter milliseconds after its first new
 * merge
 */
const live = (killedAfter) =>
  /** @type {Promise<{ code: number | null; state: ReturnType<typeof stateOf>; said: string }>} */ (
    new Promise((resolve) => {
      const child = spawn(
        process.execPath,
        [command, 'batch', join(work, 'study.json'), '-o', out, '--resume', '--json'],
        { env: environment, stdio: ['ignore', 'pipe', 'pipe'] },
      );
      let said = '';
      /** @type {ReturnType<typeof stateOf>} */
      let state;
      /** @type {NodeJS.Timeout | undefined} */
      let timer;
      child.stdout.on('data', (text) => {
        if (/"new":[1-9]/.test(String(text)))
          timer ??= setTimeout(() => {
            state = stateOf(child.pid ?? 0);
            child.kill('SIGKILL');
          }, killedAfter);
      });
      child.stderr.on('data', (text) => {
        said += text;
      });
      child.on('close', (code) => {
        clearTimeout(timer);
        resolve({ code, state, said });
      });
    })
  );

/** @param {readonly string[]} words */
const run = (words) =>
  spawnSync(process.execPath, [command, ...words], {
    ...{ env: environment, encoding: /** @type {const} */ ('utf8'), maxBuffer: 1 << 30 },
  });

const began = performance.now();
/** @type {{ files: number; memory: number; left: number }[]} */
const deaths = [];
const wrong = [];
for (;;) {
  const wanted = Number(values.seconds) * (0.5 + dice.below(100) / 100);
  const begun = Date.now();
  const { code, state, said } = await live(1000 * wanted);
  if (code !== null && code !== 0) wrong.push(`it ended with ${code}: ${said.trim()}`);
  if (code !== null) break;
  const { entries, left } = leftBefore(begun);
  if (state !== undefined) deaths.push({ ...state, left });
  if (deaths.length % 10 === 0)
    console.log(
      `${((performance.now() - began) / 1000).toFixed(0)} s: killed ${deaths.length} times; ${state?.files} open files, ` +
        `${state?.memory.toFixed(0)} MB private, ${entries} entries, ${left} of them left by those killed before`,
    );
}

const record = JSON.parse(readFileSync(join(out, 'experiment.json'), 'utf8'));
const isDone = record.merges.filter((/** @type {{ state: string }} */ { state }) => state === 'done').length;
if (isDone !== pairs * 2) wrong.push(`${isDone} of ${pairs * 2} merges are done`);
const verified = run(['store', 'verify', out, '--json']);
if (verified.status !== 0) wrong.push(`the store: ${verified.stdout.slice(-300)}${verified.stderr}`);
const collected = run(['store', 'gc', out, '--json']);
if (collected.status !== 0) wrong.push(`the collection: ${collected.stderr}`);
const names = readdirSync(out, { recursive: true, encoding: 'utf8' });
const lasting = names.filter((name) => leftover.test(name));
// Claims younger than two minutes may belong to another host.
const old = lasting.filter((name) => Date.now() - statSync(join(out, name)).mtimeMs > 130_000);
if (old.length > 0) wrong.push(`${old.length} files are left over, ${old[0]} the first`);
for (let time = 0; time < 20; time += 1) {
  const { path, name } = dice.one(/** @type {{ path?: string; name: string }[]} */ (record.merges));
  const verdict = run(['verify', join(out, path ?? name), '--against-inputs']);
  if (verdict.status !== 0) wrong.push(`${name}: ${verdict.stdout}${verdict.stderr}`);
}
for (const [of, slack] of /** @type {const} */ ([
  ['files', 64],
  ['memory', 20],
  ['left', 2],
])) {
  const most = (/** @type {typeof deaths} */ some) => Math.max(0, ...some.map((one) => one[of]));
  const half = Math.ceil(deaths.length / 2);
  const [first, last] = [most(deaths.slice(0, half)), most(deaths.slice(half))];
  console.log(
    `${of}: at most ${first.toFixed(0)} in the first half of ${deaths.length} deaths, ${last.toFixed(0)} in the second`,
  );
  if (last > first * 1.25 + slack) wrong.push(`${of} grew`);
}
rmSync(root, { recursive: true });
for (const one of wrong) console.log(`wrong: ${one}`);
console.log(
  `${isDone} merges, killed ${deaths.length} times in ${((performance.now() - began) / 1000).toFixed(0)} s; ${wrong.length} wrong`,
);
process.exitCode = wrong.length === 0 ? 0 : 1;
