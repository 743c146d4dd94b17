import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

interface Locked {
  readonly dev?: boolean;
  readonly peer?: boolean;
  readonly license?: string;
  readonly resolved?: string;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const lockfile = JSON.parse(readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8')) as {
  readonly packages: Readonly<Record<string, Locked>>;
};

describe('the lockfile', () => {
  it('records no download addresses', () => {
    expect(Object.entries(lockfile.packages).filter(([, { resolved }]) => resolved !== undefined)).toEqual(
      [],
    );
  });

  // `npm ci` refuses a lockfile without other platforms' packages, which npm omits if its registry does.
  it('has the packages of every platform', () => {
    const names = new Set(Object.keys(lockfile.packages).map((path) => path.split('node_modules/').at(-1)));
    const wanted = Object.values(lockfile.packages).flatMap(({ optionalDependencies = {} }) =>
      Object.keys(optionalDependencies),
    );
    expect(wanted.filter((name) => !names.has(name))).toEqual([]);
  });

  it('installs few packages, of licences that ask for no more than a notice', () => {
    const permissive = ['MIT', 'ISC', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', '0BSD', 'BlueOak-1.0.0'];
    const installed = Object.entries(lockfile.packages).filter(
      ([path, { dev, peer }]) => path !== '' && dev !== true && peer !== true,
    );
    expect(installed.length).toBeLessThan(70);
    expect(
      installed.flatMap(([path, { license = 'none' }]) =>
        permissive.includes(license) ? [] : [`${path}: ${license}`],
      ),
    ).toEqual([]);
  });
});
