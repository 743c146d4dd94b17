// @ts-check
/**
 * `npm run demo`: makes a clone ready, with a line for each step and all output in a log, and runs
 * `examples/demo/demo.mjs`. Needs no package before it starts.
 *
 * Skips existing files; `npm run build` rebuilds them. To be quick, it bundles the program without checking
 * types, and compiles the C++ that needs no package while npm installs packages.
 */
import { spawn, spawnSync } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const log = `${root}build/demo.log`;
const musl =
  process.platform === 'linux' &&
  !(/** @type {any} */ (process.report.getReport()).header.glibcVersionRuntime)
    ? '-musl'
    : '';
const there = {
  packages: existsSync(`${root}node_modules/.package-lock.json`),
  program: existsSync(`${root}dist/layerloom.js`),
  engine: existsSync(`${root}prebuilds/${process.platform}-${process.arch}${musl}/layerloom.node`),
};
const tools =
  'CMake 3.20 or later and a C++20 compiler (GCC 11, Clang 14): `apt install cmake g++ make ninja-build`, on macOS ' +
  '`xcode-select --install` and `brew install cmake`';

const has = (/** @type {string} */ command) => spawnSync(command, ['--version']).status === 0;

/** @type {Set<import('node:child_process').ChildProcess>} */
const children = new Set();

/** @param {string} problem @param {string} remedy */
const fail = (problem, remedy) => {
  for (const child of children) child.kill();
  console.error(`\nerror: ${problem}\n${remedy}`);
  process.exit(1);
};

/** Runs a command with its output in the log. @param {string} remedy @param {string} command @param {string[]} args */
const run = (remedy, command, ...args) =>
  /** @type {Promise<void>} */ (
    new Promise((resolve) => {
      const out = openSync(log, 'a');
      const env = { ...process.env, CMAKE_BUILD_PARALLEL_LEVEL: String(availableParallelism()) };
      const child = spawn(command, args, { cwd: root, stdio: ['ignore', out, out], env });
      closeSync(out);
      children.add(child);
      const failed = (/** @type {string} */ how) => {
        const last = readFileSync(log, 'utf8').trimEnd().split('\n').slice(-12).join('\n');
        fail(`\`${command} ${args.join(' ')}\` ${how}; the end of ${log}:\n\n${last}\n`, remedy);
      };
      child.on('error', ({ message }) => failed(message));
      child.on('close', (code, signal) => (code === 0 ? resolve() : failed(`ended with ${code ?? signal}`)));
    })
  );

const started = performance.now();
const done = (/** @type {string} */ step) =>
  console.log(`  ${step.padEnd(42)} ${Math.round((performance.now() - started) / 1000)} s`);

const folder = 'native/build';
const generator = has('ninja') ? 'Ninja' : 'Unix Makefiles';

const installPackages = async () => {
  if (there.packages) return;
  const remedy = 'npm needs its registry, Node.js 20 or later, and a package-lock.json as in the repository.';
  await run(remedy, 'npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund');
  done('packages are installed');
};

/** The flags are those of cmake-js on Linux, so that it compiles no file again. */
const compileBeforePackages = async () => {
  if (there.engine || there.packages || process.platform !== 'linux' || existsSync(`${root}${folder}`))
    return;
  const flags = ['-DCMAKE_BUILD_TYPE=Release', '-DCMAKE_CXX_FLAGS=-DBUILDING_NODE_EXTENSION'];
  await run(`It needs ${tools}.`, 'cmake', '-S', '.', '-B', folder, '-G', generator, ...flags);
  // `cmake --build` would leave compilers running when it is ended.
  const [tool = '', ...parallel] =
    generator === 'Ninja' ? ['ninja'] : ['make', `-j${availableParallelism()}`];
  await run(`It needs ${tools}.`, tool, '-C', folder, ...parallel, 'layerloom_kernels', 'layerloom_jobs');
};

const bundleProgram = async () => {
  if (there.program) return;
  for (const script of ['bundle-libraries', 'bundle-pages', 'bundle-program'])
    await run('Please report it with the log.', process.execPath, `scripts/${script}.mjs`);
  done('the program is bundled');
};

const compileEngine = async () => {
  if (there.engine) return;
  // `cmake-js compile` would begin again in a folder that was configured without it.
  const where = ['-O', folder, '-T', 'layerloom', '-G', generator];
  for (const step of ['configure', 'build'])
    await run(`It needs ${tools}.`, 'npx', '--no', 'cmake-js', step, ...where);
  done('the engine is compiled');
};

if (Number.parseInt(process.versions.node, 10) < 20)
  fail(`this is Node.js ${process.version} at ${process.execPath}`, 'Install Node.js 20 or later.');
if (!there.engine && !(has('cmake') && ['ninja', 'make'].some(has) && ['c++', 'g++', 'clang++'].some(has)))
  fail('cmake, make or a C++ compiler is not on the PATH', `Install ${tools}.`);

if (!Object.values(there).every(Boolean)) {
  mkdirSync(`${root}build`, { recursive: true });
  closeSync(openSync(log, 'w'));
  console.log(`Making this clone ready; npm and the compiler write to ${log}`);
  const early = compileBeforePackages();
  await installPackages();
  await Promise.all([bundleProgram(), early]);
  await compileEngine();
}

const { status } = spawnSync(process.execPath, [`${root}examples/demo/demo.mjs`, ...process.argv.slice(2)], {
  stdio: 'inherit',
});
process.exitCode = status ?? 1;
