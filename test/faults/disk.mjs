// @ts-check
// A disk rebuilt from the log of a run's calls: its possible states after a power cut. Only synced data is
// certain. Any pages of later file contents, or parts of a page, may exist, and any later directory entries. Each
// rename is atomic.
import { linkSync, mkdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** @import { Dice } from './choose.mjs' */

/**
 * A record of the log: a call that changed the disk, or a `mark` of reported output.
 *
 * @typedef {{ readonly what: string; readonly words: readonly string[]; readonly at: number; readonly bytes:
 * Buffer }} Entry
 */

/** @param {Buffer} log @returns {Entry[]} */
export const entriesOf = (log) => {
  const entries = [];
  for (let at = 0; at < log.length; ) {
    const end = log.indexOf(10, at);
    const words = log.subarray(at, end).toString().split('\t');
    const [what = '', ...rest] = words;
    const length = Number(rest.pop());
    const time = Number(rest.pop());
    entries.push({ what, words: rest, at: time, bytes: log.subarray(end + 1, end + 1 + length) });
    at = end + 1 + length;
  }
  return entries;
};

const sector = 512;

/**
 * A file: its durable content, and its changes since the last sync.
 *
 * @typedef {{ offset: number; bytes: Buffer } | { size: number }} Change
 * @typedef {object} File
 * @property {Buffer} durable
 * @property {Change[]} pending
 * @property {number} time of its last change, in seconds
 * @property {string} [target] of a symbolic link
 * @property {string} [input] path of the input that it is a hard link to
 */

/** @param {Buffer} content @param {Change} change @returns {Buffer} */
const applied = (content, change) => {
  if ('size' in change) {
    const grown = Buffer.alloc(change.size);
    content.copy(grown);
    return grown;
  }
  const { offset, bytes } = change;
  const whole =
    content.length >= offset + bytes.length
      ? Buffer.from(content)
      : applied(content, { size: offset + bytes.length });
  bytes.copy(whole, offset);
  return whole;
};

/** Entries by path; a directory has no content. @typedef {Map<string, File | 'directory'>} Names */

/**
 * An atomic change of names, and the directories whose sync makes it durable.
 *
 * @typedef {{ readonly apply: (names: Names) => void; readonly in: readonly string[]; readonly makes?:
 * string; readonly takes?: string }} NameChange
 */

/** Entries at a path and below it. @param {Names} names @param {string} path */
const below = (names, path) => [...names].filter(([name]) => name === path || name.startsWith(`${path}/`));

/**
 * Moves a path. If it has no durable name, a journal records its creation before the move.
 *
 * @param {Names} names @param {string} from @param {string} to @param {File | 'directory'} [what] is moved
 */
const move = (names, from, to, what = undefined) => {
  const certain = below(names, from);
  const moved = certain.length === 0 && what !== undefined ? [/** @type {const} */ ([from, what])] : certain;
  if (moved.length === 0) return;
  for (const [name] of [...below(names, to), ...moved]) names.delete(name);
  for (const [name, of] of moved) names.set(to + name.slice(from.length), of);
};

export class Disk {
  /** The state that calls see, and the durable state. @type {Names} */
  #seen = new Map();
  /** @type {Names} */
  #durable = new Map();
  /** @type {NameChange[]} */
  #pending = [];
  /** @type {Map<string, File>} */
  #files = new Map();

  /**
   * @param {readonly { readonly path: string; readonly inode: string; readonly content: Buffer | 'directory';
   * readonly time: number; readonly target?: string }[]} start the first contents, all durable
   */
  constructor(start) {
    for (const { path, inode, content, time, target } of start) {
      if (content === 'directory') {
        this.#seen.set(path, content);
        this.#durable.set(path, content);
        continue;
      }
      const file = this.#files.get(inode) ?? {
        durable: content,
        pending: [],
        time,
        ...(target === undefined ? {} : { target }),
      };
      this.#files.set(inode, file);
      this.#seen.set(path, file);
      this.#durable.set(path, file);
    }
  }

  /** @param {string[]} directories @param {NameChange['apply']} apply @param {{ makes?: string; takes?: string }} [names] */
  #change(directories, apply, names = {}) {
    apply(this.#seen);
    this.#pending.push({ apply, in: directories, ...names });
  }

  /** @param {Entry} entry */
  note({ what, words, at, bytes }) {
    const [a = '', b = '', c = ''] = words;
    const file = () => {
      const found = this.#files.get(a);
      if (found !== undefined) found.time = at;
      return found;
    };
    if (what === 'create') {
      /** @type {File} */
      const made = { durable: Buffer.alloc(0), pending: [], time: at };
      this.#files.set(a, made);
      this.#change([dirname(b)], (names) => names.set(b, made), { makes: b });
    } else if (what === 'mkdir') this.#change([dirname(b)], (names) => names.set(b, 'directory'));
    else if (what === 'write') file()?.pending.push({ offset: Number(b), bytes });
    else if (what === 'truncate') file()?.pending.push({ size: Number(b) });
    else if (what === 'unlink' || what === 'rmdir')
      this.#change([dirname(b)], (names) => {
        for (const [name] of below(names, b)) names.delete(name);
      });
    else if (what === 'rename') {
      const moved = this.#seen.get(b);
      this.#change([dirname(c)], (names) => move(names, b, c, moved), { takes: b });
    } else if (what === 'exchange')
      this.#change([dirname(c)], (names) => {
        move(names, b, '\0');
        move(names, c, b);
        move(names, '\0', c);
      });
    else if (what === 'link') {
      const source = this.#seen.get(b) ?? this.#files.get(a);
      /** @type {File} */
      const linked =
        source !== undefined && source !== 'directory'
          ? source
          : { durable: Buffer.alloc(0), pending: [], time: at, input: b };
      this.#change([dirname(c)], (names) => names.set(c, linked));
    } else if (what === 'symlink') {
      /** @type {File} */
      const made = { durable: Buffer.alloc(0), pending: [], time: at, target: b };
      this.#change([dirname(c)], (names) => names.set(c, made));
    } else if (what === 'sync') this.#sync(a, b);
  }

  /** @param {string} inode @param {string} path */
  #sync(inode, path) {
    const file = this.#files.get(inode);
    if (file !== undefined) {
      file.durable = file.pending.reduce(applied, file.durable);
      file.pending = [];
      return;
    }
    // Journals commit in order: an entry of this directory takes all its earlier changes along.
    const certain = this.#pending.filter((change) => change.in.includes(path));
    for (const { apply } of certain) apply(this.#durable);
    // Entries that were created and then moved are not created again.
    const taken = new Set(certain.flatMap(({ takes }) => takes ?? []));
    this.#pending = this.#pending.filter(
      (change) => !certain.includes(change) && !(change.makes !== undefined && taken.has(change.makes)),
    );
  }

  /**
   * Chooses a state that a power cut now may leave, and writes it into an empty directory.
   *
   * @param {Dice} dice
   * @param {string} directory the root of the paths
   * @param {string} top the path below it to write
   */
  cut(dice, directory, top) {
    const names = new Map(this.#durable);
    // Keeps no pending changes, a prefix as journals do, any, or a suffix.
    const way = dice.below(4);
    const until = dice.below(this.#pending.length + 1);
    for (const [index, { apply }] of this.#pending.entries())
      if (way === 1 ? index < until : way === 2 ? dice.below(2) === 0 : way === 3 && index >= until)
        apply(names);
    const share = dice.one([0, 1, 2, 3, 4]);
    /** @type {Map<File, string>} */
    const written = new Map();
    /** @type {Set<string>} */
    const directories = new Set();
    for (const [path, what] of [...names].sort(([one], [other]) => (one < other ? -1 : 1))) {
      if (path !== top && !path.startsWith(`${top}/`)) continue;
      const at = join(directory, path);
      // A missing directory has no entries.
      if (path !== top && !directories.has(dirname(path))) continue;
      if (what === 'directory') {
        mkdirSync(at, { recursive: true });
        directories.add(path);
      } else if (what.input !== undefined) linkSync(join(directory, what.input), at);
      else if (what.target !== undefined) symlinkSync(what.target, at);
      else if (written.has(what)) linkSync(written.get(what) ?? '', at);
      else {
        writeFileSync(at, torn(what, dice, share));
        utimesSync(at, what.time, what.time);
        written.set(what, at);
      }
    }
  }
}

/**
 * The rest of a file after the cut. @param {File} file @param {Dice} dice @param {number} share of its
 * changes, in quarters
 */
const torn = ({ durable, pending }, { below: under }, share) => {
  let content = durable;
  for (const change of pending) {
    if ('size' in change) {
      if (under(4) < share) content = applied(content, change);
      continue;
    }
    const { offset, bytes } = change;
    for (let at = 0; at < bytes.length; ) {
      // Sectors are written whole.
      const end = Math.min(bytes.length, at + sector - ((offset + at) % sector));
      if (under(4) < share)
        content = applied(content, { offset: offset + at, bytes: bytes.subarray(at, end) });
      at = end;
    }
  }
  return content;
};
