import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

it('the guard survives a file that shrinks, whatever handlers of SIGBUS the host has', () => {
  const program = fileURLToPath(new URL('../../native/build/guard_test', import.meta.url));
  expect(execFileSync(program, { encoding: 'utf8' })).toMatch(/^\d+ checks, 0 failed\n$/);
});
