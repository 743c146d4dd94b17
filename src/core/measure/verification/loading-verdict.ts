/** A tensor whose shape differs between files and model. */
export interface MismatchedTensor {
  readonly tensor: string;
  /** Shape in the files. */
  readonly stored: readonly number[];
  /** Shape in the model that the configuration describes. */
  readonly model: readonly number[];
}

/** A library's verdict on whether a folder's files have each tensor that the configuration describes. */
export interface LoadingVerdict {
  /** Whether the output loads; null if it could not be checked. */
  readonly loads: boolean | null;
  /** Versions of the libraries, by name. */
  readonly by: Readonly<Record<string, string>>;
  readonly loadedAs: string | null;
  /** The model's tensors missing in the files; at most a hundred, like all lists here. */
  readonly missing: readonly string[];
  /** Tensors in the files that the model does not have. */
  readonly unexpected: readonly string[];
  readonly mismatched: readonly MismatchedTensor[];
  /** If no tensor has the configuration's dtype: that dtype, and numbers of float tensors by dtype. */
  readonly dtype: { readonly said: string; readonly stored: Readonly<Record<string, number>> } | null;
  /** Why it cannot be loaded or checked. */
  readonly reason: string | null;
}
