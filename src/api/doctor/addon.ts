import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { LayerloomError } from '../../core/base/errors/errors.js';
import { findAddon, instructionSets } from '../../core/native/addon.js';
import { checksumsFile, currentHost, libcVersion } from '../../core/native/prebuilt.js';
import { type Finding, ok, problem, warning } from './finding.js';

export interface AddonFacts {
  readonly file: string;
  /** `shipped` in a release; `built` by `npm run build` or `layerloom build`; `given` by LAYERLOOM_ADDON. */
  readonly origin: 'shipped' | 'built' | 'given';
  readonly instructionSet: string;
  readonly instructionSets: readonly string[];
}

export interface PlatformFacts {
  readonly platform: string;
  readonly arch: string;
  /** `glibc 2.36`, `musl 1.2.5`; Linux only. */
  readonly libc: string | undefined;
  /** True for an x64 Node translated on Apple silicon. */
  readonly rosetta: boolean;
}

/** Returns `shipped` if the package's checksums list this file with `content`'s SHA-256. */
export const originOf = (content: Buffer, target: string, sums: string | undefined): 'shipped' | 'built' => {
  const hash = createHash('sha256').update(content).digest('hex');
  return sums?.split('\n').includes(`${hash}  ${join(target, 'layerloom.node')}`) ? 'shipped' : 'built';
};

/** @throws LayerloomError as `instructionSets` */
export const examineAddon = (): AddonFacts => {
  const { chosen, available } = instructionSets();
  const { file, target } = findAddon();
  const sums = checksumsFile();
  const origin =
    target === undefined
      ? 'given'
      : originOf(readFileSync(file), target, existsSync(sums) ? readFileSync(sums, 'utf8') : undefined);
  return { file, origin, instructionSet: chosen, instructionSets: available };
};

const isTranslated = (): boolean => {
  try {
    return execFileSync('sysctl', ['-n', 'sysctl.proc_translated'], { encoding: 'utf8' }).trim() === '1';
  } catch {
    // Intel Macs lack this value.
    return false;
  }
};

export const examinePlatform = (): PlatformFacts => {
  const { platform, arch, musl } = currentHost();
  const version = libcVersion();
  const libc =
    platform === 'linux'
      ? `${musl ? 'musl' : 'glibc'}${version === undefined ? '' : ` ${version}`}`
      : undefined;
  return { platform, arch, libc, rosetta: platform === 'darwin' && arch === 'x64' && isTranslated() };
};

export const platformFinding = ({ platform, arch, libc, rosetta }: PlatformFacts): Finding => {
  const text = `${platform}-${arch}${libc === undefined ? '' : `, ${libc}`}`;
  return rosetta
    ? warning(
        'platform',
        `${text}, translated by Rosetta`,
        'install Node.js for arm64, which is several times as fast',
      )
    : ok('platform', text);
};

const origins = { shipped: 'shipped', built: 'a local build', given: 'named by LAYERLOOM_ADDON' } as const;

/** @param facts about the addon, or the error of loading it, whose message has the remedy */
export const addonFindings = (facts: AddonFacts | LayerloomError): Finding[] => {
  if (facts instanceof LayerloomError) return [problem('addon', facts.message)];
  const { file, origin, instructionSet, instructionSets: available } = facts;
  const sets = `${instructionSet}${available.length > 1 ? ` (of ${available.join(', ')})` : ''}`;
  return [
    ok('addon', `${file}, ${origins[origin]}`),
    available.length === 1
      ? warning(
          'instructions',
          `${sets} only`,
          'averages are slow without AVX2 or NEON: a virtual machine may hide them (CPU type `host`)',
        )
      : ok('instructions', sets),
  ];
};
