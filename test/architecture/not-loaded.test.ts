import { expect, it } from 'vitest';
import { fp8Warnings, peftWarnings } from '../../src/core/models/architecture/not-loaded.js';

it('tells of families whose outputs another loader does not load whole', () => {
  expect(peftWarnings({ model_type: 'qwen2_moe' })).toEqual([
    expect.stringContaining('PEFT 0.21 does not find all modules of a qwen2_moe model'),
  ]);
  expect(fp8Warnings({ model_type: 'qwen3_vl_moe' })).toEqual([
    expect.stringContaining('does not load block-wise FP8 weights of a qwen3_vl_moe model'),
  ]);
  for (const type of ['llama', 'qwen3_moe', 'mixtral'])
    expect([...peftWarnings({ model_type: type }), ...fp8Warnings({ model_type: type })]).toEqual([]);
  expect([...peftWarnings(undefined), ...fp8Warnings({})]).toEqual([]);
});
