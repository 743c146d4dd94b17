import { statfs } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { checkThreads } from '../engine/run.js';
import { LayerloomError } from '../errors.js';
import { planExperiment, runExperiment } from '../experiment/run-experiment.js';
import {
  describeCost,
  describeMerges,
  describeOutcomes,
  describeStages,
  failuresOf,
} from '../report/batch-text.js';
import { interruptSignal } from './interrupt.js';
import { type CommonOptions, type OutputOptions, requireOut, toPart } from './options.js';
import { note, printEvent, printJson, printLine, warn } from './print.js';
import { ProgressDisplay } from './progress.js';

export interface BatchCliOptions extends CommonOptions, OutputOptions {
  readonly store?: string;
  readonly shardRange?: string;
  readonly first?: readonly string[];
  readonly expect?: string;
}

/** Runs an experiment; with `--dry-run`, prints its cost. */
export const batchCommand = async (file: string, options: BatchCliOptions): Promise<void> => {
  const threads = checkThreads(options.threads);
  const { layout, maxShardSize, analysis, tokenizer, download, first, expect } = options;
  if (options.dryRun) {
    const {
      plan,
      stages,
      cost,
      stamp,
      download: toFetch,
    } = await planExperiment(file, {
      ...{ layout, maxShardSize, analysis, tokenizer, threads, first, expect },
      download: download && 'headers',
    });
    if (!options.quiet) plan.warnings.forEach(warn);
    if (options.json)
      printJson({
        cost,
        download: toFetch,
        stages: stages.map(({ merges, bytesToWrite }) => ({
          merges: merges.map(({ merge }) => merge.name),
          bytesToWrite,
        })),
        stamp,
        merges: plan.merges.map(
          ({ merge: { name, language, task, languageExpert, method, configuration }, bytes, shards }) => ({
            ...{ name, language, task, languageExpert, method, configuration },
            bytes,
            shards: shards.length,
          }),
        ),
      });
    else if (!options.quiet) {
      const merges = plan.merges.map(({ merge }) => merge);
      printLine(`${describeMerges(merges, options.verbose ?? false)}\n`);
      printLine(describeCost(cost, await freeAt(options.out ?? '.'), toFetch));
      if (stages.length > 1) printLine(`\n${describeStages(stages)}`);
    }
    return;
  }
  const out = requireOut(options);
  const progress = new ProgressDisplay(process.stderr);
  const { signal, release } = interruptSignal();
  let lastEvent = 0;
  try {
    const result = await runExperiment(file, {
      out,
      store: options.store,
      link: options.link,
      resume: options.resume,
      force: options.force,
      checksums: options.checksums,
      range: options.shardRange === undefined ? undefined : toPart('shard-range', options.shardRange),
      layout,
      maxShardSize,
      analysis,
      tokenizer,
      first,
      threads,
      expect,
      download,
      signal,
      onPlan: async (plan, cost) => {
        if (options.json) printEvent('plan', { cost });
        else if (!options.quiet) note(`${describeCost(cost, await freeAt(out))}\n`);
        if (!options.quiet) plan.warnings.forEach(warn);
      },
      onMerge: (outcome) => {
        if (options.json) printEvent('merge', outcome);
      },
      onProgress: options.quiet
        ? undefined
        : (state) => {
            if (!options.json) return progress.show(state);
            if (performance.now() - lastEvent < 1000) return;
            lastEvent = performance.now();
            printEvent('progress', state);
          },
    });
    progress.end();
    const failed = failuresOf(result.merges);
    if (options.json) {
      const { experiment: _experiment, merges: _merges, ...rest } = result;
      printEvent('done', { ...rest, failed: failed.length });
    } else if (!options.quiet) printLine(describeOutcomes(result.merges, { ...result, out: resolve(out) }));
    if (failed.length > 0)
      throw new LayerloomError('BATCH_INCOMPLETE', {
        out,
        merges: result.merges.length,
        failed,
      });
  } finally {
    progress.end();
    release();
  }
};

/**
 * Returns the free bytes of the file system at `path`, or at its nearest existing ancestor; undefined if
 * unknown.
 */
const freeAt = async (path: string): Promise<number | undefined> => {
  for (let at = resolve(path); ; at = dirname(at)) {
    const found = await statfs(at).catch(() => undefined);
    if (found !== undefined) return found.bavail * found.bsize;
    if (dirname(at) === at) return undefined;
  }
};
