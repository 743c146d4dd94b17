import type { DifferentTensor } from '../../engine/compute/recompute.js';
import type { RunCost } from '../../engine/run.js';
import type { SignedBy } from '../../statements/signature.js';
import type { LoadingVerdict } from './loading-verdict.js';

/** An output's statement, compared with its weights and record. */
export interface CheckedStatement {
  readonly file: string;
  /** True if it states the present weights, made as recorded. */
  readonly valid: boolean;
  /** Digest of the present tensors, whatever it states; null if they could not be read. */
  readonly tensors: string | null;
  /** Number of input files, and how many it identifies by SHA-256. */
  readonly inputs: number;
  readonly identified: number;
}

/** An output's signature, checked with a key or an identity. */
export interface CheckedSignature extends SignedBy {
  readonly file: string;
  /** True if exactly the present files were signed. */
  readonly valid: boolean;
  readonly files: number;
}

/** A file of an output, compared with what it should be. */
export interface VerifiedFile {
  readonly file: string;
  /** Size on disk; null if missing. */
  readonly bytes: number | null;
  /**
   * `equal`: by SHA-256 or, against the inputs, by bytes. `unrecorded`: only its size or name is known.
   * `edited`: a model card, which may be edited.
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

/** The result of recomputing an output's weights. */
export interface RecomputedTiles {
  /** Probability that a tile was checked, and so that a wrong one is found. */
  readonly share: number;
  readonly seed: number;
  /** Numbers of tiles (about 8 MiB; 1 MiB in a sample) and of recomputed ones, and their bytes. */
  readonly tiles: number;
  readonly recomputed: number;
  readonly bytes: number;
  readonly different: readonly DifferentTensor[];
  readonly inputs: readonly VerifiedInput[];
}

/** Whether an output is unchanged. `intact-by-size`: some files were only compared by size. */
export type Verdict = 'intact' | 'intact-by-size' | 'damaged';

export interface OutputVerification extends RunCost {
  readonly out: string;
  /** The version that wrote it; null without `layerloom.json`. */
  readonly layerloom: string | null;
  readonly verdict: Verdict;
  /** False only for `damaged`: something differs or is missing. */
  readonly intact: boolean;
  /** Why it cannot be opened as a model or adapter; null if it can. */
  readonly structure: string | null;
  readonly files: readonly VerifiedFile[];
  /** Files and folders (`NAME/`) not written with the output; without caches of git and the hub. */
  readonly unlisted: readonly string[];
  /** The recomputation; null unless the output was compared with its inputs. */
  readonly againstInputs: RecomputedTiles | null;
  readonly statement: CheckedStatement | null;
  /** The signature; null unless `key` or `identity` was given. */
  readonly signature: CheckedSignature | null;
  /** Verdict of the libraries that load it; null unless `loads` was given. */
  readonly loading: LoadingVerdict | null;
  readonly warnings: readonly string[];
}
