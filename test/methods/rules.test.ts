import { join } from 'node:path';
import { expect, it } from 'vitest';
import { merge } from '../../src/api/merge.js';
import { planMerge } from '../../src/api/plan-merge.js';
import { tensorMethod } from '../../src/core/methods/framework/tensors/tensor-method.js';
import { registerMethod } from '../../src/core/methods/index.js';
import { writeFamily } from '../fixtures/family.js';
import { readTensors } from '../fixtures/merged.js';

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

it('a density of 0 leaves nothing of a task vector, in every method that prunes', async () => {
  const { root, a, b, base } = writeFamily({ layers: 1 });
  for (const method of [
    'ties',
    'breadcrumbs',
    'breadcrumbs_ties',
    'dare_ties',
    'dare_linear',
    'della',
    'della_linear',
  ] as const) {
    const out = join(root, method);
    await merge({ method, base, models: [a, b], weight: 1, density: 0 }, { out });
    const [merged, origin] = [await readTensors(out), await readTensors(base)];
    for (const [name, tensor] of Object.entries(origin))
      expect(withoutSign(merged[name]?.data), `${method} ${name}`).toEqual(withoutSign(tensor.data));
  }
});

/** Elements of bfloat16 with −0 as 0: a sum of −0 and 0 is 0. */
const withoutSign = (data: Uint8Array = new Uint8Array()): number[] =>
  Array.from(new Uint16Array(Uint8Array.from(data).buffer), (bits) => (bits === 0x8000 ? 0 : bits));
