// Loads the bundle, which is both command line and library, so that plugins share the library's modules.
// Caches compiled code in the user's cache folder, because compiling takes a third of a short command's time
// and Node 20 has no compile cache.

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
  require('../core/base/files/own-directory.js') as typeof import('../core/base/files/own-directory.js');

/** Bundle of scripts/bundle-program.mjs: a first line with a hash of the rest, then a function. */
const file = join(__dirname, 'layerloom.cjs');
const source = readFileSync(file, 'latin1');

/** Returns the folder of compiled code; undefined without one, or if Node's compile cache is disabled. */
const folder = (): string | undefined => {
  const { XDG_CACHE_HOME: cache = '', HOME: home = '', NODE_DISABLE_COMPILE_CACHE: off = '' } = process.env;
  const parent = isAbsolute(cache) ? cache : isAbsolute(home) ? join(home, '.cache') : undefined;
  return parent === undefined || off !== '' ? undefined : join(parent, 'layerloom', 'code');
};

const kept = folder();
// Compiled code contains its source's path for stack traces, so each installation and set of V8 flags has its
// own.
const program = createHash('sha256')
  .update(source.slice(0, source.indexOf('\n')))
  .update(`${file} ${cachedDataVersionTag()}`)
  .digest('hex')
  .slice(0, 32);
const name = `${program}-${process.version}-${process.arch}`;

const hashBytes = 32;
const hashOf = (code: Buffer): Buffer => createHash('sha256').update(code).digest();

/** Maximum size, several times the usual size of compiled code. */
const mostBytes = 64 * 1024 * 1024;

/** True if only this user can replace the folder or its files. */
const isOwn = (code: string): boolean => foreignBelow(dirname(code), code) === undefined;

/**
 * Reads compiled code if its hash matches and only this user can write the file. V8 does not check it:
 * damaged code would crash the process.
 */
const readCompiled = (path: string): Buffer | undefined => {
  try {
    if (!isOwn(dirname(path))) return undefined;
    // Does not open links, or pipes, which could block.
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
    // If no compiled code can be read, the source is compiled.
    return undefined;
  }
};

const oldMs = 30 * 24 * 3600 * 1000;

const codeName = /^[0-9a-f]{32}-v\d+\.\d+\.\d+[\w.-]*$/;

/** Removes other installations' code after a month; an installation in use rewrites it. */
const removeOld = (from: string): void => {
  for (const each of readdirSync(from)) {
    if (!codeName.test(each)) continue;
    const path = join(from, each);
    const found = lstatSync(path);
    if (found.isFile() && Date.now() - found.mtimeMs > oldMs) rmSync(path, { force: true });
  }
};

/** Writes compiled code atomically, then removes old code. */
const writeCompiled = (path: string, script: import('node:vm').Script, into: string): void => {
  const partial = `${path}.${process.pid}`;
  try {
    // Node's recursive mkdir never returns if the parent accepts no directories, such as /proc.
    for (const each of [dirname(dirname(into)), dirname(into), into])
      if (!existsSync(each)) {
        // Under sudo, the home belongs to another user, who could not replace our folder.
        if (statSync(dirname(each)).uid !== process.getuid?.()) return;
        mkdirSync(each, { mode: 0o700 });
      }
    if (!isOwn(into)) return;
    const code = script.createCachedData();
    writeFileSync(partial, Buffer.concat([hashOf(code), code]), { mode: 0o600, flag: 'wx' });
    renameSync(partial, path);
    removeOld(into);
  } catch {
    // If the home is read-only or full, the next command compiles again.
    try {
      if (isOwn(into)) rmSync(partial, { force: true });
    } catch {
      // Nothing was written.
    }
  }
};

interface Bundle {
  readonly run: () => void;
  readonly library: () => object;
}

/** Returns the name for compiled code by its use: a command, its dry run, or help. */
const useOf = (args: readonly string[]): string => {
  const [command = ''] = args;
  if (args.includes('--help') || args.includes('-h') || !/^[a-z][a-z-]{0,20}$/.test(command)) return 'help';
  return args.includes('--dry-run') ? `${command}-dry-run` : command;
};

/** @param use name of the compiled code, which contains only the functions that ran */
const load = (use: string): Bundle => {
  // Test runners give each file its own realm, which the bundle's errors must belong to.
  if (runInThisContext('Error') !== Error) return require('./layerloom.cjs') as Bundle;
  const path = kept === undefined ? undefined : join(kept, `${name}-${use}`);
  const cachedData = path === undefined ? undefined : readCompiled(path);
  const script = new Script(source, {
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
    // Saves the functions that ran. A failed command may have run only few.
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
