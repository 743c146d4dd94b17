// @ts-check
// Workloads under faults in this process, with the library of preload.cpp loaded.
import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { constants } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { diceOf, faultsOf } from './choose.mjs';
import { Disk, entriesOf } from './disk.mjs';
import { Hub, withoutCaches } from './hub.mjs';
import {
  common,
  endProcesses,
  leftOpen,
  leftover,
  lost,
  openPaths,
  unfinished,
  wrongRecords,
  wrongReports,
  wrongResult,
  wrongWholes,
  wrongWords,
} from './invariants.mjs';
import { startPatience } from './patience.mjs';
import { byName, calls, fired, lineOf, say } from './seam.mjs';
import { copyTree, settledTreeOf, treeOf } from './tree.mjs';
import { emptied, workloads, writeInputs } from './workloads.mjs';

/** @import { Call } from './seam.mjs' */
/** @import { Outcome, Reference } from './invariants.mjs' */
/** @import { Tree } from './tree.mjs' */
/** @import { Place, Workload } from './workloads.mjs' */

/**
 * The simulated program: its functions, and the root directory.
 *
 * @typedef {object} Program
 * @property {string} root
 * @property {(words: readonly string[]) => Promise<number>} runCommandLine
 * @property {typeof import('../../src/study/store/shard-store.js').ShardStore} ShardStore
 */

/**
 * Results of runs of a workload without faults.
 *
 * @typedef {object} Known
 * @property {string} template initial directory
 * @property {readonly Call[]} calls
 * @property {ReturnType<typeof startOf>} start initial contents of the disk
 * @property {readonly import('./disk.mjs').Entry[]} entries changes of the disk
 * @property {Reference} reference
 */

const patienceMs = 30_000;

/**
 * The user's command after a failure. If the output exists, the process died after making it; making it again
 * then also removes the dead process's leftovers.
 *
 * @param {Workload} workload @param {Place} place @param {boolean} isThere
 */
const againOf = (
  { command, again = () => [...command(place), '--resume'], onceMore = again },
  place,
  isThere,
) => (isThere ? onceMore(place) : again(place));

/** A tree without the difference between linked and copied shards. @param {Tree} tree @returns {Tree} */
const withoutLinks = (tree) =>
  new Map(
    [...tree]
      .filter(([name]) => !name.includes('/shards/'))
      .map(([name, content]) => [name, name.endsWith('/layerloom.json') ? '?' : content]),
  );

/** A directory's contents as a disk has them. @param {string} directory */
const startOf = (directory) => {
  /** @type {ConstructorParameters<typeof Disk>[0][number][]} */
  const start = [];
  const visit = (/** @type {string} */ at) => {
    const path = relative(dirname(directory), at);
    const found = lstatSync(at);
    const facts = { path, inode: String(found.ino), time: found.mtimeMs / 1000 };
    if (found.isDirectory()) {
      start.push({ ...facts, content: 'directory' });
      for (const name of readdirSync(at)) visit(join(at, name));
    } else if (found.isSymbolicLink())
      start.push({ ...facts, content: Buffer.alloc(0), target: readlinkSync(at) });
    else start.push({ ...facts, content: readFileSync(at) });
  };
  visit(directory);
  return start;
};

export class Simulation {
  #program;
  #place;
  #notes;
  #names;
  #hub;
  /** @type {Map<string, Known>} */
  #known = new Map();
  /** Seeds by workload, and faults that happened by kind. @type {Record<string, number>} */
  counts = {};
  /** @type {Record<string, number>} */
  kinds = {};

  /** @param {Program} program @param {readonly string[]} names @param {Place} place @param {Hub} hub */
  constructor(program, names, place, hub) {
    this.#program = program;
    this.#names = names;
    this.#place = place;
    this.#hub = hub;
    this.#notes = join(program.root, 'notes');
  }

  /** @param {Program} program @param {string | undefined} only */
  static async start(program, only) {
    // The library watches this folder; the simulation's own files are beside it.
    const sandbox = join(program.root, 'sandbox');
    const place = { inputs: join(sandbox, 'inputs'), work: join(sandbox, 'work') };
    writeInputs(place);
    say('root', sandbox);
    const names = Object.keys(workloads).filter((name) =>
      only === undefined ? !workloads[name]?.isSlow : name === only,
    );
    const hub = await Hub.start(program.root);
    for (const port of hub.ports) say('server', port);
    Object.assign(process.env, hub.variables(place));
    return new Simulation(program, names, place, hub);
  }

