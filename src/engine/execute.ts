import { LayerloomError } from '../errors.js';
import type { JobStatus } from '../native/addon.js';
import { type PlannedTensor, type Source, sourcesOf } from '../plan/plan.js';
import { sourceError } from './errors.js';
import type { Inputs } from './inputs.js';
import type { WorkerPool } from './pool.js';
import type { Schedule, ShardWork } from './schedule.js';
import { Settler } from './settle.js';
import type { ShardFiles } from './shard-files.js';
import { jobOf } from './slices.js';

/** Carries out a schedule: until nothing remains, or until the pool is stopped. No job is under way when it returns or throws. */
export const execute = async (
  schedule: Schedule,
  pool: WorkerPool,
  inputs: Inputs,
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
      const fdOf = (source: Source) => inputs.fdOf(source);
      const jobs = slices.map((slice, index) => jobOf(slice, output, fdOf, programs[index]));
      const result = await pool.run(jobs);
      if (!result.ok) throw asError(result.status, slices[result.job]?.tensor, current, inputs);
      await shards.done(current, next.stretch);
    }
  });
};

/** Gives a native status its names. */
const asError = (
  status: JobStatus,
  tensor: PlannedTensor | undefined,
  work: ShardWork,
  inputs: Inputs,
): Error => {
  if (tensor === undefined) return new Error(`a worker failed (${status.outcome}) without naming a tensor`);
  const { name, expression, dtype } = tensor;
  const files = sourcesOf(expression).map((source) => inputs.pathOf(source));
  if (status.outcome === 'writeFailed')
    return new LayerloomError('WRITE_FAILED', { file: work.shard.file, tensor: name, reason: status.reason });
  if (status.outcome === 'notEqual')
    return new LayerloomError('NON_FLOATING_MISMATCH', {
      tensor: name,
      dtype,
      files: [files[0] ?? '', files[status.source] ?? ''],
    });
  return sourceError(status, name, files);
};
