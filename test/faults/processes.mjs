// @ts-check
// Runs workloads under faults in separate processes, with threads and real kills:
//
//   node test/faults/processes.mjs [--seeds FIRST:COUNT] [--workload NAME] [--program DIRECTORY]
//   [--until-found] [-v]
//
// Prints like simulate.mjs. `--program` is a directory with bin/ and dist/; default: this repository.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { faultsOf } from './choose.mjs';
import { Hub, withoutCaches } from './hub.mjs';
import {
  common,
  endProcesses,
  lost,
  wrongRecords,
  wrongReports,
  wrongResult,
  wrongWholes,
  wrongWords,
} from './invariants.mjs';
import { startPatience } from './patience.mjs';
import { byName, library, lineOf } from './seam.mjs';
import { copyTree, treeOf } from './tree.mjs';
import { emptied, processWorkloads, writeInputs } from './workloads.mjs';

/** @import { Call, Fault, Fired } from './seam.mjs' */
/** @import { Outcome, Reference } from './invariants.mjs' */
/** @import { Workload } from './workloads.mjs' */

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1:100' },
    workload: { type: 'string' },
    program: { type: 'string', default: fileURLToPath(new URL('../..', import.meta.url)) },
    'until-found': { type: 'boolean', default: false },
    verbose: { type: 'boolean', short: 'v', default: false },
  },
});

const patienceMs = 30_000;

const root = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'layerloom-faults-'));
const sandbox = join(root, 'sandbox');
const place = { inputs: join(sandbox, 'inputs'), work: join(sandbox, 'work') };
const { work } = place;
const command = join(values.program, 'bin/layerloom.cjs');

/**
 * Runs a command line.
 *
 * @param {readonly string[]} words
 * @param {readonly string[]} [lines] control lines; without them the library is not loaded
 * @param {Readonly<Record<string, string>>} [more] variables
 * @returns {Promise<Outcome & { readonly signal: string | null; readonly isLate: boolean }>}
 */
