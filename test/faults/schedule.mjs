// @ts-check
// Schedules of several processes over one directory, and the invariants after each.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { closeSync, existsSync, openSync, readSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { diceOf } from './choose.mjs';
import {
  common,
  errorIn,
  lost,
  within,
  wrongRecords,
  wrongReports,
  wrongResult,
  wrongWholes,
  wrongWords,
} from './invariants.mjs';
import { commands, scenarios } from './scenarios.mjs';
import { library } from './seam.mjs';
import { copyTree, settledTreeOf, treeOf } from './tree.mjs';
import { emptied, writeInputs } from './workloads.mjs';

/** @import { Dice } from './choose.mjs' */
/** @import { Job } from './actor.mjs' */
/** @import { Command } from './scenarios.mjs' */
/** @import { Tree } from './tree.mjs' */

const offsets = {
  turns: 4,
  most: 8,
  isHung: 12,
  random: 16,
  stays: 24,
  wakes: 28,
  last: 32,
  takenOver: 48,
  jumps: 56,
  processes: 120,
};
const [processBytes, fileBytes] = [64, 120 + 8 * 64 + 256 * 16 + 8 + 64 * 8];

const most = 50_000;
/** Milliseconds after which a process with the turn counts as hanging. */
const patienceMs = 120_000;

/**
 * Hosts, as names and boots. Two hosts share the first host's name: one is that host before its boot, the other is a
 * different host.
 */
const hosts = [
  { name: 'one', boot: '1' },
  { name: 'one', boot: '1' },
  { name: 'two', boot: '2' },
  { name: 'one', boot: '3' },
];

/**
 * The end of a command: `code` is undefined if its process was killed. @typedef {{ code: number | undefined;
 * stdout: string; stderr: string; isKilled: boolean }} Ended
 */

class Actor {
  #child;
  #text = '';
  /** @type {{ stdout: string; stderr: string }} */
  #printed = { stdout: '', stderr: '' };
  /** @type {((ended: Ended) => void) | undefined} */
  #onEnd;
  #complaints = '';
  isDead = false;

  /** @param {string} root @param {string} dist @param {(typeof hosts)[number]} host @param {string} turns @param {string | undefined} notes */
  constructor(root, dist, host, turns, notes) {
    const boot = join(root, `boot-${host.boot}`);
    if (!existsSync(boot)) writeFileSync(boot, `${randomUUID()}\n`);
    const home = join(root, 'home');
    this.#child = spawn(
      process.execPath,
      [
        // Node's own threads would take turns that no seed determines.
        ...['--single-threaded', '--v8-pool-size=0', '--no-warnings'],
        ...[fileURLToPath(new URL('actor.mjs', import.meta.url)), dist, join(root, 'sandbox'), turns],
      ],
      {
        env: {
          ...{ PATH: process.env['PATH'] ?? '', HOME: home, TMPDIR: join(root, 'tmp') },
          ...{ XDG_CACHE_HOME: join(home, 'cache'), XDG_STATE_HOME: join(home, 'state') },
          ...{ LD_PRELOAD: library, LAYERLOOM_HOST: host.name, LAYERLOOM_BOOT: boot },
          ...{ UV_THREADPOOL_SIZE: '1', UV_USE_IO_URING: '0' },
          ...(notes === undefined ? {} : { LAYERLOOM_TURNS: notes }),
        },
        stdio: ['pipe', 'pipe', 'pipe'],
      },
    );
    this.#child.stdout.on('data', (text) => this.#hear(String(text)));
    this.#child.stderr.on('data', (text) => {
      this.#complaints += text;
    });
    this.#child.stdin.on('error', () => undefined);
    this.#child.on('close', (code, signal) => {
      this.isDead = true;
      this.#end({
        code: undefined,
        isKilled: signal === 'SIGKILL',
        extra: signal === 'SIGKILL' ? '' : `${code ?? signal} ${this.#complaints}`,
      });
    });
  }

  /** @param {string} text */
  #hear(text) {
    const lines = (this.#text + text).split('\n');
    this.#text = lines.pop() ?? '';
    for (const line of lines) {
      const { stdout = '', stderr = '', ...rest } = JSON.parse(line);
      this.#printed.stdout += stdout;
      this.#printed.stderr += stderr;
      if ('code' in rest) this.#end({ code: rest.code, isKilled: false, extra: '' });
    }
  }

  /** @param {{ code: number | undefined; isKilled: boolean; extra: string }} how */
  #end({ code, isKilled, extra }) {
    const { stdout, stderr } = this.#printed;
    this.#printed = { stdout: '', stderr: '' };
    this.#onEnd?.({ code, isKilled, stdout, stderr: stderr + extra });
    this.#onEnd = undefined;
  }

  /** @param {Job} job @returns {Promise<Ended>} */
  run(job) {
    return new Promise((resolve) => {
      this.#onEnd = resolve;
      this.#child.stdin.write(`${JSON.stringify(job)}\n`);
    });
  }

  end() {
    this.#child.kill('SIGKILL');
  }
}

