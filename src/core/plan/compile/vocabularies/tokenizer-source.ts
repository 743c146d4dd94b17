import type { CheckpointIndex } from '../../../models/checkpoint/checkpoint.js';
import type { MergedVocabulary } from '../../../models/tokenizer/vocabulary.js';

/** Changes to a configuration. */
export type Edits = Readonly<Record<string, unknown>>;

/** A tokenizer's source; `files` replace the checkpoint's files of the same names. */
export interface TokenizerSource {
  readonly checkpoint: CheckpointIndex;
  readonly files: MergedVocabulary['files'];
}
