/** A tensor whose shape in the files is not the model's. */
export interface MismatchedTensor {
  readonly tensor: string;
  /** Shape in the files. */
  readonly stored: readonly number[];
  /** Shape according to the configuration. */
  readonly model: readonly number[];
}

/** A library's verdict whether a folder has each tensor that its configuration describes. */
export interface LoadingVerdict {
  /** Whether the output loads; null if this could not be checked. */
  readonly loads: boolean | null;
  /** Library versions by name. */
  readonly by: Readonly<Record<string, string>>;
  readonly loadedAs: string | null;
  /** Tensors of the model that the files lack. Like all lists here, at most a hundred. */
  readonly missing: readonly string[];
  /** Tensors in the files that the model lacks. */
  readonly unexpected: readonly string[];
  readonly mismatched: readonly MismatchedTensor[];
  /**
   * Set if no tensor has the configuration's dtype (`said`). `stored` counts floating-point tensors by dtype.
   */
  readonly dtype: { readonly said: string; readonly stored: Readonly<Record<string, number>> } | null;
  /** Why the output could not be loaded or checked. */
  readonly reason: string | null;
}
