import { resolve } from 'node:path';
import { invalidParameter } from '../../core/base/errors/invalid-parameter.js';
import { mergeSettings } from './file/blocks/experiment-block.js';
import type { Experiment } from './file/read-experiment.js';
import type { RecordedOptions } from './record/experiment-record.js';

interface ExperimentChanges {
  readonly tokenizer?: string | undefined;
  readonly allowNonFinite?: boolean | undefined;
}

export type MergeChanges = {
  readonly [Key in keyof Omit<RecordedOptions, 'directory'>]?: RecordedOptions[Key] | undefined;
};

/**
 * Applies options that override an experiment's settings.
 *
 * @throws INVALID_PARAMETER
 */
export const withOptions = (
  experiment: Experiment,
  { tokenizer, allowNonFinite }: ExperimentChanges,
): Experiment => {
  const asked = mergeSettings.shape.tokenizerSource.safeParse(tokenizer);
  if (!asked.success)
    throw invalidParameter(
      'tokenizer',
      tokenizer,
      'auto, strict, union or base (not a model, because merges have different models)',
    );
  return {
    ...experiment,
    ...(asked.data === undefined ? {} : { tokenizerSource: asked.data }),
    ...(allowNonFinite === undefined ? {} : { allowNonFinite }),
  };
};

export const recordedOptions = (
  { directory }: Experiment,
  { layout, maxShardSize, tokenizer, allowNonFinite, checksums, analysis }: MergeChanges,
): RecordedOptions => ({
  directory,
  ...(layout === undefined ? {} : { layout }),
  ...(maxShardSize === undefined ? {} : { maxShardSize }),
  ...(tokenizer === undefined ? {} : { tokenizer }),
  ...(allowNonFinite === undefined ? {} : { allowNonFinite }),
  ...(checksums === undefined ? {} : { checksums }),
  ...(analysis === undefined ? {} : { analysis: resolve(analysis) }),
});
