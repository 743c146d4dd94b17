import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { library } from './seam.mjs';

/** Runs seeds of the simulator in a process of its own, and returns what it prints. */
const simulate = (...words: string[]): string => {
  const { stdout, stderr } = spawnSync(
    process.execPath,
    [fileURLToPath(new URL('simulate.mjs', import.meta.url)), ...words],
    { encoding: 'utf8' },
  );
  return stdout + stderr;
};

// Only Linux loads the library, which `npm test` builds.
describe.skipIf(process.platform !== 'linux')('under faults', () => {
  it('has the library that makes calls fail', () => {
    expect(existsSync(library), 'npx cmake-js build -O native/build -T faults').toBe(true);
  });

  it('every command keeps its promises, in 240 seeds', { timeout: 300_000 }, () => {
    expect(simulate('--seeds', '1:240')).toMatch(/^240 seeds, 0 of which broke an invariant/m);
  });

  it('nothing that was reported done is lost in a power cut, in 60 seeds', { timeout: 300_000 }, () => {
    expect(simulate('--power', '--seeds', '1:60')).toMatch(/^60 seeds, 0 of which broke an invariant/m);
  });
});