/** Results of a scenario: its start, and the files after each set of commands. */
export class Schedules {
  #root;
  #dist;
  #turns;
  #notes;
  #place;
  #names;
  /** @type {Map<string, Actor[]>} */
  #free = new Map();
  /** @type {Set<Actor>} */
  #actors = new Set();
  /** @type {Map<string, string>} */
  #templates = new Map();
  /** @type {Map<string, { before: Tree; after: Tree; again: Tree }>} */
  #references = new Map();
  #counts = { turns: 0, killed: 0, resumed: 0, jumps: 0, refused: 0, done: 0 };

  /** @param {string} root @param {string} dist @param {string | undefined} only a scenario @param {string | undefined} notes */
  constructor(root, dist, only, notes) {
    this.#names = Object.keys(scenarios).filter((name) => only === undefined || name === only);
    this.#root = root;
    this.#dist = dist;
    this.#turns = join(root, 'turns');
    this.#notes = notes;
    const sandbox = join(root, 'sandbox');
    this.#place = { inputs: join(sandbox, 'inputs'), work: join(sandbox, 'work') };
    writeInputs(this.#place);
    writeFileSync(this.#turns, Buffer.alloc(fileBytes));
  }

  /** @param {number} host */
  #take(host) {
    const { name, boot } = hosts[host] ?? { name: '', boot: '' };
    const free = this.#free.get(`${name} ${boot}`)?.pop();
    if (free !== undefined) return free;
    const actor = new Actor(this.#root, this.#dist, { name, boot }, this.#turns, this.#notes);
    this.#actors.add(actor);
    return actor;
  }

  /** @param {number} host @param {Actor} actor */
  #giveBack(host, actor) {
    const { name, boot } = hosts[host] ?? { name: '', boot: '' };
    if (actor.isDead) this.#actors.delete(actor);
    else this.#free.set(`${name} ${boot}`, [...(this.#free.get(`${name} ${boot}`) ?? []), actor]);
  }

  /** Runs a command alone. @param {readonly string[]} words */
  async #alone(words) {
    const actor = this.#take(0);
    // Later than writes of a host whose clock is an hour ahead.
    const ended = await actor.run({ words, age: 7200 });
    this.#giveBack(0, actor);
    return ended;
  }

