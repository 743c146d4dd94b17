import { endianness } from 'node:os';
import { join } from 'node:path';
import { isNonGlibcLinuxSync, versionSync } from 'detect-libc';
import { LayerloomError } from '../base/errors/errors.js';
import { packageRoot } from '../base/files/shipped.js';

/** Targets with addons in the package; `layerloom build` builds addons for other targets. */
export const shippedTargets = [
  'linux-x64',
  'linux-arm64',
  'linux-x64-musl',
  'linux-arm64-musl',
  'darwin-arm64',
  'darwin-x64',
] as const;

/** Oldest glibc for shipped Linux addons: RHEL 8's, older than Debian 10's and Ubuntu 20.04's. */
export const oldestGlibc = '2.28';

/** `bin/layerloom.cjs` also checks this version, before it imports anything. */
const oldestNode = 20;

export const nodeProblem = (version: string): { reason: string; remedy: string } | undefined =>
  Number.parseInt(version, 10) < oldestNode
    ? {
        reason: `it needs Node.js ${oldestNode} or later, and this is ${version}`,
        remedy: 'install a newer one',
      }
    : undefined;

export interface Host {
  readonly platform: string;
  /** Architecture of the process; under emulation it differs from the machine's. */
  readonly arch: string;
  /** True under musl, which cannot load addons for glibc. */
  readonly musl: boolean;
  readonly endianness: 'BE' | 'LE';
  readonly node: string;
}

export const currentHost = (): Host => {
  const { platform, arch } = process;
  const musl = platform === 'linux' && isNonGlibcLinuxSync();
  return { platform, arch, musl, endianness: endianness(), node: process.versions.node };
};

/** Returns the version of Linux's C library, such as `2.36`; undefined if unknown. */
export const libcVersion = (): string | undefined =>
  process.platform === 'linux' ? (versionSync() ?? undefined) : undefined;

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
 * Returns the folder in `prebuilds/`: `<platform>-<arch>[-musl]`.
 *
 * @throws PLATFORM_UNSUPPORTED if native code cannot run there at all
 */
export const targetOf = (host: Host): string => {
  const { platform, arch, musl } = host;
  const problem = unsupported(host);
  if (problem !== undefined) throw new LayerloomError('PLATFORM_UNSUPPORTED', { platform, arch, ...problem });
  return `${platform}-${arch}${musl ? '-musl' : ''}`;
};

export const isShipped = (target: string): boolean => (shippedTargets as readonly string[]).includes(target);

export const addonFile = (target: string, root = packageRoot): string =>
  join(root, 'prebuilds', target, 'layerloom.node');

/** Returns the path of the checksums. Only releases have the file. */
export const checksumsFile = (root = packageRoot): string => join(root, 'prebuilds', 'SHA256SUMS');
