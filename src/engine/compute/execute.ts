import { type StoredTensor, sourcesOf } from '../../plan/plan.js';
import type { InputFiles } from '../input-files.js';
import type { ShardFiles } from '../output/shard-files.js';
import { failureOf } from '../threads/errors.js';
import type { WorkerPool } from '../threads/pool.js';
import type { Schedule, ShardWork } from './schedule.js';
import { Settler } from './settle.js';
import { jobOf } from './slices.js';

/** Carries out a schedule: until nothing remains, or until the pool is stopped. No job is under way when it returns or throws. */
export const execute = async (
  schedule: Schedule,
  pool: WorkerPool,
  inputs: InputFiles,
  shards: ShardFiles,
): Promise<void> => {
  const settler = new Settler(pool, inputs);
  for (const work of schedule.works) if (work.outstanding === 0) await shards.finishUnwritten(work);
  await pool.inLanes(async () => {
    let current: ShardWork | undefined;
    while (!pool.stopped) {
      const next = schedule.next(current);
      if (next === undefined) return;
      current = next.work;
      const output = await shards.fdOf(current);
      const { slices } = next.stretch;
      const programs = await Promise.all(slices.map(({ tensor }) => settler.programOf(tensor)));
      const fdOf = (source: StoredTensor) => inputs.fdOf(source);
      const jobs = slices.map((slice, index) => jobOf(slice, output, fdOf, programs[index]));
      const result = await pool.run(jobs);
      if (!result.ok) {
        const tensor = slices[result.job]?.tensor;
        if (tensor === undefined) throw new Error(`a worker failed (${result.status.outcome})`);
        const { name, dtype, expression } = tensor;
        throw failureOf(
          result.status,
          { tensor: name, dtype, file: current.shard.file },
          sourcesOf(expression).map((source) => inputs.pathOf(source)),
        );
      }
      await shards.done(current, next.stretch);
    }
  });
};
