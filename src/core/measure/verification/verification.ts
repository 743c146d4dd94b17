import type { DifferentTensor } from '../../engine/compute/recompute.js';
import type { RunCost } from '../../engine/run.js';
import type { SignedBy } from '../../statements/signature.js';
import type { LoadingVerdict } from './loading-verdict.js';

/** Result of checking an output's statement. */
export interface CheckedStatement {
  readonly file: string;
  /** True if the statement matches the present weights and the record. */
  readonly valid: boolean;
  /** Digest of the present tensors, not the stated one; null if they could not be read. */
  readonly tensors: string | null;
  /** Number of input files. `identified` counts those that the statement identifies by SHA-256. */
  readonly inputs: number;
  readonly identified: number;
}

/** Result of checking an output's signature by a key or an identity. */
export interface CheckedSignature extends SignedBy {
  readonly file: string;
  /** True if the signature covers exactly the present files. */
  readonly valid: boolean;
  readonly files: number;
}

/** A file of an output, and whether it is as it should be. */
export interface VerifiedFile {
  readonly file: string;
  /** Size on disk; null if missing. */
  readonly bytes: number | null;
  /**
   * `equal`: by SHA-256 or, against the inputs, by bytes. `unrecorded`: only its size or name is known.
   * `edited`: a changed model card, which is allowed.
   */
  readonly state: 'equal' | 'unrecorded' | 'edited' | 'different' | 'missing';
  /** A phrase after the file's name: what differs or is not recorded. */
  readonly reason?: string;
}

/** An input from which weights were recomputed. */
export interface VerifiedInput {
  readonly name: string;
  readonly path: string;
  /** The commit of a hub model. */
  readonly commit: string | null;
}

/** Result of recomputing an output's weights. */
export interface RecomputedTiles {
  /** Probability that a tile is checked, and so that a wrong tile is found. */
  readonly share: number;
  readonly seed: number;
  /** Number of tiles (8 MiB each; 1 MiB in a sample), then number and bytes of recomputed tiles. */
  readonly tiles: number;
  readonly recomputed: number;
  readonly bytes: number;
  readonly different: readonly DifferentTensor[];
  readonly inputs: readonly VerifiedInput[];
}

/** `intact-by-size` if some files could only be compared by size. */
export type Verdict = 'intact' | 'intact-by-size' | 'damaged';

export interface OutputVerification extends RunCost {
  readonly out: string;
  /** The version that wrote it; null without `layerloom.json`. */
  readonly layerloom: string | null;
  readonly verdict: Verdict;
  /** False only if the verdict is `damaged`. */
  readonly intact: boolean;
  /** Why the output cannot be opened as a model or adapter; null if it can. */
  readonly structure: string | null;
  readonly files: readonly VerifiedFile[];
  /** Files and folders (`NAME/`) that were not written with the output, except caches of git and the hub. */
  readonly unlisted: readonly string[];
  /** Result of recomputing; null unless the output was compared with its inputs. */
  readonly againstInputs: RecomputedTiles | null;
  readonly statement: CheckedStatement | null;
  /** The signature; null unless `key` or `identity` was given. */
  readonly signature: CheckedSignature | null;
  /** Verdict of the libraries that load the output; null unless `loads` was given. */
  readonly loading: LoadingVerdict | null;
  readonly warnings: readonly string[];
}
