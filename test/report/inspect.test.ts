import { describe, expect, it } from 'vitest';
import { describeCheckpoint, summariseCheckpoint } from '../../src/cli/text/models/inspect.js';
import type { CheckpointIndex } from '../../src/core/models/checkpoint/checkpoint.js';

const opened = (names: readonly string[], perFile: number): CheckpointIndex => ({
  name: 'many',
  path: '/many',
  files: Array.from({ length: Math.ceil(names.length / perFile) }, (_, index) => ({
    path: `/many/${index}.safetensors`,
    bytes: index,
    mtimeNs: '0',
    header: '',
  })),
  metadata: [],
  tensors: new Map(
    names.map((name, index) => [
      name,
      { file: Math.floor(index / perFile), begin: 0, end: 4, dtype: 'BF16', shape: [2] },
    ]),
  ),
  config: undefined,
  sideFiles: [],
  warnings: [],
});

describe('a summary', () => {
  // Quadratic time would take minutes.
  it.each<[string, number]>([
    ['one file', 200_000],
    ['20,000 files', 10],
  ])(
    'of 200,000 tensors in %s counts each of them once',
    (_, perFile) => {
      const names = Array.from(
        { length: 200_000 },
        (_, index) => `model.layers.${index % 50}.mlp.${index}.weight`,
      );
      const { tensors, parameters, bytes, dtypes, layers, shards } = summariseCheckpoint(
        opened(names, perFile),
      );
      const sum = { tensors: 200_000, parameters: 400_000, bytes: 800_000 };
      expect({ tensors, parameters, bytes }).toEqual(sum);
      expect(dtypes).toEqual({ BF16: sum });
      expect(layers).toHaveLength(50);
      for (const layer of layers)
        expect(layer).toMatchObject({ tensors: 4000, parameters: 8000, bytes: 16_000 });
      expect(new Set(shards.map((shard) => shard.tensors))).toEqual(new Set([perFile]));
    },
    30_000,
  );

  it('of 9,000 layers that differ shows the first and the last', () => {
    const names = Array.from({ length: 9000 }, (_, layer) =>
      ['up', 'down'].slice(layer % 2).map((module) => `model.layers.${layer}.mlp.${module}_proj.weight`),
    ).flat();
    const text = describeCheckpoint(summariseCheckpoint(opened(names, names.length)));
    expect(text).toMatch(/^ {2}layer 0 +2 tensors/m);
    expect(text).toMatch(/^ {2}layer 8999 +1 tensor/m);
    expect(text).toMatch(/^ {2}⋮$/m);
    expect(text.split('\n').length).toBeLessThan(4050);
  }, 60_000);
});
