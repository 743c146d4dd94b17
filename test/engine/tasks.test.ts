import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jobOf } from '../../src/core/engine/compute/jobs.js';
import { makeShards, type ShardSink } from '../../src/core/engine/compute/make-shards.js';
import {
  bytesOf,
  defaultSliceBytes,
  extentsOf,
  groupOfOne,
  tasksOf,
} from '../../src/core/engine/compute/tasks.js';
import type { InputFiles } from '../../src/core/engine/input-files.js';
import { covers } from '../../src/core/engine/output/journal.js';
import type { WorkerPool } from '../../src/core/engine/threads/pool.js';
import { Program } from '../../src/core/methods/operations/program/program.js';
import { sourcesOf } from '../../src/core/plan/operands.js';
import type { PlannedShard, PlannedTensor } from '../../src/core/plan/plan.js';
import type { ArithmeticDtype, Dtype } from '../../src/core/tensor/dtype.js';
import type { Extent } from '../../src/core/tensor/extent.js';
import { storedTensor } from '../../src/core/tensor/stored-tensor.js';

const MiB = 1024 * 1024;

const shardOf = (
  file: string,
  tensors: readonly { bytes: number; kind: 'copy' | 'linear'; dtype: Dtype }[],
): PlannedShard => {
  let position = 64;
  const planned = tensors.map(({ bytes, kind, dtype }, index): PlannedTensor => {
    const begin = position;
    position += bytes;
    const source = storedTensor(0, { file: 0, begin: 1000 + begin, end: 1000 + position, dtype });
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

const tasksIn = (shard: PlannedShard) => [...tasksOf(groupOfOne(shard).slabs)];

const copied = (file: string, bytes: number) => shardOf(file, [{ bytes, kind: 'copy', dtype: 'BF16' }]);

describe('tasks of a shard', () => {
  it('cover its data once, in order, and are no larger than a slice', () => {
    fc.assert(
      fc.property(someShard, (shard) => {
        let position = 64;
        for (const task of tasksIn(shard)) {
          const extents = extentsOf(task).get(shard);
          expect(extents).toHaveLength(1);
          for (const { begin, end } of extents ?? []) {
            expect(begin).toBe(position);
            position = end;
          }
          expect(bytesOf(task)).toBeLessThanOrEqual(defaultSliceBytes);
        }
        expect(position).toBe(shard.bytes);
      }),
    );
  });

  it('become jobs whose outputs advance with their elements', () => {
    const shard = shardOf('s', [{ bytes: 12 * MiB, kind: 'linear', dtype: 'BF16' }]);
    const [tensor] = shard.tensors as [PlannedTensor];
    const program = new Program(tensor.shape);
    const values = sourcesOf(tensor.expression).map((source) => program.source(source));
    const emitted = program.emit([program.linear(values, [1], tensor.dtype as ArithmeticDtype)]);
    const files = { fdOf: () => 3, outputs: new Map([[shard, 7]]) };
    const [first, second] = tasksIn(shard)
      .flatMap(({ pieces }) => pieces)
      .map((piece) => jobOf(piece, files, emitted));
    const jobOfElements = (first: number, count: number) => ({
      kind: 'compute',
      program: {
        sources: [{ fd: 3, begin: 1064, dtype: 'BF16', slicing: 'elements' }],
        nodes: [{ kind: 'linear', dtype: 'BF16', inputs: [0], weights: [1] }],
        first,
        count,
        columns: 12 * MiB,
        watched: [],
      },
      outputs: [{ value: 1, fd: 7, begin: 64, dtype: 'BF16' }],
    });
    expect(first).toEqual(jobOfElements(0, 4 * MiB));
    expect(second).toEqual(jobOfElements(4 * MiB, 2 * MiB));
  });
});

/** A pool without threads: a job is done as soon as it is given. Lanes take turns. */
const poolOf = (lanes: number, ran: () => void = () => undefined) =>
  ({
    stopped: false,
    inLanes: async (work: () => Promise<void>) => {
      await Promise.all(Array.from({ length: lanes }, work));
    },
    run: async () => {
      ran();
      await Promise.resolve();
      return { ok: true, nonFinite: [] };
    },
    throwIfStopped: () => undefined,
  }) as unknown as WorkerPool;

const inputs = { fdOf: () => 3, pathOf: () => 'input' } as unknown as InputFiles;

const recorder = (done: ReadonlyMap<string, readonly Extent[]> = new Map()) => {
  const events: string[] = [];
  const written = new Map<string, Extent[]>();
  const sink: ShardSink<PlannedShard> = {
    allowsNonFinite: () => false,
    begin: async ({ file }) => events.push(`begin ${file}`),
    has: ({ file }, extent) => covers(done.get(file) ?? [], extent),
    wrote: ({ file }, extents) => {
      events.push(`wrote ${file}`);
      written.set(file, [...(written.get(file) ?? []), ...extents]);
    },
    finish: async ({ file }) => void events.push(`finish ${file}`),
    fail: async ({ file }) => void events.push(`fail ${file}`),
    nameOf: ({ file }) => file,
  };
  return { sink, events, written };
};

/** Shards of copies only, since lowering a program takes measures. */
const someCopies = fc
  .array(fc.integer({ min: 0, max: 30 * MiB }), { maxLength: 5 })
  .map((sizes) => sizes.map((bytes, index) => copied(`s${index}`, bytes)));

describe('the loop that makes shards', () => {
  it('writes every byte once, whatever lanes there are, and finishes each shard after its last', async () => {
    await fc.assert(
      fc.asyncProperty(someCopies, fc.integer({ min: 1, max: 4 }), async (shards, lanes) => {
        const { sink, events, written } = recorder();
        await makeShards(shards.map(groupOfOne), poolOf(lanes), inputs, sink);
        for (const { file, bytes } of shards) {
          const extents = (written.get(file) ?? []).sort((a, b) => a.begin - b.begin);
          let position = 64;
          for (const { begin, end } of extents) {
            expect(begin).toBe(position);
            position = end;
          }
          expect(position).toBe(bytes);
          expect(events.filter((event) => event === `finish ${file}`)).toHaveLength(1);
          expect(events.lastIndexOf(`wrote ${file}`)).toBeLessThan(events.indexOf(`finish ${file}`));
        }
      }),
    );
  });

  it('gives each lane a shard of its own, and lets lanes help at the end', async () => {
    const { sink, events } = recorder();
    const shards = [copied('big', 64 * MiB), copied('small', 8 * MiB)];
    let running = 0;
    let most = 0;
    const pool = poolOf(2, () => {
      running += 1;
      most = Math.max(most, running);
      queueMicrotask(() => {
        running -= 1;
      });
    });
    await makeShards(shards.map(groupOfOne), pool, inputs, sink);
    expect(events.slice(0, 2)).toEqual(['begin big', 'begin small']);
    expect(events.filter((event) => event === 'wrote big')).toHaveLength(8);
    expect(most).toBe(2);
  });

  it('has as many lanes on a group as it has files', async () => {
    const { sink, events } = recorder();
    const [a, b, c] = [copied('a', 32 * MiB), copied('b', 32 * MiB), copied('c', 8 * MiB)] as const;
    const together = { shards: [a, b], slabs: [a, b].flatMap((shard) => groupOfOne(shard).slabs) };
    await makeShards([together, groupOfOne(c)], poolOf(3), inputs, sink);
    // Two lanes take the first group; the third begins the next one before that is done.
    expect(events.indexOf('begin c')).toBeLessThan(events.indexOf('finish a'));
  });

  it('leaves out what an earlier run has done', async () => {
    const { sink, written } = recorder(new Map([['s', [{ begin: 64, end: 64 + 20 * MiB }]]]));
    await makeShards([groupOfOne(copied('s', 32 * MiB))], poolOf(1), inputs, sink);
    expect(written.get('s')?.map(({ begin }) => begin)).toEqual([64 + 16 * MiB, 64 + 24 * MiB]);
  });

  it('gives up the shards of a group that fails, and no others', async () => {
    const { sink, events } = recorder();
    let job = 0;
    const pool = poolOf(1);
    pool.run = async () => {
      job += 1;
      if (job === 2) throw new Error('the second job');
      return { ok: true, nonFinite: [] };
    };
    await makeShards([copied('bad', 32 * MiB), copied('good', 16 * MiB)].map(groupOfOne), pool, inputs, sink);
    expect(events).toContain('fail bad');
    expect(events).not.toContain('finish bad');
    expect(events).toContain('finish good');
  });

  it('finishes no shard of which a task was not begun when the pool was stopped', async () => {
    const { sink, events } = recorder();
    const pool = poolOf(2) as WorkerPool & { stopped: boolean };
    pool.run = async () => {
      pool.stopped = true;
      return { ok: true, nonFinite: [] };
    };
    await makeShards([copied('a', 32 * MiB), copied('b', 32 * MiB)].map(groupOfOne), pool, inputs, sink);
    expect(events.filter((event) => event.startsWith('finish'))).toEqual([]);
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