const run = (words, lines, more = {}) =>
  new Promise((resolve) => {
    const isCaching = existsSync(join(work, 'cache'));
    const file = join(root, 'lines');
    if (lines !== undefined)
      writeFileSync(file, ['begin', `root\t${sandbox}`, ...lines, 'on', ''].join('\n'));
    const seam = lines === undefined ? {} : { LAYERLOOM_FAULTS: file, LD_PRELOAD: library };
    const child = spawn(process.execPath, [command, ...words, '--json'], {
      env: {
        ...{ PATH: process.env['PATH'] ?? '', HOME: join(root, 'home'), TMPDIR: join(root, 'tmp') },
        // Compiled code is shared between commands, except if it is the subject.
        XDG_CACHE_HOME: isCaching ? join(work, 'cache') : join(root, 'cache'),
        ...{ XDG_STATE_HOME: join(root, 'state'), ...seam, ...hub.variables(place), ...more },
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const printed = { stdout: '', stderr: '' };
    child.stdout.on('data', (text) => {
      printed.stdout += text;
    });
    child.stderr.on('data', (text) => {
      printed.stderr += text;
    });
    let isLate = false;
    const done = startPatience(patienceMs, child.pid ?? 0, () => {
      isLate = true;
      child.kill('SIGKILL');
    });
    child.on('close', (code, signal) => {
      done();
      resolve({ code: code ?? undefined, signal, isLate, ...printed });
    });
  });

/** @param {readonly string[]} words */
const right = async (words) => {
  const outcome = await run(words);
  if (outcome.code !== 0) throw new Error(`${words.join(' ')} failed without a fault: ${outcome.stderr}`);
};

/**
 * Compiled code varies between runs, and a command that cannot write it stays silent.
 * @param {ReturnType<typeof treeOf>} tree
 */
const withoutCache = (tree) =>
  withoutCaches(new Map([...tree].filter(([name]) => !name.startsWith('cache/'))));

/**
 * Network faults happen once, because a permanent fault would be retried for minutes. @param {Fault} fault @returns
 * {Fault}
 */
const passing = ({ onwards, ...fault }) =>
  onwards === undefined || /^(answer|connect|lookup|receive|send)$/.test(fault.kind)
    ? fault
    : { ...fault, onwards };

/** @type {Map<string, { readonly template: string; readonly calls: readonly Call[]; readonly reference: Reference }>} */
const known = new Map();

/** @param {string} name */
const learn = async (name) => {
  const workload = /** @type {Workload} */ (processWorkloads[name]);
  const template = join(root, 'templates', name);
  emptied(work);
  await workload.prepare?.(place, right);
  copyTree(work, template);
  const trees = [];
  /** @type {Call[]} */
  let calls = [];
  for (let time = 0; time < 2; time += 1) {
    emptied(work);
    copyTree(template, work);
    const file = join(root, 'trace');
    rmSync(file, { force: true });
    hub.begin(workload.hub, place);
    const outcome = await run(workload.command(place), ['trace', `trace-file\t${file}`]);
    if (outcome.code !== 0) throw new Error(`${name} failed without a fault: ${outcome.stderr}`);
    calls = readFileSync(file, 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => {
        const [kind = '', path = '', occurrence] = line.split('\t');
        return { kind, path, occurrence: Number(occurrence) };
      });
    if (workload.hub !== undefined) calls = [...calls, ...hub.calls].sort(byName);
    trees.push(withoutCache(treeOf(work)));
  }
  const [one, other] = trees;
  if (one === undefined || other === undefined) throw new Error('too few runs');
  const after = common(one, other);
  for (const path of after.keys())
    if (path.endsWith('/.layerloom-lock') || (workload.hub && path.endsWith('/layerloom.json')))
      after.set(path, '?');
  for (const store of workload.stores ?? []) await right(['store', 'gc', join(work, store)]);
  const last = withoutCache(treeOf(work));
  const again = new Map([...last].map(([path, content]) => [path, after.get(path) === '?' ? '?' : content]));
  // A starting command reads its compiled code before libuv has threads; without these Node aborts.
  const isStart = name === 'compiled code';
  calls = calls.filter(({ kind }) => kind !== 'thread' || !isStart);
  return { template, calls, reference: { before: treeOf(template), after, again } };
};

const names = Object.keys(processWorkloads).filter((name) =>
  values.workload === undefined ? !processWorkloads[name]?.isSlow : name === values.workload,
);

/** @type {Record<string, number>} */
const kinds = {};

/** @param {number} seed */
const simulate = async (seed) => {
  const name = names[seed % names.length] ?? '';
  const workload = /** @type {Workload} */ (processWorkloads[name]);
  const of = known.get(name) ?? (await learn(name));
  known.set(name, of);
  const faults = faultsOf(seed, Math.floor(seed / names.length), of.calls, 'kill').map(passing);
  const { reference } = of;
  emptied(work);
  copyTree(of.template, work);
  const noted = join(root, 'fired');
  rmSync(noted, { force: true });
  hub.begin(workload.hub, place, faults);
  const lines = faults.filter(({ kind }) => kind !== 'answer').map(lineOf);
  const outcome = await run(workload.command(place), [...lines, `fired-file\t${noted}`]);
  /** @type {Fired[]} */
  const happened = existsSync(noted)
    ? readFileSync(noted, 'utf8')
        .split('\n')
        .filter(Boolean)
        .map((line) => {
          const [kind = '', path = '', , number] = line.split('\t');
          return { kind, path, action: 'fail', number: Number(number) };
        })
    : [];
  happened.push(...hub.fired);
  hub.resume();
  for (const { kind } of happened) kinds[kind] = (kinds[kind] ?? 0) + 1;
  const isDead = outcome.signal === 'SIGKILL' && !outcome.isLate;
  if (isDead) kinds['kill'] = (kinds['kill'] ?? 0) + 1;
  const isCopied = happened.some(({ kind }) => kind === 'link');
  const found = withoutCache(treeOf(work));
  const wholes = workload.wholes ?? [];
  const wrong = [
    ...(outcome.isLate ? [`did not end in ${patienceMs / 1000} s`] : []),
    ...(outcome.signal !== null && !isDead && !outcome.isLate ? [`ended by ${outcome.signal}`] : []),
    ...wrongWords(outcome, happened, root),
    ...(isCopied ? [] : wrongWholes(wholes, reference, found)),
    ...wrongRecords(work, found),
    ...(isCopied ? [] : wrongReports(outcome, work, reference, found)),
    ...hub.wrong(workload.hub, place, outcome.code === 0, outcome.stdout),
  ];
  for (const store of workload.stores ?? []) {
    if (!existsSync(join(work, store, 'layerloom-store.json'))) continue;
    const { code, stdout } = await run(['store', 'verify', join(work, store)]);
    if (code !== 0 && /"reason"/.test(stdout)) wrong.push(`${store}: ${stdout}`);
  }
  if (outcome.code === 0 && !isCopied) wrong.push(...wrongResult(reference.after, found, outcome.stderr));
  const isLeft = wrong.length > 0 && wrong.every((one) => one.endsWith('is left over'));
  if (isLeft || (outcome.code !== 0 && wrong.length === 0)) {
    wrong.length = 0;
    const isThere = wholes.length > 0 && wholes.every((path) => found.has(path));
    const { again = () => [...workload.command(place), '--resume'] } = workload;
    const words = isThere && workload.onceMore !== undefined ? workload.onceMore(place) : again(place);
    endProcesses(work);
    const recovered = await run(words, ['age\t600']);
    for (const store of workload.stores ?? []) await run(['store', 'gc', join(work, store)], ['age\t600']);
    if (recovered.code !== 0)
      wrong.push(`afterwards it failed: ${recovered.stderr.trim() || recovered.stdout.trim()}`);
    else if (!isCopied)
      wrong.push(
        ...wrongResult(reference.again, withoutCache(treeOf(work)), recovered.stderr).map(
          (one) => `afterwards ${one}`,
        ),
        ...hub.wrong(workload.hub, place, true, recovered.stdout),
      );
  }
  if (wrong.length === 0 && workload.hub?.offline !== undefined) {
    hub.resume();
    const offline = await run(workload.hub.offline(place), undefined, { HF_HUB_OFFLINE: '1' });
    if (offline.code !== 0) wrong.push(`without a network: ${offline.stderr.trim()}`);
    wrong.push(...hub.calls.map(({ path }) => `without a network: it asks for ${path}`));
    for (const path of wholes) wrong.push(...lost([path], reference, withoutCache(treeOf(work))));
  }
  const message = `${outcome.code ?? outcome.signal}: ${outcome.stderr.trim().split('\n').slice(-2).join(' | ')}`;
  return { name, faults, wrong, message };
};

for (const name of ['tmp', 'state', 'home', 'cache']) mkdirSync(join(root, name), { recursive: true });
writeInputs(place);
const hub = await Hub.start(root);
const [first = 1, count = 1] = values.seeds.split(':').map(Number);
const began = performance.now();
let found = 0;
let last = first - 1;
try {
  for (let seed = first; seed < first + count; seed += 1) {
    const { name, faults, wrong, message } = await simulate(seed);
    last = seed;
    if (values.verbose) console.log(seed, name, JSON.stringify(faults), message);
    if (wrong.length === 0) continue;
    found += 1;
    console.log(
      [
        `seed ${seed}, ${name}: ${wrong.join('; ')}`,
        `  faults: ${faults.map((fault) => Object.values(fault).join(' ')).join(', ')}`,
        `  said: ${message}`,
        `  repeat: node test/faults/${basename(import.meta.url)} --seeds ${seed}:1${values.workload === undefined ? '' : ` --workload '${values.workload}'`} -v`,
      ].join('\n'),
    );
    if (values['until-found']) break;
  }
} finally {
  await hub.server.close();
  rmSync(root, { recursive: true, force: true });
}
console.log(
  `${last - first + 1} processes under faults, ${found} of which broke an invariant; ${((performance.now() - began) / 1000).toFixed(0)} s; ` +
    `faults that came to pass ${JSON.stringify(kinds)}`,
);
process.exitCode = found === 0 ? 0 : 1;
