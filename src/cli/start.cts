// Loads the bundle, which is the command line and the library: plugins of the command share the library's modules. Its
// compiled code is kept in the user's cache, since Node 20 has no cache of its own: compiling takes a third of the time
// of a short command.

const {
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  closeSync,
  fstatSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} = require('node:fs') as typeof import('node:fs');
const { dirname, isAbsolute, join } = require('node:path') as typeof import('node:path');
const { createHash } = require('node:crypto') as typeof import('node:crypto');
const { cachedDataVersionTag } = require('node:v8') as typeof import('node:v8');
const { runInThisContext, Script } = require('node:vm') as typeof import('node:vm');
const { foreignBelow } =
  require('../core/base/own-directory.js') as typeof import('../core/base/own-directory.js');

/** Scripts/bundle-program.mjs writes it; its first line is a hash of the others. */
const file = join(__dirname, 'layerloom.cjs');
const source = readFileSync(file, 'latin1');

/** The folder of compiled code; undefined where the user has no cache, or has turned off those of Node. */
const folder = (): string | undefined => {
  const { XDG_CACHE_HOME: cache = '', HOME: home = '', NODE_DISABLE_COMPILE_CACHE: off = '' } = process.env;
  const parent = isAbsolute(cache) ? cache : isAbsolute(home) ? join(home, '.cache') : undefined;
  return parent === undefined || off !== '' ? undefined : join(parent, 'layerloom', 'code');
};

const kept = folder();
// Compiled code has the path of its source, which stacks show: each installation has its own, and each set of V8's flags.
const program = createHash('sha256')
  .update(source.slice(0, source.indexOf('\n')))
  .update(`${file} ${cachedDataVersionTag()}`)
  .digest('hex')
  .slice(0, 32);
const name = `${program}-${process.version}-${process.arch}`;

const hashBytes = 32;
const hashOf = (code: Buffer): Buffer => createHash('sha256').update(code).digest();

/** Several times the size of compiled code: more is none. */
const mostBytes = 64 * 1024 * 1024;

/** True if nobody else can have put files into the folder of compiled code, or a link in its place. */
const isOwn = (code: string): boolean => foreignBelow(dirname(code), code) === undefined;

/**
 * Reads compiled code behind its hash, if it is whole, and a file that only this user writes. V8 runs it as it is:
 * damaged code would end the process.
 */
const readCompiled = (path: string): Buffer | undefined => {
  try {
    if (!isOwn(dirname(path))) return undefined;
    // Neither a link nor, by waiting for its other end, a pipe.
    const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const found = fstatSync(fd);
      const isOurs = found.isFile() && found.uid === process.getuid?.() && (found.mode & 0o022) === 0;
      if (!isOurs || found.size > mostBytes) return undefined;
      const bytes = Buffer.allocUnsafe(found.size);
      if (readSync(fd, bytes, 0, found.size, 0) !== found.size) return undefined;
      const code = bytes.subarray(hashBytes);
      return hashOf(code).equals(bytes.subarray(0, hashBytes)) ? code : undefined;
    } finally {
      closeSync(fd);
    }
  } catch {
    // Not there or not readable: the program is compiled from its source.
    return undefined;
  }
};

const oldMs = 30 * 24 * 3600 * 1000;

/** Names of compiled code, and of the partial file of a process that was killed. */
const codeName = /^[0-9a-f]{32}-v\d+\.\d+\.\d+[\w.-]*$/;

/** Removes the code of other installations that is a month old; one that is still used writes it again. */
const removeOld = (from: string): void => {
  for (const each of readdirSync(from)) {
    if (!codeName.test(each)) continue;
    const path = join(from, each);
    const found = lstatSync(path);
    if (found.isFile() && Date.now() - found.mtimeMs > oldMs) rmSync(path, { force: true });
  }
};

/** Writes compiled code, whole or not at all. Then removes what is old. */
const writeCompiled = (path: string, script: import('node:vm').Script, into: string): void => {
  const partial = `${path}.${process.pid}`;
  try {
    // One by one: Node's recursive mkdir never ends in a parent that takes no directories, such as /proc.
    for (const each of [dirname(dirname(into)), dirname(into), into])
      if (!existsSync(each)) {
        // In another user's home, as with sudo, it would be in that one's way.
        if (statSync(dirname(each)).uid !== process.getuid?.()) return;
        mkdirSync(each, { mode: 0o700 });
      }
    if (!isOwn(into)) return;
    const code = script.createCachedData();
    writeFileSync(partial, Buffer.concat([hashOf(code), code]), { mode: 0o600, flag: 'wx' });
    renameSync(partial, path);
    removeOld(into);
  } catch {
    // A read-only or full home: the next command compiles again.
    try {
      if (isOwn(into)) rmSync(partial, { force: true });
    } catch {
      // Nor was anything written.
    }
  }
};

/** The bundle: each function runs the modules that it needs, once. */
interface Bundle {
  /** Runs the command line on the process's arguments. */
  readonly run: () => void;
  /** Returns what the package exports. */
  readonly library: () => object;
}

/** What uses the program, for the name of its compiled code: a command, one that only plans, or help of any. */
const useOf = (args: readonly string[]): string => {
  const [command = ''] = args;
  if (args.includes('--help') || args.includes('-h') || !/^[a-z][a-z-]{0,20}$/.test(command)) return 'help';
  return args.includes('--dry-run') ? `${command}-dry-run` : command;
};

/**
 * @param use compiled code is of the functions that ran: a merge needs others than help does, or than a program that
 * imports the library
 */
const load = (use: string): Bundle => {
  // Test runners give each file a realm of its own: the bundle's errors are to be errors of that realm.
  if (runInThisContext('Error') !== Error) return require('./layerloom.cjs') as Bundle;
  const path = kept === undefined ? undefined : join(kept, `${name}-${use}`);
  const cachedData = path === undefined ? undefined : readCompiled(path);
  const script = new Script(`(function (exports, require, module, __filename, __dirname) {${source}\n})`, {
    filename: file,
    ...(cachedData === undefined ? {} : { cachedData }),
  });
  const bundle = { exports: {} as Bundle };
  script.runInThisContext()(bundle.exports, require, bundle, file, __dirname);
  if (
    path !== undefined &&
    kept !== undefined &&
    (cachedData === undefined || script.cachedDataRejected === true)
  )
    // At the end, when the functions that were called are compiled too. One that failed may have called few.
    process.once('exit', (code) => {
      if (code === 0) writeCompiled(path, script, kept);
    });
  return bundle.exports;
};

let loaded: Bundle | undefined;

exports.run = (): void => {
  loaded ??= load(useOf(process.argv.slice(2)));
  loaded.run();
};

exports.library = (): object => {
  loaded ??= load('library');
  return loaded.library();
};
