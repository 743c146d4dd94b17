// @ts-check
// Builds the coverage-guided fuzzer (coverage.cpp) with clang, and runs it; without a clang with libFuzzer
// says so and succeeds.
//
//   node test/native/fuzz/coverage.mjs [--seconds N] [FILE...]
//
// Inputs that reached something new are kept in native/build-fuzz/corpus for the next run. A FILE is a failed
// input to replay. CXX may name the compiler.
import { spawnSync } from 'node:child_process';
import { randomFillSync } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const { values, positionals } = parseArgs({
  options: { seconds: { type: 'string', default: '60' } },
  allowPositionals: true,
});

const root = fileURLToPath(new URL('../../..', import.meta.url));
const build = join(root, 'native/build-fuzz');

const empty = 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }';

/** True for a compiler that links libFuzzer. @param {string} compiler */
const hasFuzzer = (compiler) =>
  spawnSync(compiler, ['-x', 'c++', '-fsanitize=fuzzer,address', '-', '-o', '/dev/null'], { input: empty })
    .status === 0;

const { CXX } = process.env;
const compiler = [...(CXX === undefined ? [] : [CXX]), 'clang++', 'clang++-14'].find(hasFuzzer);

/** @param {string} command @param {readonly string[]} words @param {NodeJS.ProcessEnv} [more] */
const run = (command, words, more = {}) => {
  const { status, signal } = spawnSync(command, words, {
    ...{ cwd: root, stdio: 'inherit', env: { ...process.env, ...more } },
  });
  if (status !== 0) process.exit(status ?? (signal === null ? 1 : 2));
};

if (compiler === undefined || process.platform !== 'linux') {
  console.log('skipped: no clang++ with libFuzzer on Linux (Debian: clang-14); CXX may name one');
  process.exit(0);
}

run('cmake', [
  ...['-S', '.', '-B', build, `-DCMAKE_CXX_COMPILER=${compiler}`],
  '-DLAYERLOOM_SANITIZE=fuzzer-no-link,address,undefined',
]);
run('cmake', ['--build', build, '--target', 'fuzz', '--parallel']);

const corpus = join(build, 'corpus');
if (!existsSync(corpus)) {
  mkdirSync(corpus);
  // A fuzzer begins with short inputs, which end in the middle of a job.
  for (let seed = 0; seed < 200; seed += 1)
    writeFileSync(join(corpus, `seed-${seed}`), randomFillSync(Buffer.alloc(300 + 5 * seed)));
}
run(
  join(build, 'fuzz'),
  [
    // SIGBUS is the guard's.
    ...['-handle_bus=0', '-timeout=30', '-len_control=0', '-max_len=4096', '-print_final_stats=1'],
    ...[`-artifact_prefix=${build}/`, '-verbosity=1', '-reload=0'],
    ...(positionals.length > 0 ? positionals : [corpus, `-max_total_time=${values.seconds}`]),
  ],
  {
    ASAN_OPTIONS: 'handle_sigbus=0:detect_leaks=0:allocator_may_return_null=1',
    UBSAN_OPTIONS: 'print_stacktrace=1',
  },
);
