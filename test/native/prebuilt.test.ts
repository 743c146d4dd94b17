import { execFile } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { targets } from '../../scripts/prebuilds/targets.mjs';
import { packageRoot } from '../../src/core/base/files/shipped.js';
import { checkBuildTools } from '../../src/core/native/build-tools.js';
import { elfProblem } from '../../src/core/native/elf.js';
import { loadFailure } from '../../src/core/native/load-failure.js';
import {
  addonFile,
  currentHost,
  type Host,
  isShipped,
  shippedTargets,
  targetOf,
} from '../../src/core/native/prebuilt.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';

const host = (changed: Partial<Host> = {}): Host => ({
  platform: 'linux',
  arch: 'x64',
  musl: false,
  endianness: 'LE',
  node: '20.20.2',
  ...changed,
});

describe('the target of a host', () => {
  it('is one of the shipped for each platform, architecture and C library', () => {
    const hosts = [
      host(),
      host({ arch: 'arm64' }),
      host({ musl: true }),
      host({ arch: 'arm64', musl: true }),
      host({ platform: 'darwin', arch: 'arm64' }),
      host({ platform: 'darwin' }),
    ];
    expect(hosts.map(targetOf)).toEqual([...shippedTargets]);
  });

  it('has a name where none is shipped, for `layerloom build` to make', () => {
    expect(targetOf(host({ arch: 'riscv64' }))).toBe('linux-riscv64');
    expect(isShipped('linux-riscv64')).toBe(false);
  });

  it.each([
    [{ platform: 'win32' }, /win32-x64: it needs Linux or macOS; use it in WSL 2/],
    [{ platform: 'freebsd' }, /freebsd-x64: it needs Linux or macOS; use it there or in a container/],
    [{ arch: 'arm' }, /linux-arm: it needs a 64-bit Node.js; install one/],
    [{ arch: 'ia32' }, /linux-ia32: it needs a 64-bit Node.js/],
    [{ arch: 's390x', endianness: 'BE' as const }, /linux-s390x: it needs a little-endian processor/],
    [{ node: '18.20.8' }, /it needs Node.js 20 or later, and this is 18.20.8; install a newer one/],
  ])('is refused for %j', (changed, message) => {
    expect(() => targetOf(host(changed))).toThrow(message);
  });
});

const own = addonFile(targetOf(currentHost()));
const onLinux = process.platform === 'linux';

const changed = (change: (file: string) => void, name = 'layerloom.node'): string => {
  const file = join(temporaryDirectory(), name);
  cpSync(own, file);
  change(file);
  return file;
};

const withBytes = (offset: number, ...bytes: number[]) =>
  changed((file) => {
    const content = readFileSync(file);
    content.set(bytes, offset);
    writeFileSync(file, content);
  });

describe.runIf(onLinux)('an addon’s file', () => {
  it('is looked at before it is loaded, which would end the process where it is truncated', () => {
    expect(elfProblem(own, process.arch)).toBeUndefined();
    expect(
      elfProblem(
        changed((file) => truncateSync(file, 4000)),
        process.arch,
      ),
    ).toMatch(/^it is truncated: 4000 of \d+ bytes$/);
    expect(
      elfProblem(
        changed((file) => truncateSync(file, 0)),
        process.arch,
      ),
    ).toBe('it is not an ELF file');
    expect(elfProblem(withBytes(4, 1), process.arch)).toMatch(/32-bit/);
    expect(elfProblem(withBytes(18, 22), process.arch)).toMatch(
      /^it is for ELF machine 22, and this Node is/,
    );
    const other = process.arch === 'x64' ? 'arm64' : 'x64';
    expect(elfProblem(own, other)).toBe(`it is for ${process.arch}, and this Node is for ${other}`);
  });
});