  /** @param {readonly string[]} words */
  async #right(words) {
    const ended = await this.#alone(words);
    if (ended.code !== 0) throw new Error(`${words.join(' ')} failed alone: ${ended.stderr}`);
  }

  /**
   * The files after running the commands in sequence. @param {string} scenario @param {readonly string[]}
   * names
   */
  async #reference(scenario, names) {
    const key = [scenario, ...this.#again(names).map((words) => words.join(' '))].join('\n');
    const known = this.#references.get(key);
    if (known !== undefined) return known;
    const { work } = this.#place;
    const template = await this.#template(scenario);
    const before = treeOf(template);
    const trees = [];
    for (let time = 0; time < 2; time += 1) {
      emptied(work);
      copyTree(template, work);
      await this.#recover(names);
      trees.push(treeOf(work));
    }
    const [one, other] = trees;
    if (one === undefined || other === undefined) throw new Error('too few runs');
    const after = common(one, other);
    for (const path of after.keys()) if (isOfRun(path)) after.set(path, '?');
    const reference = { before, after, again: after };
    this.#references.set(key, reference);
    return reference;
  }

  /** Command lines for a second run. @param {readonly string[]} names */
  #again(names) {
    const all = names.flatMap((name) => {
      const words = commandOf(name).again?.(this.#place);
      return words === undefined ? [] : [words];
    });
    return [...new Map(all.map((words) => [words.join(' '), words])).values()];
  }

  /** Runs each command again, and clears up. @param {readonly string[]} names */
  async #recover(names) {
    const { work } = this.#place;
    for (const words of this.#again(names)) await this.#right(words);
    if (existsSync(join(work, 'store'))) await this.#right(['store', 'gc', join(work, 'store')]);
  }

  /** @param {string} scenario */
  async #template(scenario) {
    const known = this.#templates.get(scenario);
    if (known !== undefined) return known;
    const { work } = this.#place;
    const template = join(this.#root, 'templates', scenario);
    emptied(work);
    await scenarios[scenario]?.prepare(this.#place, (words) => this.#right(words));
    copyTree(work, template);
    this.#templates.set(scenario, template);
    return template;
  }

  /** Runs a seed's schedule, and checks the invariants. @param {number} seed */
  async run(seed) {
    const dice = diceOf(seed);
    const scenario = this.#names[seed % this.#names.length] ?? '';
    const { commands: of = [], onwards = false } = scenarios[scenario] ?? {};
    const chosen = Array.from({ length: 2 + dice.below(3) }, () => dice.one(of));
    const plan = chosen.map((name) => ({
      name,
      ...{ host: dice.below(hosts.length), clock: dice.one([0, 0, 0, 3600, -3600]) },
      // A random turn, distributed by the logarithm: early turns are likelier.
      diesAt: dice.below(5) === 0 ? 1 + dice.below(2 ** (1 + dice.below(12))) : 0,
      isReplaced: dice.below(2) === 0,
      number: dice.one([0, 0, 1, 2]),
    }));
    // Learns the references before filling the file of turns.
    const makers = [...new Set(chosen)].sort();
    const reference = await this.#reference(scenario, makers);
    const { work } = this.#place;
    emptied(work);
    copyTree(await this.#template(scenario), work);
    const jumps = Array.from({ length: dice.below(3) }, () => ({
      at: 1 + dice.below(2 ** (4 + dice.below(9))),
      by: dice.one(onwards ? [130, 600] : [130, 130, 600, -130, -600]),
    }));
    this.#fill(dice, plan, jumps);

    let isLate = false;
    const late = setTimeout(() => {
      isLate = true;
      for (const actor of this.#actors) actor.end();
    }, patienceMs);
    const ends = await Promise.all(
      plan.map(async ({ name, host, clock, isReplaced }, index) => {
        const command = commandOf(name);
        const actor = this.#take(host);
        const ended = await actor.run({ words: command.words(this.#place), process: index, clock });
        this.#giveBack(host, actor);
        if (!ended.isKilled || !isReplaced || isLate) return [ended];
        const next = this.#take(host);
        const words = (command.again ?? command.words)(this.#place);
        const after = await next.run({ words, process: index, clock });
        this.#giveBack(host, next);
        return [ended, after];
      }),
    );
    clearTimeout(late);
    const header = Buffer.alloc(offsets.jumps);
    const file = openSync(this.#turns, 'r');
    readSync(file, header, 0, header.length, 0);
    closeSync(file);
    const turns = header.readUInt32LE(offsets.turns);
    const isHung = header.readUInt32LE(offsets.isHung) !== 0;

    const found = await settledTreeOf(work);
    const wholes = [...new Set(chosen.flatMap((name) => commandOf(name).makes ?? []))];
    const wrong = isHung ? [`no end in ${most} turns`] : isLate ? [`no end in ${patienceMs / 1000} s`] : [];
    for (const [index, ended] of ends.entries()) {
      const { name, diesAt } = plan[index] ?? { name: '', diesAt: 0 };
      for (const [time, one] of ended.entries()) {
        const mayDie = diesAt > 0 && time === 0;
        wrong.push(...this.#wrongEnd(name, one, mayDie).map((what) => `${name}: ${what}`));
        const of = { ...reference, after: within(reference.after, commandOf(name).out ?? '') };
        wrong.push(...wrongReports(one, work, of, found).map((what) => `${name}: ${what}`));
        if (one.code === 0)
          wrong.push(
            ...lost(commandOf(name).makes ?? [], reference, found).map((what) => `${name}: ${what}`),
          );
      }
    }
    wrong.push(...wrongWholes(wholes, reference, found), ...wrongRecords(work, found));
    // Claims save work: without deaths, time jumps and removals each shard is computed once.
    if (!chosen.includes('gc') && jumps.length === 0 && plan.every(({ diesAt }) => diesAt === 0))
      wrong.push(...computedTwice(ends.flat(), reference.before, found), ...takenOver(header));
    if (wrong.length === 0 && existsSync(join(work, 'store', 'layerloom-store.json'))) {
      const verified = await this.#alone(['store', 'verify', join(work, 'store')]);
      if (verified.code !== 0) wrong.push(`the store: ${verified.stdout}${verified.stderr}`);
    }
    if (wrong.length === 0)
      try {
        await this.#recover(makers);
        const last = ends.map((ended) => ended.at(-1)?.stderr).join('\n');
        wrong.push(
          ...wrongResult(reference.after, treeOf(work), last)
            .filter((one) => !isElsewhere(one))
            .map((one) => `afterwards ${one}`),
        );
      } catch (error) {
        wrong.push(`afterwards ${String(error)}`);
      }
    this.#count(turns, jumps.length, ends);
    const said = ends.flatMap((ended, index) =>
      ended.map(
        ({ code, isKilled, stdout, stderr }) =>
          `${plan[index]?.name}: ${isKilled ? 'killed' : code} ${errorIn(stdout) ?? ''} ${stderr.trim().split('\n').slice(-2).join(' | ')}`,
      ),
    );
    return { scenario, commands: plan.map((one) => JSON.stringify(one)), wrong, said };
  }

  /** @param {string} name @param {Ended} ended @param {boolean} mayDie */
  #wrongEnd(name, ended, mayDie) {
    const { code, isKilled, stdout, stderr } = ended;
    if (isKilled && mayDie) return [];
    if (typeof code !== 'number') return [isKilled ? 'did not end' : `ended by ${code} ${stderr}`];
    if (code === 0) return [];
    const error = errorIn(stdout);
    const refusals = commandOf(name).refusals ?? [];
    if (error !== undefined && refusals.includes(error))
      return wrongWords(ended, [], this.#root).filter((one) => !/without a failure/.test(one));
    return [`exit code ${code}, ${error}: ${stderr.trim() || stdout.trim()}`];
  }

  /**
   * Writes the file by which processes take turns. @param {Dice} dice @param {readonly { diesAt: number;
   * isReplaced: boolean; number: number }[]} plan @param {readonly { at: number; by: number }[]} jumps
   */
  #fill(dice, plan, jumps) {
    const file = Buffer.alloc(fileBytes);
    file.writeUInt32LE(most, offsets.most);
    file.writeUInt32LE(dice.below(2 ** 32), offsets.random);
    file.writeUInt32LE(dice.below(2 ** 32), offsets.random + 4);
    file.writeUInt32LE(dice.one([0, 128, 240, 254]), offsets.stays);
    file.writeUInt32LE(dice.one([1, 8, 64]), offsets.wakes);
    file.writeInt32LE(-1, offsets.last);
    for (const [index, { at, by }] of jumps.entries()) {
      file.writeUInt32LE(at, offsets.jumps + index * 8);
      file.writeInt32LE(by, offsets.jumps + index * 8 + 4);
    }
    for (const [index, { diesAt, isReplaced, number }] of plan.entries()) {
      const at = offsets.processes + index * processBytes;
      file.writeUInt32LE(1, at);
      file.writeUInt32LE(diesAt, at + 8);
      file.writeUInt32LE(Number(isReplaced), at + 12);
      file.writeUInt32LE(number, at + 16);
    }
    const open = openSync(this.#turns, 'r+');
    writeSync(open, file, 0, file.length, 0);
    closeSync(open);
  }

  /** @param {number} turns @param {number} jumps @param {readonly Ended[][]} ends */
  #count(turns, jumps, ends) {
    const counts = this.#counts;
    counts.turns += turns;
    counts.jumps += jumps;
    for (const ended of ends) {
      if (ended.some(({ isKilled }) => isKilled)) counts.killed += 1;
      if (ended.length > 1) counts.resumed += 1;
      const code = ended.at(-1)?.code;
      if (code === 0) counts.done += 1;
      else if (code !== undefined) counts.refused += 1;
    }
  }

  summary() {
    return JSON.stringify(this.#counts);
  }

  close() {
    for (const actor of this.#actors) actor.end();
  }
}

/** @param {string} name @returns {Command} */
const commandOf = (name) => {
  const found = commands[name];
  if (found === undefined) throw new Error(`no command ${name}`);
  return found;
};

/** Shards of a store. @param {Tree} tree */
const shardsOf = (tree) =>
  [...tree.keys()].filter((path) => /^store\/shards\/.*\.safetensors$/.test(path)).length;

/**
 * Checks that no more shards were computed than the store gained.
 * @param {readonly Ended[]} ends
 * @param {Tree} before
 * @param {Tree} found
 */
const computedTwice = (ends, before, found) => {
  const computed = ends
    .flatMap(({ stdout }) => stdout.split('\n'))
    .filter((line) => line.startsWith('{"event":"merge"'))
    .reduce((sum, line) => sum + (JSON.parse(line).shards?.new ?? 0), 0);
  const made = shardsOf(found) - shardsOf(before);
  return computed > made ? [`${computed} shards were computed, of which ${made} are there`] : [];
};

/** Checks that no claim of a living process was taken over. @param {Buffer} header */
const takenOver = (header) => {
  const count = header.readBigUInt64LE(offsets.takenOver);
  return count > 0n ? [`claims of living processes were taken over ${count} times`] : [];
};

/** Files that record their maker and time, or that depend on who came first. @param {string} path */
const isOfRun = (path) =>
  /(experiment\.json|layerloom\.json|\.layerloom-lock|shards\/.*\.json|experiments\/.*)$/.test(path);

/**
 * An experiment that another host registered stays registered: only that host knows whether its directory
 * exists. @param {string} wrong
 */
const isElsewhere = (wrong) => /^store\/experiments\/[0-9a-f]+\.json is left over$/.test(wrong);
