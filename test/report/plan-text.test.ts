import { describe, expect, it } from 'vitest';
import { describeExplanation } from '../../src/cli/text/explanation-text.js';
import { plainTable, shardRows } from '../../src/core/base/table.js';

const bytesOf = (bytes: number) => `${bytes} MB`;

describe('shards for people', () => {
  it('join neighbours of equal sizes in a row that fits a terminal', () => {
    const shards = Array.from({ length: 32 }, (_, index) => ({
      file: `model-${String(index + 1).padStart(5, '0')}-of-00032.safetensors`,
      bytes: index === 0 ? 566 : 708,
      tensors: 9,
    }));
    const text = plainTable(shardRows(shards, bytesOf), 1);
    expect(text).toContain('model-00002 … 00032-of-00032.safetensors, each  9 tensors  708 MB');
    expect(Math.max(...text.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(80);
  });

  it('of other names are named in full', () => {
    const shards = ['a.safetensors', 'b.safetensors'].map((file) => ({ file, bytes: 1, tensors: 1 }));
    expect(shardRows(shards, bytesOf)).toEqual([['a.safetensors … b.safetensors, each', '1 tensor', '1 MB']]);
  });
});

describe('an explanation for people', () => {
  it('rounds fractions to four digits, and no whole number', () => {
    const text = describeExplanation({
      tensor: 'lm_head.weight',
      layer: null,
      dtype: 'BF16',
      shape: [4],
      words: 'slerp',
      parameters: { t: 23 / 29, seed: 123456, models: [{ weight: 1 / 3 }] },
    } as unknown as Parameters<typeof describeExplanation>[0]);
    expect(text).toContain('t: 0.7931\n');
    expect(text).toContain('seed: 123456\n');
    expect(text).toContain('weight: 0.3333');
  });
});
