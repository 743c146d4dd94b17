import { createRequire } from 'node:module';
import { endianness } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LayerloomError } from '../base/errors.js';

/** The targets whose addon is in the package. Another one's can be built where it is to run: `layerloom build`. */
export const shippedTargets = [
  'linux-x64',
  'linux-arm64',
  'linux-x64-musl',
  'linux-arm64-musl',
  'darwin-arm64',
  'darwin-x64',
] as const;

/** The oldest glibc that the shipped Linux addons run with: RHEL 8's, older than Debian 10's and Ubuntu 20.04's. */
export const oldestGlibc = '2.28';

/** The oldest Node.js; `bin/layerloom.cjs` asks for it too, before it imports anything. */
const oldestNode = 20;

/** Returns the reason why a version of Node.js is too old, and the remedy; undefined if it is not. */
export const nodeProblem = (version: string): { reason: string; remedy: string } | undefined =>
  Number.parseInt(version, 10) < oldestNode
    ? {
        reason: `it needs Node.js ${oldestNode} or later, and this is ${version}`,
        remedy: 'install a newer one',
      }
    : undefined;

/** The facts about a process that decide which addon it can load. */
export interface Host {
  /** As `process.platform`. */
  readonly platform: string;
  /** As `process.arch`: that of Node, which under emulation is not the machine's. */
  readonly arch: string;
  /** True for Linux with musl (Alpine), where addons for glibc cannot be loaded. */
  readonly musl: boolean;
  readonly endianness: 'BE' | 'LE';
  /** Version of Node. */
  readonly node: string;
}

interface DetectLibc {
  isNonGlibcLinuxSync(): boolean;
  versionSync(): string | null;
}

// Loaded on demand: other platforms have one C library, and commands that load no addon need not know it.
const detectLibc = () => createRequire(import.meta.url)('detect-libc') as DetectLibc;

export const currentHost = (): Host => {
  const { platform, arch } = process;
  const musl = platform === 'linux' && detectLibc().isNonGlibcLinuxSync();
  return { platform, arch, musl, endianness: endianness(), node: process.versions.node };
};

/** Version of this system's C library on Linux, such as `2.36`; undefined elsewhere, and where it does not say. */
export const libcVersion = (): string | undefined =>
  process.platform === 'linux' ? (detectLibc().versionSync() ?? undefined) : undefined;

const platforms32Bit = ['arm', 'ia32', 'mips', 'mipsel', 'ppc', 's390'];

const unsupported = ({
  platform,
  arch,
  endianness,
  node,
}: Host): { reason: string; remedy: string } | undefined => {
  if (platform === 'win32')
    return { reason: 'it needs Linux or macOS', remedy: 'use it in WSL 2 (`wsl --install`)' };
  if (platform !== 'linux' && platform !== 'darwin')
    return { reason: 'it needs Linux or macOS', remedy: 'use it there or in a container of Linux' };
  if (platforms32Bit.includes(arch))
    return { reason: 'it needs a 64-bit Node.js', remedy: 'install one (x64 or arm64)' };
  if (endianness === 'BE')
    return { reason: 'it needs a little-endian processor', remedy: 'use it on x64 or arm64' };
  return nodeProblem(node);
};

/**
 * Returns the name of a host's target, which is the folder of its addon in `prebuilds/`:
 * `<platform>-<arch>[-musl]`.
 *
 * @throws LayerloomError PLATFORM_UNSUPPORTED where the native code cannot run at all
 */
export const targetOf = (host: Host): string => {
  const { platform, arch, musl } = host;
  const problem = unsupported(host);
  if (problem !== undefined) throw new LayerloomError('PLATFORM_UNSUPPORTED', { platform, arch, ...problem });
  return `${platform}-${arch}${musl ? '-musl' : ''}`;
};

export const isShipped = (target: string): boolean => (shippedTargets as readonly string[]).includes(target);

/** The package's own directory. */
export const packageRoot = fileURLToPath(new URL('../../..', import.meta.url));

/** The file of a target's addon, shipped or built here. @param root the package's directory */
export const addonFile = (target: string, root = packageRoot): string =>
  join(root, 'prebuilds', target, 'layerloom.node');

/** SHA-256 of the addons that a release ships, in the form of `sha256sum`; other packages have no such file. */
export const checksumsFile = (root = packageRoot): string => join(root, 'prebuilds', 'SHA256SUMS');
