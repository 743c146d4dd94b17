import type { CheckpointIndex } from '../../../models/checkpoint/checkpoint.js';
import type { MergedVocabulary } from '../../../models/tokenizer/vocabulary.js';

/** Keys of a configuration and their values. */
export type Edits = Readonly<Record<string, unknown>>;

/** The files of a tokenizer: those of a checkpoint, but for some that are written anew. */
export interface TokenizerSource {
  readonly checkpoint: CheckpointIndex;
  readonly files: MergedVocabulary['files'];
}
