import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Emitted } from '../../src/engine/compute/program.js';
import { Schedule } from '../../src/engine/compute/schedule.js';
import { defaultSliceBytes, jobOf, stretchesOf } from '../../src/engine/compute/slices.js';
import { covers } from '../../src/engine/output/journal.js';
import { dtypeIndex } from '../../src/native/addon.js';
import { type PlannedShard, type PlannedTensor, sourcesOf } from '../../src/plan/plan.js';
import type { ArithmeticDtype, Dtype } from '../../src/tensor/dtype.js';

const MiB = 1024 * 1024;

/** A conversion. */
const programOf = (tensor: PlannedTensor): Emitted => ({
  sources: sourcesOf(tensor.expression),
  nodes: [{ kind: 0, dtype: dtypeIndex(tensor.dtype as ArithmeticDtype), inputs: [0], numbers: [1] }],
  values: [1],
});

const shardOf = (
  file: string,
  tensors: readonly { bytes: number; kind: 'copy' | 'linear'; dtype: Dtype }[],
): PlannedShard => {
  let position = 64;
  const planned = tensors.map(({ bytes, kind, dtype }, index): PlannedTensor => {
    const begin = position;
    position += bytes;
    const source = { input: 0, file: 0, begin: 1000 + begin, end: 1000 + position, dtype };
    const expression =
      kind === 'copy' ? ({ kind, source } as const) : ({ kind, terms: [{ source, weight: 1 }] } as const);
    return { name: `t${index}`, dtype, shape: [bytes], begin, end: position, layer: null, expression };
  });
  return { file, bytes: position, tensors: planned };
};

const someShard = fc
  .array(
    fc.record({
      bytes: fc.oneof(fc.nat(1000), fc.integer({ min: 0, max: 30 * MiB })).map((n) => n - (n % 8)),
      kind: fc.constantFrom('copy' as const, 'linear' as const),
      dtype: fc.constantFrom('BF16' as const, 'F32' as const, 'F64' as const),
    }),
    { minLength: 1, maxLength: 6 },
  )
  .map((tensors) => shardOf('s', tensors));

describe('stretches of a shard', () => {
  it('cover its data once, in order, and are no larger than a slice', () => {
    fc.assert(
      fc.property(someShard, (shard) => {
        let position = 64;
        for (const { begin, end, slices } of stretchesOf(shard)) {
          expect(begin).toBe(position);
          expect(end - begin).toBe(slices.reduce((total, { bytes }) => total + bytes, 0));
          expect(end - begin).toBeLessThanOrEqual(defaultSliceBytes);
          position = end;
        }
        expect(position).toBe(shard.bytes);
      }),
    );
  });

  it('become jobs whose sources and outputs advance together', () => {
    const [first, second] = [
      ...stretchesOf(shardOf('s', [{ bytes: 12 * MiB, kind: 'linear', dtype: 'BF16' }])),
    ]
      .flatMap(({ slices }) => slices)
      .map((slice) => jobOf(slice, 7, () => 3, programOf(slice.tensor)));
    expect(first).toEqual({
      kind: 2,
      sources: [{ fd: 3, offset: 1064, dtype: 0 }],
      program: {
        nodes: [{ kind: 0, dtype: 0, inputs: [0], numbers: [1] }],
        first: 0,
        columns: 12 * MiB,
      },
      outputs: [{ value: 1, to: { fd: 7, offset: 64, dtype: 0 } }],
      count: 4 * MiB,
    });
    expect(second).toMatchObject({
      sources: [{ offset: 1064 + 8 * MiB }],
      outputs: [{ to: { offset: 64 + 8 * MiB } }],
      count: 2 * MiB,
    });
  });

  it('read a source by its own width where the output has another', () => {
    const shard = shardOf('s', [{ bytes: 16 * MiB, kind: 'linear', dtype: 'F32' }]);
    const [tensor] = shard.tensors;
    if (tensor?.expression.kind !== 'linear') throw new Error('a linear tensor was planned');
    const terms = tensor.expression.terms.map((term) => ({
      ...term,
      source: { ...term.source, dtype: 'BF16' as const },
    }));
    const narrow = { ...shard, tensors: [{ ...tensor, expression: { kind: 'linear' as const, terms } }] };
    const [, second] = [...stretchesOf(narrow)]
      .flatMap(({ slices }) => slices)
      .map((slice) => jobOf(slice, 7, () => 3, programOf(slice.tensor)));
    expect(second).toMatchObject({
      sources: [{ offset: 1064 + 4 * MiB }],
      outputs: [{ to: { offset: 64 + 8 * MiB } }],
    });
  });
});

describe('a schedule', () => {
  it('hands out every stretch once, whatever lanes ask', () => {
    fc.assert(
      fc.property(fc.array(someShard, { maxLength: 5 }), fc.integer({ min: 1, max: 4 }), (shards, lanes) => {
        const named = shards.map((shard, index) => ({ ...shard, file: `s${index}` }));
        const schedule = new Schedule(named, new Map());
        const current: (ReturnType<Schedule['next']> | undefined)[] = Array(lanes).fill(undefined);
        const seen = new Map<string, number>();
        for (let lane = 0; ; lane = (lane + 1) % lanes) {
          const next = schedule.next(current[lane]?.work);
          if (next === undefined) break;
          current[lane] = next;
          seen.set(
            next.work.shard.file,
            (seen.get(next.work.shard.file) ?? 0) + next.stretch.end - next.stretch.begin,
          );
        }
        expect([...seen.values()].reduce((a, b) => a + b, 0)).toBe(schedule.bytes);
        for (const { file, bytes } of named) expect(seen.get(file) ?? 0).toBe(bytes - 64);
      }),
    );
  });

  it('gives each lane a shard of its own, largest first, and lets lanes help at the end', () => {
    const big = shardOf('big', [{ bytes: 32 * MiB, kind: 'copy', dtype: 'BF16' }]);
    const small = shardOf('small', [{ bytes: 8 * MiB, kind: 'copy', dtype: 'BF16' }]);
    const schedule = new Schedule([small, big], new Map());
    const one = schedule.next(undefined);
    const two = schedule.next(undefined);
    expect([one?.work.shard.file, two?.work.shard.file]).toEqual(['big', 'small']);
    expect(schedule.next(two?.work)?.work.shard.file).toBe('big');
  });

  it('leaves out what an earlier run has done', () => {
    const shard = shardOf('s', [{ bytes: 32 * MiB, kind: 'copy', dtype: 'BF16' }]);
    const schedule = new Schedule([shard], new Map([['s', [{ begin: 64, end: 64 + 20 * MiB }]]]));
    expect(schedule.bytes).toBe(16 * MiB);
    expect(schedule.next(undefined)?.stretch.begin).toBe(64 + 16 * MiB);
  });
});

describe('extents', () => {
  it.each<[string, [number, number][], boolean]>([
    ['one that holds it', [[0, 30]], true],
    [
      'two that meet in it',
      [
        [15, 30],
        [0, 15],
      ],
      true,
    ],
    [
      'two that leave a hole',
      [
        [0, 14],
        [15, 30],
      ],
      false,
    ],
    ['one that ends in it', [[0, 19]], false],
    ['none', [], false],
  ])('cover another when there is %s', (_, extents, covered) => {
    expect(
      covers(
        extents.map(([begin, end]) => ({ begin, end })),
        { begin: 10, end: 20 },
      ),
    ).toBe(covered);
  });
});
