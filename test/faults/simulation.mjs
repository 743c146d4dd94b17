// @ts-check
// Workloads under faults in this process, into which the library of preload.cpp was loaded.
import { constants } from 'node:os';
import { join } from 'node:path';
import { faultsOf } from './choose.mjs';
import {
  common,
  endProcesses,
  leftOpen,
  wrongRecords,
  wrongReports,
  wrongResult,
  wrongWholes,
  wrongWords,
} from './invariants.mjs';
import { calls, fired, lineOf, say } from './seam.mjs';
import { copyTree, treeOf } from './tree.mjs';
import { emptied, workloads, writeInputs } from './workloads.mjs';

/** @import { Call, Fault } from './seam.mjs' */
/** @import { Outcome, Reference } from './invariants.mjs' */
/** @import { Tree } from './tree.mjs' */
/** @import { Place, Workload } from './workloads.mjs' */

/**
 * What is simulated: the program's functions, and the directory of everything.
 *
 * @typedef {object} Program
 * @property {string} root
 * @property {(words: readonly string[]) => Promise<number>} runCommandLine
 * @property {typeof import('../../src/store/shard-store.js').ShardStore} ShardStore
 */

/** Milliseconds after which a command hangs. */
const patienceMs = 30_000;

/**
 * What a user says after a failure. Where the output is there, the process died behind that, and it is made once more:
 * then too what the dead process left is removed.
 *
 * @param {Workload} workload @param {Place} place @param {boolean} isThere
 */
const againOf = ({ command, again = () => [...command(place), '--resume'], onceMore = again }, place, isThere) =>
  isThere ? onceMore(place) : again(place);

/** A tree without what tells linked shards from copied ones. @param {Tree} tree @returns {Tree} */
const withoutLinks = (tree) =>
  new Map(
    [...tree]
      .filter(([name]) => !name.includes('/shards/'))
      .map(([name, content]) => [name, name.endsWith('/layerloom.json') ? '?' : content]),
  );

export class Simulation {
  #program;
  #place;
  #notes;
  #names;
  /** @type {Map<string, { readonly template: string; readonly calls: readonly Call[]; readonly reference: Reference }>} */
  #known = new Map();
  /** Seeds by workload, and faults that came to pass by kind. @type {Record<string, number>} */
  counts = {};
  /** @type {Record<string, number>} */
  kinds = {};

  /** @param {Program} program @param {readonly string[]} names @param {Place} place */
  constructor(program, names, place) {
    this.#program = program;
    this.#names = names;
    this.#place = place;
    this.#notes = join(program.root, 'notes');
  }

  /** @param {Program} program @param {string | undefined} only */
  static async start(program, only) {
    // Behind the library; what the simulation itself keeps is beside it.
    const sandbox = join(program.root, 'sandbox');
    const place = { inputs: join(sandbox, 'inputs'), work: join(sandbox, 'work') };
    writeInputs(place);
    say('root', sandbox);
    say('on');
    const names = Object.keys(workloads).filter((name) => only === undefined || name === only);
    return new Simulation(program, names, place);
  }

