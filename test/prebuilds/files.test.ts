import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { platforms, treeRoot, withReason } from './platforms.js';

/** Reads ELF and Mach-O alike. Debian: apt-get install llvm */
const tool = (name: string) => (file: string, options: readonly string[]) =>
  execFileSync(name, [...options, file], { encoding: 'utf8' });
const [readobj, nm] = [tool('llvm-readobj'), tool('llvm-nm')];
const hasTools = spawnSync('llvm-readobj', ['--version']).status === 0;

/** Allowed libraries of an addon: those of the C library. */
const libraries = {
  glibc: /^(ld-linux-(x86-64|aarch64)\.so\.\d|lib(c|m|dl|pthread)\.so\.\d)$/,
  musl: /^libc\.so$/,
  darwin: /^\/usr\/lib\/libSystem\.B\.dylib$/,
};

const formats: Record<string, readonly [format: string, arch: string]> = {
  'linux-x64': ['elf64-x86-64', 'x86_64'],
  'linux-arm64': ['elf64-littleaarch64', 'aarch64'],
  'darwin-x64': ['Mach-O 64-bit x86-64', 'x86_64'],
  'darwin-arm64': ['Mach-O arm64', 'aarch64'],
};

const isAbove = (version: string, most: string): boolean =>
  version.localeCompare(most, 'en', { numeric: true }) > 0;

describe.each(platforms)('the addon for $name', ({ name, addon }) => {
  const missing = hasTools ? undefined : 'llvm-readobj';
  const reason = existsSync(addon) ? missing : `\`npm run prebuild -- ${name}\``;
  const [system = '', , libc] = name.split('-');
  const needed = () => {
    const [, list = ''] = readobj(addon, ['--needed-libs']).match(/^NeededLibraries \[\n([^\]]*)/m) ?? [];
    // A Mach-O library lists itself too.
    return (list.match(/\S+/g) ?? []).filter((library) => library !== '@rpath/layerloom.node');
  };
  /** Names of functions and data that other libraries must define. */
  const undefinedNames = () =>
    nm(addon, [
      '--undefined-only',
      '--just-symbol-name',
      ...(system === 'darwin' ? [] : ['--dynamic']),
    ]).match(/\S+/g) ?? [];

  it.skipIf(reason)(withReason('is a file for its processor', reason), () => {
    const [format = '', arch = ''] = formats[name.replace('-musl', '')] ?? [];
    const headers = readobj(addon, ['--file-headers']);
    expect(headers).toContain(`Format: ${format}\n`);
    expect(headers).toContain(`Arch: ${arch}\n`);
  });

  it.skipIf(reason)(withReason('asks for a C library only: libc++ is inside', reason), () => {
    const kind = system === 'darwin' ? 'darwin' : (libc ?? 'glibc');
    expect(needed().length).toBeGreaterThan(0);
    for (const library of needed()) expect(library).toMatch(libraries[kind as keyof typeof libraries]);
    expect(undefinedNames().filter((symbol) => /^_{1,2}Z/.test(symbol))).toEqual([]);
  });

  it.skipIf(reason)(withReason('holds no path of the machine that built it', reason), () => {
    expect(readFileSync(addon).includes(treeRoot)).toBe(false);
  });

  it.skipIf(reason)(withReason('asks Node for functions of Node-API only', reason), () => {
    expect(undefinedNames().filter((symbol) => /^_?napi_/.test(symbol)).length).toBeGreaterThan(20);
    expect(undefinedNames().filter((symbol) => /^_?(node|v8|uv)/.test(symbol))).toEqual([]);
  });

  if (system === 'linux')
    it.skipIf(reason)(withReason('has one entry, and stays in the process that loaded it', reason), () => {
      const defined = nm(addon, ['--defined-only', '--just-symbol-name', '--dynamic']).match(/\S+/g);
      expect(defined?.sort()).toEqual(['napi_register_module_v1', 'node_api_module_get_api_version_v1']);
      expect(readobj(addon, ['--dynamic-table'])).toMatch(/FLAGS_1.*NODELETE/);
    });

  if (system === 'linux' && libc === undefined)
    it.skipIf(reason)(withReason('needs nothing above GLIBC_2.28', reason), () => {
      const versions = [...readobj(addon, ['--version-info']).matchAll(/@GLIBC_([\d.]+)/g)].map(([, v]) => v);
      expect(versions.length).toBeGreaterThan(20);
      expect(versions.filter((version) => isAbove(version ?? '', '2.28'))).toEqual([]);
    });

  if (system === 'darwin')
    it.skipIf(reason)(withReason('runs on macOS 11, and is signed', reason), () => {
      expect(readobj(addon, ['--macho-version-min'])).toMatch(/\b(MinVersion|Version): 11\.0\b/);
      const commands = tool('llvm-objdump')(addon, ['--macho', '--private-headers']);
      // arm64 macOS loads nothing without a signature; x64 does.
      if (name === 'darwin-arm64') expect(commands).toContain('LC_CODE_SIGNATURE');
    });
});
