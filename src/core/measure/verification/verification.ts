import type { DifferentTensor } from '../../engine/compute/recompute.js';
import type { RunCost } from '../../engine/run.js';
import type { LoadingVerdict } from './loading-verdict.js';

/** How a file of an output stands to what it should be. */
export interface VerifiedFile {
  readonly file: string;
  /** Null where it is missing. */
  readonly bytes: number | null;
  /**
   * `equal` by SHA-256 or, against the inputs, by its bytes; `unrecorded` where only its size, or nothing but its name, is
   * known; `edited` for a model card, which may be.
   */
  readonly state: 'equal' | 'unrecorded' | 'edited' | 'different' | 'missing';
  /** A phrase that follows the file's name: what differs, or is not recorded. */
  readonly reason?: string;
}

/** An input that weights were computed again from. */
export interface VerifiedInput {
  readonly name: string;
  readonly path: string;
  /** The commit that it is, of a model of the hub. */
  readonly commit: string | null;
}

/** What was found where weights were computed again. */
export interface RecomputedTiles {
  /** The probability with which a tile was taken, and so with which one that is wrong is found. */
  readonly share: number;
  readonly seed: number;
  /** Tiles of the output, of about 8 MiB, of a sample 1 MiB, those that were computed again, and their bytes. */
  readonly tiles: number;
  readonly recomputed: number;
  readonly bytes: number;
  readonly different: readonly DifferentTensor[];
  /** What they were computed from. */
  readonly inputs: readonly VerifiedInput[];
}

/**
 * Whether an output is as it was written: `intact-by-size` where no SHA-256 of some files was recorded, and their contents were
 * not compared with the inputs either.
 */
export type Verdict = 'intact' | 'intact-by-size' | 'damaged';

/** Whether an output is what its record, and its inputs, say. */
export interface OutputVerification extends RunCost {
  /** Absolute path of the output. */
  readonly out: string;
  /** The version that wrote it; null where it has no `layerloom.json`. */
  readonly layerloom: string | null;
  readonly verdict: Verdict;
  /** True if nothing was found that differs or is missing, and false of `damaged` alone. */
  readonly intact: boolean;
  /** Why it cannot be opened as a model or an adapter; null where it can. */
  readonly structure: string | null;
  readonly files: readonly VerifiedFile[];
  /** What is there and was not written with it: files, and folders as `NAME/`. Caches of git and of the hub are left out. */
  readonly unlisted: readonly string[];
  /** Null unless the output was compared with its inputs. */
  readonly againstInputs: RecomputedTiles | null;
  /** The verdict of libraries that load it; null unless `loads` was asked for. */
  readonly loading: LoadingVerdict | null;
  readonly warnings: readonly string[];
}
