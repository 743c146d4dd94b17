import type { CheckpointIndex } from '../../../models/checkpoint/checkpoint.js';
import type { MergedVocabulary } from '../../../models/tokenizer/vocabulary.js';

/** Edited keys of a configuration. */
export type Edits = Readonly<Record<string, unknown>>;

/** A checkpoint's tokenizer, with `files` in place of some of its files. */
export interface TokenizerSource {
  readonly checkpoint: CheckpointIndex;
  readonly files: MergedVocabulary['files'];
}
