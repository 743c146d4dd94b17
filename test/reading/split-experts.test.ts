import { expect, it } from 'vitest';
import { openCheckpoint } from '../../src/index.js';
import { fill, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';

it.each([
  ['gate_up_projs.0.weight', true],
  ['down_projs.0.weight', true],
  ['gate_up_proj', false],
  ['0.gate_proj.weight', false],
])('warns of experts %s: %s', async (name, warns) => {
  const tensors = fill({ [`model.layers.0.mlp.experts.${name}`]: [4, 2] }, 'BF16', 1);
  const { warnings } = await openCheckpoint(writeCheckpoint(temporaryDirectory(), { tensors }));
  expect(warnings.some((text) => text.includes('transformers 5 does not find them'))).toBe(warns);
});
