// @ts-check
// Runs a program over an addon built with a sanitizer, which ends the process at the first fault.
//
//   node test/native/sanitized.mjs address|thread|undefined SCRIPT [ARGUMENT...]
import { execFileSync, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const [sanitizer = '', ...command] = process.argv.slice(2);
const root = fileURLToPath(new URL('../..', import.meta.url));
const build = `${root}native/build-${sanitizer}`;

/** @param {string} library one of the compiler's */
const pathOf = (library) => execFileSync('c++', [`-print-file-name=${library}`], { encoding: 'utf8' }).trim();

// Node itself is not instrumented: the runtime loads first, and Node's own work is not checked. The guard
// handles SIGBUS.
/** @type {Record<string, Record<string, string>>} */
const environments = {
  address: {
    LD_PRELOAD: pathOf('libasan.so'),
    ASAN_OPTIONS: 'detect_leaks=0:handle_sigbus=0:allocator_may_return_null=1',
  },
  thread: {
    LD_PRELOAD: pathOf('libtsan.so'),
    TSAN_OPTIONS: `handle_sigbus=0:halt_on_error=1:suppressions=${root}test/native/tsan.supp`,
  },
  undefined: { UBSAN_OPTIONS: 'print_stacktrace=1' },
};
const environment = environments[sanitizer];
if (environment === undefined || command.length === 0)
  throw new Error('sanitized.mjs address|thread|undefined SCRIPT [ARGUMENT...]');

const compile = [
  'cmake-js',
  'compile',
  '-O',
  build,
  '-T',
  'layerloom',
  `--CDLAYERLOOM_SANITIZE=${sanitizer}`,
];
execFileSync('npx', compile, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
const { status, signal } = spawnSync(process.execPath, command, {
  stdio: 'inherit',
  env: { ...process.env, LAYERLOOM_ADDON: `${build}/Release/layerloom.node`, ...environment },
});
if (signal !== null) console.error(`ended by ${signal}`);
process.exitCode = status ?? 1;
