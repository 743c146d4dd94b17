import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { Run } from '../../src/core/engine/run.js';

it('runs at once cause no warning of Node', async () => {
  const warnings: Error[] = [];
  const note = (warning: Error) => void warnings.push(warning);
  process.on('warning', note);
  const runs = Array.from({ length: 12 }, () => new Run({ threads: 1 }));
  await setImmediate();
  for (const run of runs) await run[Symbol.asyncDispose]();
  process.off('warning', note);
  expect(warnings).toEqual([]);
});
