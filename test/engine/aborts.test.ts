import { expect, it } from 'vitest';
import { abortOften, modelsIn, oddEnds, operationsOver, writeModels } from '../fixtures/aborts.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';

// A few aborts of some operations; `npm run test:aborts` does many with every method.
it('aborted at random moments a run ends whole or interrupted, and leaves neither files nor open ones', async () => {
  const models = modelsIn(temporaryDirectory());
  writeModels(models, 4, 1);
  const some = ['ties', 'soup', 'checksums'];
  const operations = Object.entries(operationsOver(models)).filter(([name]) => some.includes(name));
  const { code, signal, stderr, aborted } = await abortOften(Object.fromEntries(operations), 3, 1);
  expect({ code, signal, stderr, odd: oddEnds(aborted), left: aborted.left }).toEqual({
    code: 0,
    signal: null,
    stderr: '',
    odd: [],
    left: [],
  });
  expect(Object.keys(aborted.ended).sort()).toEqual(some.toSorted());
});
