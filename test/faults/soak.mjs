// @ts-check
// A batch of thousands of merges that is killed every few seconds and begun again, until all are made:
//
//   node test/faults/soak.mjs [--merges 10000] [--seconds 4] [--directory DIRECTORY]
//
// Prints, as it goes, open files and private memory of the process at its death, and what of the dead is left on the disk; and
// checks at the end that every merge is there, that the store is whole, that some of the merges are what a merge of their own
// makes, and that neither grew.
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
const [inputs, work, out] = ['inputs', 'work', 'work/study'].map((name) => join(root, name));
if (inputs === undefined || work === undefined || out === undefined) throw new Error('no directories');
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

/** Open files, and private memory in MB, of a process; undefined where it has ended. @param {number} pid */
const stateOf = (pid) => {
  try {
    const memory = /^RssAnon:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return { files: readdirSync(`/proc/${pid}/fd`).length, memory: Number(memory) / 1000 };
  } catch {
    return undefined;
  }
};

/** Files of the experiment, and those among them that only interrupted commands leave. */
const leftOver = () => {
  const names = readdirSync(out, { recursive: true, encoding: 'utf8' });
  const left = names.filter((name) =>
    /\/(claims|partial)\/.|\.(partial|incomplete)$|\.layerloom-(partial|removed|former|batch)|\.claim/.test(
      name,
    ),
  );
  return { files: names.length, left: left.length };
};

/** Runs the batch until it has ended or is killed. @param {number} killedAfter milliseconds behind its first sign of merging */
const live = (killedAfter) =>
  /** @type {Promise<{ code: number | null; done: number; state: ReturnType<typeof stateOf>; said: string }>} */ (
    new Promise((resolve) => {
      const child = spawn(
        process.execPath,
        [command, 'batch', join(work, 'study.json'), '-o', out, '--resume', '--json'],
        { env: environment, stdio: ['ignore', 'pipe', 'pipe'] },
      );
      let [done, said] = [0, ''];
      /** @type {ReturnType<typeof stateOf>} */
      let state;
      /** @type {NodeJS.Timeout | undefined} */
      let timer;
      child.stdout.on('data', (text) => {
        done += String(text).split('"state":"done"').length - 1;
        if (/"event":"(progress|merge)"/.test(String(text)))
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
        resolve({ code, done, state, said });
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
let made = 0;
for (;;) {
  const wanted = Number(values.seconds) * (0.5 + dice.below(100) / 100);
  const { code, done, state, said } = await live(1000 * wanted);
  made += done;
  if (code !== null && code !== 0) wrong.push(`it ended with ${code}: ${said.trim()}`);
  if (code !== null) break;
  const { files, left } = existsSync(out) ? leftOver() : { files: 0, left: 0 };
  if (state !== undefined) deaths.push({ ...state, left });
  if (deaths.length % 10 === 0)
    console.log(
      `${((performance.now() - began) / 1000).toFixed(0)} s: killed ${deaths.length} times, ${made} merges; ` +
        `${state?.files} open files, ${state?.memory.toFixed(0)} MB private, ${files} entries, ${left} of them left by the dead`,
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
const lasting = names.filter((name) => /\/(claims|partial)\/.|\.layerloom-(partial|batch)/.test(name));
// Younger ones than two minutes may be of another host.
const old = lasting.filter((name) => Date.now() - statSync(join(out, name)).mtimeMs > 130_000);
if (old.length > 0) wrong.push(`${old.length} files are left over, ${old[0]} the first`);
for (let time = 0; time < 20; time += 1) {
  const { path, name } = dice.one(/** @type {{ path?: string; name: string }[]} */ (record.merges));
  const verdict = run(['verify', join(out, path ?? name), '--against-inputs']);
  if (verdict.status !== 0) wrong.push(`${name}: ${verdict.stdout}${verdict.stderr}`);
}
/** Means of the first and the last quarter. @param {'files' | 'memory' | 'left'} of */
const growth = (of) => {
  const quarter = Math.max(1, Math.floor(deaths.length / 4));
  const mean = (/** @type {typeof deaths} */ some) =>
    some.reduce((sum, one) => sum + one[of], 0) / some.length;
  return /** @type {const} */ ([mean(deaths.slice(0, quarter)), mean(deaths.slice(-quarter))]);
};
for (const [of, most] of /** @type {const} */ ([
  ['files', 1.2],
  ['memory', 1.2],
  ['left', 1.5],
])) {
  const [first, last] = growth(of);
  console.log(
    `${of}: ${first.toFixed(1)} in the first quarter of ${deaths.length} deaths, ${last.toFixed(1)} in the last`,
  );
  if (last > first * most + 8) wrong.push(`${of} grew`);
}
rmSync(root, { recursive: true });
for (const one of wrong) console.log(`wrong: ${one}`);
console.log(
  `${isDone} merges, killed ${deaths.length} times in ${((performance.now() - began) / 1000).toFixed(0)} s; ${wrong.length} wrong`,
);
process.exitCode = wrong.length === 0 ? 0 : 1;
