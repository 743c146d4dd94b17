import type { CheckpointIndex } from '../../../models/checkpoint/checkpoint.js';
import type { MergedVocabulary } from '../../../models/tokenizer/vocabulary.js';

/** Edited keys of a configuration. */
export type Edits = Readonly<Record<string, unknown>>;

/** A tokenizer's files: a checkpoint's, with `files` in place of some. */
export interface TokenizerSource {
  readonly checkpoint: CheckpointIndex;
  readonly files: MergedVocabulary['files'];
}
