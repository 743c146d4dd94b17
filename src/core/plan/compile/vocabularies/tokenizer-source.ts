import type { CheckpointIndex } from '../../../models/checkpoint/checkpoint.js';
import type { MergedVocabulary } from '../../../models/tokenizer/vocabulary.js';

/** Changed keys of a configuration. */
export type Edits = Readonly<Record<string, unknown>>;

/** The source of a tokenizer; `files` replace the checkpoint's files of equal names. */
export interface TokenizerSource {
  readonly checkpoint: CheckpointIndex;
  readonly files: MergedVocabulary['files'];
}
