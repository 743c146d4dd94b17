import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { namesIn } from '../../../../core/base/files/unless-missing.js';
import { writing } from '../../../../core/base/files/writing.js';
import { makeDirectories, writeDurably } from '../../../../core/engine/output/durable.js';
import { readFileIfAny } from '../../../../core/models/checkpoint/files/small-file.js';
import { jsonOrNone } from '../../../../core/texts/json.js';
import { evaluationsName, type FoundResult } from '../../../evaluation/result-files.js';
import type { ScoreError } from '../../record/experiment-record.js';

export interface ScoreFailure extends ScoreError {
  readonly weights: string;
  readonly model: string;
  readonly task: string;
  readonly at: string;
}

const schema: z.ZodType<ScoreFailure> = z.object({
  weights: z.string(),
  model: z.string(),
  task: z.string(),
  code: z.string(),
  message: z.string(),
  at: z.string(),
});

const failureIn = (text: string): ScoreFailure | undefined => schema.safeParse(jsonOrNone(text)).data;

/** Records failed attempts in `evaluations/failures/`, one file each. A result removes the file. */
export class ScoreFailures {
  readonly #directory: string;

  constructor(experiment: string) {
    this.#directory = join(experiment, evaluationsName, 'failures');
  }

  /** @throws READ_FAILED */
  async list(): Promise<ScoreFailure[]> {
    const names = await namesIn(this.#directory);
    const read = await Promise.all(
      names.map(async (name) => {
        // The file was removed meanwhile, or a dead process left it half-written.
        const text = await readFileIfAny(join(this.#directory, name));
        return failureIn(text?.toString() ?? '') ?? [];
      }),
    );
    return read.flat();
  }

  /** @throws WRITE_FAILED */
  async write(failure: ScoreFailure): Promise<void> {
    const file = this.#fileOf(failure);
    await writing(file, async () => {
      await makeDirectories(this.#directory);
      await writeDurably(file, `${JSON.stringify(failure)}\n`);
    });
  }

  async remove(failure: Pick<ScoreFailure, 'weights' | 'task'>): Promise<void> {
    await rm(this.#fileOf(failure), { force: true });
  }

  /**
   * Removes failures that are older than a result of the same weights and task: a process died before it
   * removed them. Newer failures have other settings.
   *
   * @throws READ_FAILED
   */
  async removeVoid(results: readonly FoundResult[]): Promise<void> {
    const there = await namesIn(this.#directory);
    if (there.length === 0) return;
    for (const { result } of results) {
      const text = await readFileIfAny(this.#fileOf(result));
      if (text === undefined) continue;
      const at = failureIn(text.toString())?.at;
      if (at === undefined || Date.parse(at) <= Date.parse(result.started)) await this.remove(result);
    }
  }

  #fileOf({ weights, task }: Pick<ScoreFailure, 'weights' | 'task'>): string {
    const name = createHash('sha256').update(`${weights} ${task}`).digest('hex').slice(0, 32);
    return join(this.#directory, `${name}.json`);
  }
}