describe.runIf(onLinux)('a package’s addon', () => {
  const root = mkdtempSync(join(tmpdir(), 'layerloom-package-'));
  const file = addonFile(targetOf(currentHost()), root);

  beforeAll(() => {
    for (const name of ['bin', 'dist', 'package.json', 'CMakeLists.txt'])
      cpSync(join(packageRoot, name), join(root, name), { recursive: true });
    symlinkSync(join(packageRoot, 'node_modules'), join(root, 'node_modules'));
    mkdirSync(join(file, '..'), { recursive: true });
    return () => rmSync(root, { recursive: true });
  });

  const say = async (...args: string[]): Promise<{ code: number; message: string }> => {
    const command = join(root, 'bin', 'layerloom.cjs');
    try {
      await promisify(execFile)(process.execPath, [command, ...args], { cwd: root });
      return { code: 0, message: '' };
    } catch (error) {
      const { code, stderr } = error as { code: number; stderr: string };
      return { code, message: stderr };
    }
  };

  it.each([
    [
      'missing',
      () => rmSync(file, { force: true }),
      /^error: the native addon for \S+ is missing: there is no \S+; install layerloom again, or build it with `npx layerloom build` \(needs CMake 3.20 and a C\+\+20 compiler\)\n$/,
    ],
    [
      'truncated',
      () =>
        cpSync(
          changed((copy) => truncateSync(copy, 4000)),
          file,
        ),
      /cannot be loaded \(it is truncated: 4000 of \d+ bytes\); install layerloom again/,
    ],
    [
      'for a later glibc',
      () =>
        cpSync(
          changed((copy) =>
            writeFileSync(
              copy,
              Buffer.from(
                readFileSync(own, 'latin1').replaceAll(/GLIBC_2\.\d\d\0/g, 'GLIBC_2.99\0'),
                'latin1',
              ),
            ),
          ),
          file,
        ),
      /cannot be loaded \(it needs GLIBC 2.99, and this system has glibc 2\.\d+\); use a system with glibc 2.28 or later, or build it here with `npx layerloom build`/,
    ],
  ] as const)('is one message where it is %s', async (_, spoil, message) => {
    spoil();
    const said = await say('--version', '--json');
    expect(said).toMatchObject({ code: 1, message: expect.stringMatching(message) });
    expect(said.message.trim().split('\n')).toHaveLength(1);
  });

  it('is built by npm’s package where this one, a Python wheel, has no sources', async () => {
    rmSync(join(root, 'CMakeLists.txt'));
    rmSync(file, { force: true });
    const built = await say('build');
    const missing = await say('--version', '--json');
    cpSync(join(packageRoot, 'CMakeLists.txt'), join(root, 'CMakeLists.txt'));
    expect(built).toEqual({
      code: 1,
      message: expect.stringContaining('of a Python wheel, has no sources of the addon'),
    });
    expect(missing.message).toContain('build it with `npx layerloom build` of npm');
  });

  it('is not looked for by an older Node.js, which an import refuses by one message', async () => {
    const older = temporaryDirectory();
    writeFileSync(
      join(older, 'older.cjs'),
      "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '18.20.8' } });",
    );
    const program = `import(${JSON.stringify(join(root, 'dist', 'index.js'))}).catch(({ code, message }) => console.log(code, message));`;
    const { stdout } = await promisify(execFile)(process.execPath, [
      '--require',
      join(older, 'older.cjs'),
      '--eval',
      program,
    ]);
    expect(stdout).toMatch(
      /^PLATFORM_UNSUPPORTED layerloom does not run on \S+: it needs Node.js 20 or later, and this is 18.20.8; install a newer one\n$/,
    );
  });

  it('is not needed for help, nor for `doctor` to say what is wrong', async () => {
    rmSync(file, { force: true });
    expect(await say('build', '--help')).toEqual({ code: 0, message: '' });
    expect(await say('doctor', '--quiet')).toMatchObject({
      code: 1,
      message: expect.stringMatching(/^error: merging does not work here: addon: .* is missing/),
    });
  });
});

describe('a loader’s words', () => {
  it.each([
    [
      'linux-x64',
      '/lib/x86_64-linux-gnu/libc.so: invalid ELF header',
      'it is for musl, and this system has glibc',
    ],
    ['linux-x64', 'libc.so: cannot open shared object file', 'it is for musl, and this system has glibc'],
    ['linux-x64', 'libm.so.6: cannot open shared object file', '(libm.so.6: cannot open shared object file)'],
    [
      'linux-x64-musl',
      'Error loading shared library ld-linux-x86-64.so.2',
      'it is for glibc, and this system has musl',
    ],
  ])('are told as what they mean for %s: %s', (target, reason, told) => {
    const { message } = loadFailure({ file: own, target }, new Error(reason));
    expect(message).toContain(told);
  });
});

describe('the tools of a build', () => {
  const path = (commands: Readonly<Record<string, string>>): NodeJS.ProcessEnv => {
    const directory = temporaryDirectory();
    for (const [name, printed] of Object.entries(commands))
      writeFileSync(join(directory, name), `#!/bin/sh\necho '${printed}'\n`, { mode: 0o755 });
    return { PATH: directory };
  };

  it('are named where they are missing or too old', () => {
    expect(() => checkBuildTools(path({}))).toThrow(/there is no cmake on the PATH; install CMake 3.20/);
    expect(() => checkBuildTools(path({ cmake: 'cmake version 3.16.3' }))).toThrow(/cmake is version 3.16/);
    expect(() => checkBuildTools(path({ cmake: 'cmake version 3.20.0' }))).toThrow(
      /no C\+\+ compiler on the PATH/,
    );
    const both = path({ cmake: 'cmake version 4.0.1', 'clang++': 'clang 18' });
    expect(() => checkBuildTools(both)).not.toThrow();
    expect(() => checkBuildTools({ ...both, CXX: 'g++-99' })).toThrow(/\(g\+\+-99\)/);
  });
});

it('chooses among the addons that are cross-built', () => {
  expect(Object.keys(targets)).toEqual([...shippedTargets]);
});
