import { existsSync } from 'node:fs';
import { LayerloomError } from '../../../core/base/errors/errors.js';
import { counted } from '../../../core/base/format.js';
import { isHubId } from '../../../core/models/address/remote.js';
import { type TryOptions, tryModels } from '../../../study/evaluation/try-models.js';
import type { OutputOptions } from '../../options/output.js';
import { printJson, printText } from '../../print.js';
import { describeTrials } from '../../text/studies/trials-text.js';
import { interruptible } from '../running/interrupt.js';
import { StatusLine } from '../running/status-line.js';

interface TryCommandOptions extends OutputOptions, Omit<TryOptions, 'onModel' | 'onAnswer' | 'signal'> {
  readonly words: readonly string[];
}

export const tryCommand = async ({ words, json, quiet, ...options }: TryCommandOptions): Promise<void> => {
  const [models, prompt] = [words.slice(0, -1), words.at(-1)];
  if (prompt === undefined || models.length === 0)
    throw new LayerloomError('USAGE', { reason: 'try takes one model or several, and then the prompt' });
  if (existsSync(prompt) && !existsSync(models[0] ?? '') && !isHubId(models[0] ?? ''))
    throw new LayerloomError('USAGE', {
      reason: `the prompt follows the models, as the last word; ${prompt} stands there, and ${models[0]} is no model`,
    });
  const display = new StatusLine(process.stderr);
  const report = (done: number) => {
    if (!quiet)
      display.show(`${done} of ${counted(models.length, 'model')}; ${models[done] ?? 'done'}`, `${done}`);
  };
  const trials = await interruptible((signal) =>
    tryModels(models, prompt, { ...options, signal, onModel: report }),
  ).finally(() => display.end());
  if (json) printJson({ prompt, trials });
  else printText(describeTrials(trials, process.stdout.columns || 80));
};
