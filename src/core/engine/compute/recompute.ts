import { createHash } from 'node:crypto';
import { constants, type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { LayerloomError, withPath } from '../../base/errors/errors.js';
import { itemAt, valueAt } from '../../base/errors/lookup.js';
import { reading } from '../../base/files/writing.js';
import { readBlock } from '../../models/checkpoint/files/read-block.js';
import { sourcesOfTensors } from '../../plan/operands.js';
import type { MergePlan, PlannedShard } from '../../plan/plan.js';
import { verbatimFiles } from '../../plan/reports/missing-weights.js';
import type { Extent } from '../../tensor/extent.js';
import { headerOf } from '../output/shard-file.js';
import { type Progress, Run, type RunControls, type RunCost } from '../run.js';
import { carryOut } from './make-shards.js';
import { NonFiniteShards } from './measures/non-finite.js';
import { Programs } from './programs.js';
import { openScratch } from './scratch.js';
import { bytesOf, extentsOf, groupOfOne, type Task, tasksOf } from './tasks.js';

export interface Sample {
  /** Probability that a tile is checked: above 0, at most 1. */
  readonly share: number;
  /** Equal seeds select equal tiles. */
  readonly seed: number;
}

/** A tensor, or a file's header, that differs from the recomputed merge. */
export interface DifferentTensor {
  readonly file: string;
  /** Null for a header. */
  readonly tensor: string | null;
  /** Offset in the file of the first difference. */
  readonly at: number;
}

export interface Recomputed extends RunCost {
  readonly tiles: number;
  readonly recomputed: number;
  readonly bytes: number;
  readonly different: readonly DifferentTensor[];
  readonly warnings: readonly string[];
}

/**
 * Bytes of a sampled tile. Smaller than a merge's tasks, so that even a small share of a small model has several tiles.
 */
const sampledBytes = 1024 * 1024;

interface Tile {
  readonly shard: PlannedShard;
  readonly task: Task<PlannedShard>;
}

/**
 * Recomputes tiles of a plan's shards and compares them with an output's files. Always compares headers.
 * Tiles are divided like the engine's tasks, about 8 MiB each (1 MiB in a sample), and go to unlinked
 * temporary files.
 *
 * @throws READ_FAILED, WRITE_FAILED, and the codes of computing in `runPlan`
 */
export const recompute = async (
  plan: MergePlan,
  directory: string,
  sample: Sample,
  controls: RunControls,
): Promise<Recomputed> => {
  await using run = new Run(controls);
  const { pool } = run;
  run.fitMemory(plan.shards.flatMap(({ tensors }) => tensors));
  const sources = plan.shards.flatMap(({ tensors }) => sourcesOfTensors(tensors));
  const inputs = await run.open(plan.inputs, sources, verbatimFiles(plan));
  const scattered = sample.share < 1 || undefined;
  const sliceBytes = scattered && sampledBytes;
  const all = plan.shards.flatMap((shard) =>
    [...tasksOf(groupOfOne(shard).slabs, sliceBytes)].map((task): Tile => ({ shard, task })),
  );
  const drawn = all.filter((_, index) => isChosen(sample, index));
  // Takes one tile if the draw selects no tile of a small output.
  const chosen = drawn.length > 0 ? drawn : all.slice(sample.seed % Math.max(1, all.length)).slice(0, 1);
  const total = chosen.reduce((bytes, { task }) => bytes + bytesOf(task), 0);
  const different = new Map<string, DifferentTensor>();
  const note = (found: DifferentTensor): void => {
    const key = `${found.file}\0${found.tensor}`;
    const former = different.get(key);
    if (former === undefined || found.at < former.at) different.set(key, found);
  };
  await using files = await OpenOutput.open(directory, plan.shards, pool.threads * 2);
  const sink = { allowsNonFinite: () => plan.allowNonFinite ?? false, nameOf: fileOf };
  const nonFinite = new NonFiniteShards<PlannedShard>();
  const programs = new Programs<PlannedShard>(pool, inputs, sink, nonFinite);
  let done = 0;
  const progress = (): Progress => ({ phase: 'recomputation', done, total });
  const waiting = chosen.values();
  const compareNext = async ({ shard, task }: Tile, scratch: FileHandle): Promise<void> => {
    const outputs = new Map([[shard, scratch.fd]]);
    const open = { fdOf: inputs.fdOf, outputs, scattered };
    await carryOut(task, { files: open, programs, pool, inputs, sink, nonFinite });
    const ranges = rangesOf(task);
    const compared = await pool.compare(files.fdOf(shard), scratch.fd, ranges);
    if (!compared.ok)
      throw new LayerloomError('READ_FAILED', { file: join(directory, shard.file), reason: compared.reason });
    for (const at of compared.differences)
      if (at !== undefined) note({ file: shard.file, tensor: tensorAt(shard, at), at });
    await scratch.truncate(0);
    done += bytesOf(task);
  };
  try {
    for (const shard of plan.shards) {
      const at = await files.headerDifference(shard);
      if (at !== undefined) note({ file: shard.file, tensor: null, at });
    }
    await run.reporting(progress, () =>
      pool.inLanes(async () => {
        const scratch = files.takeScratch();
        for (const tile of waiting) {
          if (pool.stopped) return;
          await compareNext(tile, scratch);
        }
      }),
    );
    await inputs.verify();
  } catch (error) {
    throw run.reasonOf(error, {});
  }
  return {
    ...{ tiles: all.length, recomputed: chosen.length, bytes: total },
    different: [...different.values()].toSorted((a, b) =>
      a.file === b.file ? a.at - b.at : a.file < b.file ? -1 : 1,
    ),
    ...run.cost,
    warnings: run.warnings,
  };
};

const fileOf = ({ file }: PlannedShard): string => file;

/** True if a tile is drawn; does not depend on the order of computation. */
export const isChosen = ({ share, seed }: Sample, tile: number): boolean =>
  share >= 1 || createHash('sha256').update(`${seed} ${tile}`).digest().readUIntBE(0, 6) < share * 2 ** 48;

const rangesOf = ({ pieces }: Task<PlannedShard>): Extent[] =>
  pieces.flatMap((piece) =>
    piece.slab.outputs.flatMap((output) =>
      [...extentsOf({ pieces: [{ ...piece, slab: { outputs: [output] } }] }).values()].flat(),
    ),
  );

const tensorAt = ({ tensors }: PlannedShard, at: number): string | null =>
  tensors.find(({ begin, end }) => begin <= at && at < end)?.name ?? null;

class OpenOutput {
  readonly #directory: string;
  readonly #shards: ReadonlyMap<PlannedShard, FileHandle>;
  readonly #scratch: readonly FileHandle[];
  #taken = 0;

  private constructor(
    directory: string,
    shards: ReadonlyMap<PlannedShard, FileHandle>,
    scratch: readonly FileHandle[],
  ) {
    this.#directory = directory;
    this.#shards = shards;
    this.#scratch = scratch;
  }

  static async open(directory: string, shards: readonly PlannedShard[], lanes: number): Promise<OpenOutput> {
    const opened = new Map<PlannedShard, FileHandle>();
    const scratch: FileHandle[] = [];
    const output = new OpenOutput(directory, opened, scratch);
    try {
      for (const shard of shards) opened.set(shard, await openShard(join(directory, shard.file)));
      for (let lane = 0; lane < lanes; lane += 1) scratch.push(await openScratch());
      return output;
    } catch (error) {
      await output[Symbol.asyncDispose]();
      throw error;
    }
  }

  fdOf(shard: PlannedShard): number {
    return valueAt(this.#shards, shard).fd;
  }

  takeScratch(): FileHandle {
    this.#taken += 1;
    return itemAt(this.#scratch, this.#taken - 1);
  }

  /** Returns the first offset at which the header differs from the plan's. */
  async headerDifference(shard: PlannedShard): Promise<number | undefined> {
    const wanted = headerOf(shard);
    const read = readBlock(valueAt(this.#shards, shard), Buffer.alloc(wanted.length), 0);
    const found = await read.catch((error: unknown) => {
      throw withPath(error, join(this.#directory, shard.file));
    });
    const at = wanted.findIndex((byte, index) => byte !== found[index]);
    return at < 0 ? undefined : at;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const file of [...this.#shards.values(), ...this.#scratch]) await file.close();
  }
}

/** Opens a shard without waiting for the writer of a pipe. */
const openShard = (path: string): Promise<FileHandle> =>
  reading(path, () => open(path, constants.O_RDONLY | constants.O_NONBLOCK));
