import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

// `npm run test:fuzz` plays many more, with AddressSanitizer.
it('the native door runs what is right and refuses the rest, whatever it is given', () => {
  const fuzz = fileURLToPath(new URL('fuzz/fuzz.mjs', import.meta.url));
  const { stdout, stderr, status } = spawnSync(process.execPath, [fuzz, '--cases', '5000', '--seed', '1'], {
    encoding: 'utf8',
  });
  expect({ stderr, status }, stdout).toEqual({ stderr: '', status: 0 });
  expect(stdout).toMatch(/[34]\d\.\d % right, done/);
});