  /** Runs a command with what it prints caught. @param {readonly string[]} words @returns {Promise<Outcome>} */
  async #command(words) {
    const printed = { stdout: '', stderr: '' };
    const [out, err] = [process.stdout.write, process.stderr.write];
    const into = (/** @type {'stdout' | 'stderr'} */ stream) =>
      /** @type {typeof process.stdout.write} */ (
        (text, ...rest) => {
          printed[stream] += String(text);
          const last = rest.at(-1);
          if (typeof last === 'function') last();
          return true;
        }
      );
    process.stdout.write = into('stdout');
    process.stderr.write = into('stderr');
    /** @type {NodeJS.Timeout | undefined} */
    let timer;
    try {
      const code = await Promise.race([
        this.#program.runCommandLine([...words, '--json']),
        new Promise((resolve) => {
          timer = setTimeout(resolve, patienceMs, undefined);
        }),
      ]);
      return { code: /** @type {number | undefined} */ (code), ...printed };
    } finally {
      clearTimeout(timer);
      process.stdout.write = out;
      process.stderr.write = err;
    }
  }

  /** Runs a command that succeeds. @param {readonly string[]} words */
  async #right(words) {
    const outcome = await this.#command(words);
    if (outcome.code !== 0) throw new Error(`${words.join(' ')} failed without a fault: ${outcome.stderr}`);
    return outcome;
  }

  /** Runs a workload without faults: what it starts from, its calls, and what it makes. @param {string} name */
  async #learn(name) {
    const workload = /** @type {Workload} */ (workloads[name]);
    const { work } = this.#place;
    const template = join(this.#program.root, 'templates', name);
    say('begin');
    emptied(work);
    await workload.prepare?.(this.#place, (words) => this.#right(words));
    copyTree(work, template);
    const before = treeOf(template);
    const results = [];
    for (let run = 0; run < 3; run += 1) {
      emptied(work);
      copyTree(template, work);
      say('begin');
      say('trace');
      await this.#right(workload.command(this.#place));
      results.push({ calls: calls(this.#notes), tree: treeOf(work) });
    }
    const [, first, second] = results;
    if (first === undefined || second === undefined) throw new Error('too few runs');
    const after = common(first.tree, second.tree);
    // Its text says who works there, which may fail to be emptied at the end.
    for (const path of after.keys()) if (path.endsWith('/.layerloom-lock')) after.set(path, '?');
    // What a store has of dead processes is left to its garbage collection.
    for (const store of workload.stores ?? []) await this.#right(['store', 'gc', join(work, store)]);
    const again = common(treeOf(work), new Map([...treeOf(work)].map(([path, content]) => [path, after.get(path) ?? content])));
    return { template, calls: first.calls, reference: { before, after, again } };
  }

  /** Runs the workload of a seed under its faults, and checks all that holds. @param {number} seed */
  async run(seed) {
    const name = this.#names[seed % this.#names.length] ?? '';
    const workload = /** @type {Workload} */ (workloads[name]);
    const known = this.#known.get(name) ?? (await this.#learn(name));
    this.#known.set(name, known);
    const faults = faultsOf(seed, known.calls, 'freeze');
    const { work } = this.#place;
    const { root } = this.#program;
    emptied(work);
    copyTree(known.template, work);
    say('begin');
    for (const fault of faults) say(lineOf(fault));
    const outcome = await this.#command(workload.command(this.#place));
    const happened = fired(this.#notes);
    say('begin');
    this.counts[name] = (this.counts[name] ?? 0) + 1;
    for (const { kind, action } of happened) this.kinds[`${kind} ${action}`] = (this.kinds[`${kind} ${action}`] ?? 0) + 1;
    const isDead = happened.some(({ action }) => action === 'freeze');
    // A command's process ends; every other seed is of a program that goes on after an error.
    if (isDead || seed % 2 === 0) endProcesses(work);

    const there = treeOf(work);
    // A shard that cannot be linked once more is copied, which the record says.
    const isCopied = happened.some(({ kind, number }) => kind === 'link' && number === constants.errno.EMLINK);
    const seen = (/** @type {Tree} */ tree) => (isCopied ? withoutLinks(tree) : tree);
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
      ...(await leftOpen(this.#program.root)),
      ...(await this.#wrongStores(workload)),
    ];
    if (outcome.code === 0 && !isDead) {
      let left = wrongResult(reference.after, found, outcome.stderr);
      if (left.length > 0 && workload.stores !== undefined) {
        for (const store of workload.stores) await this.#command(['store', 'gc', join(work, store)]);
        left = wrongResult(reference.again, seen(treeOf(work)), outcome.stderr);
      }
      wrong.push(...left);
    }
    else if (wrong.length === 0) {
      const words = againOf(workload, this.#place, wholes.every((path) => found.has(path)));
      const again = await this.#command(words);
      for (const store of workload.stores ?? []) await this.#command(['store', 'gc', join(work, store)]);
      if (again.code !== 0) wrong.push(`afterwards it failed: ${again.stderr.trim() || again.stdout.trim()}`);
      else
        wrong.push(...wrongResult(reference.again, seen(treeOf(work)), again.stderr).map((one) => `afterwards ${one}`));
    }
    const message = `${outcome.code}: ${outcome.stderr.trim().split('\n').slice(-3).join(' | ')}`;
    return { workload: name, faults, wrong, message };
  }

  /** Checks that a store's shards are what their records say. @param {Workload} workload */
  async #wrongStores({ stores = [] }) {
    const wrong = [];
    for (const name of stores) {
      const directory = join(this.#place.work, name);
      const store = await this.#program.ShardStore.open(directory).catch(() => undefined);
      for (const { reason } of (await store?.verify())?.damaged ?? []) wrong.push(`a shard of ${name} ${reason}`);
    }
    return wrong;
  }
}
