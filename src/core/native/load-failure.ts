import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { layerloomCommand } from '../base/errors/command-line.js';
import { LayerloomError, reasonOf } from '../base/errors/errors.js';
import { packageRoot } from '../base/files/shipped.js';
import { isShipped, libcVersion, oldestGlibc } from './prebuilt.js';

export interface SoughtAddon {
  readonly file: string;
  /** The target of the package's addon; undefined if LAYERLOOM_ADDON names a file. */
  readonly target: string | undefined;
}

const isCheckout = (root: string): boolean => existsSync(join(root, 'src', 'core', 'native', 'addon.ts'));

/** True if the package has C++ sources, which a Python wheel lacks. */
export const hasSources = (root: string): boolean => existsSync(join(root, 'CMakeLists.txt'));

export const buildAdvice = (root = packageRoot): string => {
  const build = `\`npx ${layerloomCommand('build')}\``;
  const command = isCheckout(root)
    ? `\`npm run build\` in ${root}`
    : hasSources(root)
      ? build
      : `${build} of npm's package`;
  return `${command} (needs CMake 3.20 and a C++20 compiler)`;
};

/** Returns the error for a failed loading. Recognises an old glibc by the loader's message. */
export const loadFailure = ({ file, target }: SoughtAddon, cause: unknown): LayerloomError => {
  const reason = reasonOf(cause).split('\n')[0] ?? '';
  if (target === undefined)
    return new LayerloomError(
      'ADDON_BROKEN',
      { file, reason, remedy: 'the variable LAYERLOOM_ADDON names it; unset it to use the own one' },
      { cause },
    );
  if (!existsSync(file))
    return new LayerloomError('ADDON_MISSING', { file, target, remedy: repair(target) }, { cause });
  return new LayerloomError('ADDON_BROKEN', { file, ...brokenBy(reason, target) }, { cause });
};

const repair = (target: string): string =>
  isShipped(target) && !isCheckout(packageRoot)
    ? `install layerloom again, or build it with ${buildAdvice()}`
    : `build it with ${buildAdvice()}`;

const brokenBy = (reason: string, target: string): { reason: string; remedy: string } => {
  // An addon for the other C library needs it by name. Under glibc, `libc.so` is absent or a linker script.
  const isMusl = target.endsWith('-musl');
  if ((isMusl ? /\bld-linux/ : /\blibc\.so: /).test(reason)) {
    const [built, has] = isMusl ? ['glibc', 'musl'] : ['musl', 'glibc'];
    return { reason: `it is for ${built}, and this system has ${has}: ${reason}`, remedy: repair(target) };
  }
  const needed = /\b(?<name>GLIBC(?:XX)?)_(?<version>[\d.]+)['’]? not found/.exec(reason)?.groups;
  if (needed === undefined) return { reason, remedy: repair(target) };
  return {
    reason: `it needs ${needed['name']} ${needed['version']}, and this system has glibc ${libcVersion() ?? 'of another version'}`,
    remedy: `use a system with glibc ${oldestGlibc} or later, or build it here with ${buildAdvice()}`,
  };
};
