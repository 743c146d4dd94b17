import { join } from 'node:path';
import { expect, it } from 'vitest';
import { merge, planMerge, registerMethod, tensorMethod } from '../../src/index.js';
import { writeFamily } from '../fixtures/family.js';

declare module '../../src/index.js' {
  interface CustomMethods {
    first_alone: { models: readonly string[] };
  }
}

it('a rule that gives a number too few has no result', async () => {
  const method = tensorMethod({
    name: 'first_alone',
    title: 'First alone',
    base: 'ignored',
    expression: ({ models }) => ({
      kind: 'gram',
      rule: 'first_alone',
      origin: null,
      sources: models,
      of: 'tensor',
      parameters: {},
    }),
  });
  registerMethod(method, { rules: { first_alone: () => [1] } });
  const { root, a, b } = writeFamily({ layers: 1 });
  await expect(
    merge({ method: 'first_alone', models: [a, b] }, { out: join(root, 'out') }),
  ).rejects.toMatchObject({
    code: 'MERGE_UNDEFINED',
    details: { reason: 'the rule returned 1 coefficients for 2 operands' },
  });
});

it('iterations have a limit, since nothing interrupts them', async () => {
  const { a, b } = writeFamily({ layers: 1 });
  const karcher = (maxIter: number) => planMerge({ method: 'karcher', models: [a, b], maxIter });
  await expect(karcher(10_001)).rejects.toMatchObject({
    code: 'INVALID_PARAMETER',
    details: { value: 10_001 },
  });
  await expect(karcher(10_000)).resolves.toMatchObject({ method: 'karcher' });
});
