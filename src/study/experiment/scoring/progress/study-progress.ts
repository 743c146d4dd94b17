import { join } from 'node:path';
import { argument, layerloomCommand } from '../../../../core/base/errors/command-line.js';
import { namesIn } from '../../../../core/base/files/unless-missing.js';
import { counted } from '../../../../core/base/format.js';
import type { ProgressState } from '../../../../core/base/progress.js';
import { evaluationsName } from '../../../evaluation/result-files.js';
import { examine } from '../../../store/claims/claim-file.js';
import type { Claimant } from '../../../store/claims/claimant.js';
import type { ExperimentRecord } from '../../record/experiment-record.js';
import { taskFolder } from '../requests/evaluation-folders.js';
import { batchAtWork } from './batch-at-work.js';

/** Progress of a batch or an evaluation. */
export interface Progress {
  readonly state: ProgressState;
  readonly by?: Pick<Claimant, 'host' | 'pid'> & { readonly since?: string };
}

/** `unfinished`: the batch ended before it tried all merges. */
export const batchProgress = async (
  directory: string,
  { state, merges }: Pick<ExperimentRecord, 'state' | 'merges'>,
): Promise<Progress> => {
  const by = await batchAtWork(directory);
  if (by !== undefined) return { state: 'running', by };
  const isTried =
    state === 'done' || (state === 'incomplete' && merges.every((merge) => merge.state !== 'pending'));
  return { state: isTried ? 'finished' : 'unfinished' };
};

/**
 * `unfinished`: an evaluation was killed, or scores are missing.
 *
 * @param there numbers of existing and requested scores
 */
export const evaluationProgress = async (
  directory: string,
  there: { readonly done: number; readonly total: number },
): Promise<Progress> => {
  const claims = join(directory, evaluationsName, '.claims');
  const names = (await namesIn(claims)).filter((name) => name.startsWith(taskFolder));
  // Uses this host's clock: reading the store's clock would write a file.
  for (const name of names) {
    const { state, claimant } = await examine(join(claims, name), () => Promise.resolve(Date.now()));
    if (state === 'live') return { state: 'running', ...(claimant === undefined ? {} : { by: claimant }) };
  }
  if (there.done === there.total) return { state: 'finished' };
  return { state: there.done === 0 && names.length === 0 ? 'absent' : 'unfinished' };
};

/** Describes running and interrupted work; empty if everything is finished. */
export const describeProgress = async (
  directory: string,
  record: Pick<ExperimentRecord, 'state' | 'merges'>,
): Promise<string[]> => {
  const { state, by } = await batchProgress(directory, record);
  const done = record.merges.filter((merge) => merge.state === 'done').length;
  const merges = `${done} of ${counted(record.merges.length, 'merge')} exist`;
  const lines: string[] = [];
  if (state === 'running') lines.push(`a batch is running in ${directory}${whose(by)}: ${merges}`);
  if (state === 'unfinished')
    lines.push(
      `the batch of ${directory} was interrupted: ${merges}; \`${layerloomCommand('batch', 'EXPERIMENT.yaml', '-o', argument(directory), '--resume')}\` continues it`,
    );
  const scoring = await evaluationProgress(directory, { done: 0, total: 0 });
  if (scoring.state === 'running') lines.push(`an evaluation is running in ${directory}${whose(scoring.by)}`);
  return lines;
};

const whose = (by: Progress['by']): string =>
  by === undefined
    ? ''
    : ` (process ${by.pid} on ${by.host}${by.since === undefined ? '' : `, since ${by.since}`})`;