  /** Runs a command and captures its output. @param {readonly string[]} words @returns {Promise<Outcome>} */
  async #command(words) {
    const printed = { stdout: '', stderr: '' };
    const [out, err] = [process.stdout.write, process.stderr.write];
    const into = (/** @type {'stdout' | 'stderr'} */ stream) =>
      /** @type {typeof process.stdout.write} */ (
        (text, ...rest) => {
          printed[stream] += String(text);
          // Marks the log: entries before it were done before the output.
          if (stream === 'stdout') say('mark', encodeURIComponent(String(text)));
          const last = rest.at(-1);
          if (typeof last === 'function') last();
          return true;
        }
      );
    process.stdout.write = into('stdout');
    process.stderr.write = into('stderr');
    let done = () => {};
    // The simulation's own calls bypass the library, which is faster.
    say('on');
    try {
      const code = await Promise.race([
        this.#program.runCommandLine([...words, '--json']),
        new Promise((resolve) => {
          done = startPatience(patienceMs, process.pid, () => resolve(undefined));
        }),
      ]);
      return { code: /** @type {number | undefined} */ (code), ...printed };
    } finally {
      done();
      say('off');
      process.stdout.write = out;
      process.stderr.write = err;
    }
  }

  /** Runs a command that must succeed. @param {readonly string[]} words */
  async #right(words) {
    const outcome = await this.#command(words);
    if (outcome.code !== 0) throw new Error(`${words.join(' ')} failed without a fault: ${outcome.stderr}`);
    return outcome;
  }

  /** @param {string} name */
  async #knownOf(name) {
    const known = this.#known.get(name) ?? (await this.#learn(name));
    this.#known.set(name, known);
    return known;
  }

  /** Runs a workload without faults to learn its start, calls and results. @param {string} name */
  async #learn(name) {
    const workload = /** @type {Workload} */ (workloads[name]);
    const { work } = this.#place;
    const template = join(this.#program.root, 'templates', name);
    say('begin');
    emptied(work);
    await workload.prepare?.(this.#place, (words) => this.#right(words));
    copyTree(work, template);
    const before = withoutCaches(treeOf(template));
    const log = join(this.#notes, 'log');
    const results = [];
    for (let run = 0; run < 2; run += 1) {
      emptied(work);
      copyTree(template, work);
      const start = startOf(work);
      this.#hub.begin(workload.hub, this.#place);
      say('begin');
      say('trace');
      say('log', log);
      const { stdout } = await this.#right(workload.command(this.#place));
      say('unlog');
      const entries = entriesOf(readFileSync(log));
      rmSync(log);
      results.push({
        ...{ start, entries },
        calls: [...calls(this.#notes), ...this.#hub.calls],
        tree: withoutCaches(treeOf(work)),
      });
      const wrong = this.#hub.wrong(workload.hub, this.#place, true, stdout);
      if (wrong.length > 0) throw new Error(`${name} without a fault: ${wrong.join(', ')}`);
    }
    const [first, second] = results;
    if (first === undefined || second === undefined) throw new Error('too few runs');
    const after = common(first.tree, second.tree);
    const unclean = [...after.keys()].find((path) => leftover.test(path));
    if (unclean !== undefined) throw new Error(`${name} leaves ${unclean} without a fault`);
    // The file names the process that works there, and may keep its text at the end.
    for (const path of after.keys()) if (path.endsWith('/.layerloom-lock')) after.set(path, '?');
    // The record names the model's cache, which changes once the model is whole.
    if (workload.hub !== undefined)
      for (const path of after.keys()) if (path.endsWith('/layerloom.json')) after.set(path, '?');
    // A verification of a store records missing checksums of shards.
    for (const path of after.keys()) if (/\/shards\/.*\.json$/.test(path)) after.set(path, '?');
    // A store's leftovers of dead processes are removed by its garbage collection.
    for (const store of workload.stores ?? []) await this.#right(['store', 'gc', join(work, store)]);
    const last = withoutCaches(treeOf(work));
    const again = common(
      last,
      new Map([...last].map(([path, content]) => [path, after.get(path) ?? content])),
    );
    // Requests at once come in any order.
    const inOrder = workload.hub === undefined ? second.calls : second.calls.toSorted(byName);
    const { start, entries } = second;
    return { template, calls: inOrder, start, entries, reference: { before, after, again } };
  }

  /** Runs a seed's workload under its faults, and checks the invariants. @param {number} seed */
  async run(seed) {
    const name = this.#names[seed % this.#names.length] ?? '';
    const workload = /** @type {Workload} */ (workloads[name]);
    const known = await this.#knownOf(name);
    const faults = faultsOf(seed, Math.floor(seed / this.#names.length), known.calls, 'freeze');
    const { work } = this.#place;
    const { root } = this.#program;
    emptied(work);
    copyTree(known.template, work);
    this.#hub.begin(workload.hub, this.#place, faults);
    say('begin');
    for (const fault of faults) if (fault.kind !== 'answer') say(lineOf(fault));
    const open = openPaths();
    const outcome = await this.#command(workload.command(this.#place));
    const happened = [...fired(this.#notes), ...this.#hub.fired];
    this.#hub.resume();
    say('begin');
    this.counts[name] = (this.counts[name] ?? 0) + 1;
    for (const { kind, action } of happened)
      this.kinds[`${kind} ${action}`] = (this.kinds[`${kind} ${action}`] ?? 0) + 1;
    const isDead = happened.some(({ action }) => action === 'freeze');
    // A command's process ends; every other seed is a program that continues after an error.
    if (isDead || seed % 2 === 0) endProcesses(work);

    const there = await settledTreeOf(work);
    // A shard with too many links is copied, which the record says.
    const isCopied = happened.some(
      ({ kind, number }) => kind === 'link' && number === constants.errno.EMLINK,
    );
    const seen = (/** @type {Tree} */ tree) => withoutCaches(isCopied ? withoutLinks(tree) : tree);
    const { before, after, again: afterwards } = known.reference;
    const reference = { before: seen(before), after: seen(after), again: seen(afterwards) };
    const found = seen(there);
    const wholes = workload.wholes ?? [];
    const wrong = [
      ...(outcome.code === undefined ? [`hung for ${patienceMs / 1000} s`] : []),
      ...(isDead ? [] : wrongWords(outcome, happened, root)),
      ...wrongWholes(wholes, reference, found),
      ...wrongRecords(work, found),
      ...(isDead ? [] : wrongReports(outcome, work, reference, found)),
      ...(await leftOpen(this.#program.root, open)),
      ...(await this.#wrongStores(workload)),
      ...this.#hub.wrong(workload.hub, this.#place, outcome.code === 0 && !isDead, outcome.stdout),
    ];
    // Unless a failure prevents removals, no staging remains except to be resumed.
    const mayRemove = happened.every(({ kind }) =>
      ['copy', 'map', 'sync', 'truncate', 'write'].includes(kind),
    );
    if (!isDead && mayRemove && outcome.code !== 0 && !workload.command(this.#place).includes('--resume'))
      wrong.push(
        ...[...found.keys()]
          .filter((path) => path.endsWith('.layerloom-partial'))
          .map((path) => `${path} stays`),
      );
    const isPart = workload.goesOnWithout?.test(outcome.stderr) ?? false;
    const isDone = outcome.code === 0 && !isDead && !isPart;
    // After skipping some models it may have scored more of the others, whose results stay.
    const isOther = (/** @type {string} */ one) => isPart && /\bevaluations\/.* is left over$/.test(one);
    if (isDone) wrong.push(...wrongResult(reference.after, found, outcome.stderr));
    // The next command must remove leftovers, when dead claims are minutes old.
    const isLeft = wrong.length > 0 && wrong.every((one) => one.endsWith('is left over'));
    if (isLeft || (!isDone && wrong.length === 0)) {
      say('age', 600);
      const isThere = wholes.every((path) => found.has(path));
      const again = await this.#command(againOf(workload, this.#place, isThere));
      for (const store of workload.stores ?? []) await this.#command(['store', 'gc', join(work, store)]);
      say('begin');
      wrong.length = 0;
      if (again.code !== 0) wrong.push(`afterwards it failed: ${again.stderr.trim() || again.stdout.trim()}`);
      else
        wrong.push(
          ...[
            ...wrongResult(reference.again, seen(treeOf(work)), again.stderr).filter((one) => !isOther(one)),
            ...this.#hub.wrong(workload.hub, this.#place, true, again.stdout),
          ].map((one) => `afterwards ${one}`),
        );
    }
    if (wrong.length === 0) wrong.push(...(await this.#wrongOffline(workload, reference)));
    const message = `${outcome.code}: ${outcome.stderr.trim().split('\n').slice(-3).join(' | ')}`;
    return { workload: name, faults, wrong, message };
  }

  /** Cuts the power in a seed's workload, and checks the invariants of the remains. @param {number} seed */
  async cut(seed) {
    const name = this.#names[seed % this.#names.length] ?? '';
    const workload = /** @type {Workload} */ (workloads[name]);
    const { start, entries, reference } = await this.#knownOf(name);
    const dice = diceOf(seed);
    const { work } = this.#place;
    // A fifth of the cuts follow the end: everything that the command reported must exist.
    const isDone = dice.below(5) === 0;
    // Half of the other cuts follow a change of names, on which most guarantees depend.
    const named = entries.flatMap(({ what }, index) =>
      /^(rename|exchange|link|unlink)$/.test(what) ? [index] : [],
    );
    const isNamed = named.length > 0 && dice.below(2) === 0;
    const end = isDone
      ? entries.length
      : isNamed
        ? Math.min(entries.length, dice.one(named) + 1 + dice.below(3))
        : dice.below(entries.length);
    const disk = new Disk(start);
    for (const entry of entries.slice(0, end)) disk.note(entry);
    const stdout = entries
      .slice(0, end)
      .flatMap(({ what, words: [text = ''] }) => (what === 'mark' ? [decodeURIComponent(text)] : []))
      .join('');
    this.#hub.begin(workload.hub, this.#place);
    rmSync(work, { recursive: true });
    disk.cut(dice, dirname(work), basename(work));
    endProcesses(work);
    this.counts[name] = (this.counts[name] ?? 0) + 1;

    const found = withoutCaches(treeOf(work));
    const wholes = workload.wholes ?? [];
    const outcome = { code: isDone ? 0 : undefined, stdout, stderr: '' };
    const wrong = [
      ...wrongWholes(wholes, reference, found),
      ...wrongRecords(work, found),
      ...wrongReports(outcome, work, reference, found),
      ...(isDone ? lost([...wholes, ...(workload.lasting ?? [])], reference, found) : []),
      ...(isDone ? (workload.lasting ?? []).flatMap((path) => unfinished(join(work, path))) : []),
      ...(await this.#wrongStores(workload)),
      ...this.#hub.wrong(workload.hub, this.#place, false),
    ];
    if (wrong.length === 0) {
      say('begin');
      say('age', 600);
      const isThere = wholes.every((path) => found.has(path));
      const again = await this.#command(againOf(workload, this.#place, isThere));
      for (const store of workload.stores ?? []) await this.#command(['store', 'gc', join(work, store)]);
      say('begin');
      if (again.code !== 0) wrong.push(`afterwards it failed: ${again.stderr.trim() || again.stdout.trim()}`);
      else
        wrong.push(
          ...[
            ...wrongResult(reference.again, withoutCaches(treeOf(work)), again.stderr),
            ...this.#hub.wrong(workload.hub, this.#place, true, again.stdout),
          ].map((one) => `afterwards ${one}`),
        );
    }
    if (wrong.length === 0) wrong.push(...(await this.#wrongOffline(workload, reference)));
    const before = entries
      .slice(Math.max(0, end - 2), end)
      .map(({ what, words }) => [what, ...words.filter((word) => !/%/.test(word))].join(' '));
    const message = `the power was cut ${isDone ? 'behind the end' : `behind call ${end} of ${entries.length}: ${before.join(', ')}`}`;
    return { workload: name, faults: [], wrong, message };
  }

  /**
   * Checks that the cache alone makes the same output, without a request.
   * @param {Workload} workload
   * @param {Reference} reference
   */
  async #wrongOffline({ hub, wholes = [] }, reference) {
    if (hub?.offline === undefined) return [];
    this.#hub.resume();
    process.env['HF_HUB_OFFLINE'] = '1';
    const outcome = await this.#command(hub.offline(this.#place));
    delete process.env['HF_HUB_OFFLINE'];
    const found = treeOf(this.#place.work);
    return [
      ...(outcome.code === 0 ? [] : [outcome.stderr.trim()]),
      ...this.#hub.calls.map(({ path }) => `it asks for ${path}`),
      ...wholes.flatMap((path) => lost([path], reference, found)),
    ].map((wrong) => `without a network: ${wrong}`);
  }

  /** Checks a store's shards against their records. @param {Workload} workload */
  async #wrongStores({ stores = [] }) {
    const wrong = [];
    for (const name of stores) {
      const directory = join(this.#place.work, name);
      if (!existsSync(join(directory, 'layerloom-store.json'))) continue;
      const store = await this.#program.ShardStore.open(directory);
      for (const { reason } of (await store.verify()).damaged) wrong.push(`a shard of ${name} ${reason}`);
    }
    return wrong;
  }
}
