import type { CheckpointIndex } from '../../../models/checkpoint/checkpoint.js';
import type { MergedVocabulary } from '../../../models/tokenizer/vocabulary.js';

/** Changed keys of a JSON configuration. */
export type Edits = Readonly<Record<string, unknown>>;

/** A checkpoint's tokenizer; `files` replace files of equal names. */
export interface TokenizerSource {
  readonly checkpoint: CheckpointIndex;
  readonly files: MergedVocabulary['files'];
}
