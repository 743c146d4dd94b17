/** A tensor whose shape differs between files and model. */
export interface MismatchedTensor {
  readonly tensor: string;
  /** Shape in the files. */
  readonly stored: readonly number[];
  /** Shape according to the configuration. */
  readonly model: readonly number[];
}

/** A library's verdict on whether a folder has each tensor that its configuration describes. */
export interface LoadingVerdict {
  /** Whether the output loads; null if this could not be checked. */
  readonly loads: boolean | null;
  /** Library versions by name. */
  readonly by: Readonly<Record<string, string>>;
  readonly loadedAs: string | null;
  /** The model's tensors that the files lack; at most a hundred, like all lists here. */
  readonly missing: readonly string[];
  /** The files' tensors that the model lacks. */
  readonly unexpected: readonly string[];
  readonly mismatched: readonly MismatchedTensor[];
  /** Set if no tensor has the configuration's dtype: that dtype, and counts of float tensors by dtype. */
  readonly dtype: { readonly said: string; readonly stored: Readonly<Record<string, number>> } | null;
  /** Why it cannot be loaded or checked. */
  readonly reason: string | null;
}
