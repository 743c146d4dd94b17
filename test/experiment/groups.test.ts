import { describe, expect, it } from 'vitest';
import { computedTensor } from '../../src/core/plan/operands/computed.js';
import type { PlannedExpression, PlannedTensor } from '../../src/core/plan/plan.js';
import type { Dtype } from '../../src/core/tensor/dtype.js';
import type { StoredTensor } from '../../src/core/tensor/stored-tensor.js';
import { storedTensor } from '../../src/core/tensor/stored-tensor.js';
import { type DistinctShard, groupShards } from '../../src/study/batch/planning/groups.js';

const range = (input: number, begin = 0, bytes = 16, dtype: Dtype = 'BF16'): StoredTensor =>
  storedTensor(input, { file: 0, begin, end: begin + bytes, dtype });

const copyOf = (source: StoredTensor): PlannedExpression => ({ kind: 'copy', source });

const meanOf = (...sources: StoredTensor[]): PlannedExpression => ({
  kind: 'linear',
  terms: sources.map((source) => ({ source, weight: 1 / sources.length })),
});

const tensor = (expression: PlannedExpression, more: Partial<PlannedTensor> = {}): PlannedTensor => ({
  name: 'w',
  dtype: 'BF16',
  shape: [2, 4],
  begin: 0,
  end: 16,
  layer: 0,
  expression,
  ...more,
});

const shard = (key: string, ...tensors: PlannedTensor[]): DistinctShard => ({ key, bytes: 100, tensors });

const keysOf = (shards: readonly DistinctShard[]): string[][] =>
  groupShards(shards).map((group) => group.shards.map(({ key }) => key));

const slabsOf = (shards: readonly DistinctShard[]): string[][] =>
  groupShards(shards).flatMap(({ slabs }) =>
    slabs.map(({ outputs }) => outputs.map(({ shard: { key } }) => key)),
  );

describe('groups of shards', () => {
  it('have the shards that read a range in common, in the order of the shards', () => {
    const shards = [
      shard('a', tensor(copyOf(range(0)))),
      shard('b', tensor(copyOf(range(1)))),
      shard('c', tensor(meanOf(range(0), range(2)))),
      shard('d', tensor(copyOf(range(1)))),
    ];
    expect(keysOf(shards)).toEqual([
      ['a', 'c'],
      ['b', 'd'],
    ]);
  });

  it('join shards that have nothing in common but a third, which comes later', () => {
    const shards = [
      shard('a', tensor(copyOf(range(0)))),
      shard('b', tensor(copyOf(range(1)))),
      shard('c', tensor(copyOf(range(2)))),
      shard('d', tensor(meanOf(range(2), range(1)))),
      shard('e', tensor(meanOf(range(1), range(0)))),
      shard('f', tensor(copyOf(range(3)))),
    ];
    expect(keysOf(shards)).toEqual([['a', 'b', 'c', 'd', 'e'], ['f']]);
  });

  it('are told apart by byte ranges: other bytes of the same file are no common input', () => {
    expect(keysOf([shard('a', tensor(copyOf(range(0)))), shard('b', tensor(copyOf(range(0, 16))))])).toEqual([
      ['a'],
      ['b'],
    ]);
  });

  it('look into nested recipes', () => {
    const nested: PlannedExpression = {
      kind: 'linear',
      terms: [{ source: computedTensor('BF16', meanOf(range(0), range(1))), weight: 1 }],
    };
    expect(keysOf([shard('a', tensor(nested)), shard('b', tensor(copyOf(range(1))))])).toEqual([['a', 'b']]);
  });

  it('are cut at 256 shards, and each part has slabs of its own', () => {
    const shards = Array.from({ length: 600 }, (_, index) => shard(`${index}`, tensor(copyOf(range(0)))));
    const groups = groupShards(shards);
    expect(groups.map((group) => group.shards.length)).toEqual([256, 256, 88]);
    expect(groups.flatMap((group) => group.shards)).toEqual(shards);
    expect(groups.map(({ slabs }) => slabs.map(({ outputs }) => outputs.length))).toEqual([
      [256],
      [256],
      [88],
    ]);
  });

  it('are none of no shards', () => {
    expect(groupShards([])).toEqual([]);
  });
});

describe('slabs of a group', () => {
  it('have the tensors that read a range in common, of one shard or several', () => {
    const shards = [
      shard('a', tensor(copyOf(range(0))), tensor(copyOf(range(0, 16)), { name: 'v' })),
      shard('b', tensor(meanOf(range(0), range(1)))),
    ];
    expect(slabsOf(shards)).toEqual([['a', 'b'], ['a']]);
  });

  it('have one shape: the same bytes in another shape are sliced otherwise', () => {
    const shards = [
      shard('a', tensor(meanOf(range(0), range(1)))),
      shard('b', tensor(meanOf(range(0), range(1)), { shape: [8] })),
    ];
    expect(keysOf(shards)).toEqual([['a', 'b']]);
    expect(slabsOf(shards)).toEqual([['a'], ['b']]);
  });

  it('have one tensor where its bits are taken as they are, or no kernel computes in its dtype', () => {
    const same: PlannedExpression = { kind: 'same', sources: [range(0, 0, 16, 'I16')] };
    const rows: PlannedExpression = {
      kind: 'rowSelect',
      source: range(0),
      base: range(1),
      rows: 'input',
      kept: 'AA==',
    };
    for (const one of [
      tensor(same, { dtype: 'I16' }),
      tensor(copyOf(range(0, 0, 16, 'I16')), { dtype: 'I16' }),
      tensor(rows),
    ])
      expect(slabsOf([shard('a', one), shard('b', one)]), one.expression.kind).toEqual([['a'], ['b']]);
  });

  it('cost each range once, however many outputs read it', () => {
    const [group] = groupShards([
      shard('a', tensor(meanOf(range(0), range(1)))),
      shard('b', tensor(meanOf(range(1), range(0), range(2, 0, 16)))),
      shard('c', tensor(copyOf(range(2)), { shape: [8] })),
    ]);
    expect(group?.slabs.map(({ bytesToRead }) => bytesToRead)).toEqual([48, 16]);
  });
});
