import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkInterrupt, LayerloomError } from '../../core/base/errors/errors.js';
import { invalidParameter } from '../../core/base/errors/invalid-parameter.js';
import { endingOf } from '../../core/programs/process.js';
import { checkHarness, harnessCommand } from './harness/harness-command.js';
import { HarnessProcess, type LoadedWeights } from './harness/harness-process.js';
import { pathToLoad } from './harness/loadable.js';
import { weightsArguments } from './harness/loaded-model.js';

/** Options of `tryModels`. */
export interface TryOptions {
  /** Harness's command for the shell; default `lm_eval`. */
  readonly lmEval?: string | undefined;
  /** Token limit of an answer; default 128. */
  readonly maxTokens?: number | undefined;
  /** Apply the model's chat template to the prompt. Default false: the model continues the prompt. */
  readonly chat?: boolean | undefined;
  /** Device, such as `cpu` or `cuda:0`; default a GPU if there is one. */
  readonly device?: string | undefined;
  /** More arguments for the harness's `hf` model: `{ dtype: 'float32' }`. */
  readonly modelArgs?: Readonly<Record<string, string | number | boolean>> | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called before each model, with the number of finished models. */
  readonly onModel?: ((done: number) => void) | undefined;
  /** Called with each answer. */
  readonly onAnswer?: ((trial: Trial) => void) | undefined;
}

/** Model's answer to a prompt. */
export interface Trial {
  readonly model: string;
  readonly text: string;
  readonly seconds: number;
  readonly weights: LoadedWeights | null;
}

/**
 * Gives models the same prompt, one after another in one process of lm-evaluation-harness, which loads only
 * tensors that differ. Decoding is greedy.
 *
 * @param models directories, `BASE+ADAPTER`, `org/name` of the hub cache
 * @throws INVALID_PARAMETER, MODEL_NOT_FOUND, HARNESS_MISSING, HARNESS_FAILED, WEIGHTS_DIFFER, INTERRUPTED
 */
export const tryModels = async (
  models: readonly string[],
  prompt: string,
  options: TryOptions = {},
): Promise<readonly Trial[]> => {
  const { maxTokens = 128, chat = false, device, modelArgs, signal } = options;
  if (!(Number.isSafeInteger(maxTokens) && maxTokens >= 1))
    throw invalidParameter('maxTokens', maxTokens, 'a whole number, 1 or more');
  if (models.length === 0) throw invalidParameter('models', models, 'at least one model');
  const folder = await mkdtemp(join(tmpdir(), 'layerloom-try-'));
  const lmEval = harnessCommand(options.lmEval);
  const paths = await Promise.all(models.map((model) => pathToLoad(model, join(folder, 'views'))))
    .then((all) => {
      checkHarness(lmEval);
      return all;
    })
    .catch(async (error: unknown) => {
      await rm(folder, { recursive: true, force: true });
      throw error;
    });
  const log = join(folder, 'log');
  const trials: Trial[] = [];
  await using kept = new HarnessProcess(lmEval, {});
  const stop = () => void kept.end();
  signal?.addEventListener('abort', stop);
  try {
    for (const [index, path] of paths.entries()) {
      checkInterrupt(signal);
      options.onModel?.(index);
      const [model = '', started] = [models[index], performance.now()];
      let weights: LoadedWeights | null = null;
      const words = {
        ...{ prompt, max_tokens: maxTokens, chat },
        arguments: {
          ...(await weightsArguments(path, 'hf')),
          ...(device === undefined ? {} : { device }),
          ...modelArgs,
        },
      };
      const ask = () =>
        kept.run({
          ...{ words, log, weights: path, fingerprint: 'samples' },
          onLoaded: (loaded) => {
            weights = loaded;
          },
        });
      let end = await ask();
      // Asks again, because the new process loads the whole model.
      if (end !== undefined && 'differing' in end) end = await ask();
      checkInterrupt(signal);
      if (end === undefined)
        throw new LayerloomError('HARNESS_MISSING', {
          command: lmEval,
          reason: kept.notKept?.reason ?? 'it gives no answer',
        });
      if ('differing' in end)
        throw new LayerloomError('WEIGHTS_DIFFER', { model, tensors: end.differing, log });
      if (end.text === undefined)
        throw new LayerloomError('HARNESS_FAILED', {
          model,
          reason: endingOf(end, await readFile(log, 'utf8').catch(() => '')),
          log,
        });
      const trial = { model, text: end.text, seconds: (performance.now() - started) / 1000, weights };
      trials.push(trial);
      options.onAnswer?.(trial);
    }
  } finally {
    signal?.removeEventListener('abort', stop);
  }
  // After a failure the log stays, because the error names it.
  await rm(folder, { recursive: true, force: true });
  return trials;
};
