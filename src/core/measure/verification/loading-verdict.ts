/** A tensor whose shape is another in the files than in the model. */
export interface MismatchedTensor {
  readonly tensor: string;
  /** The shape in the files. */
  readonly stored: readonly number[];
  /** The shape in the model that the configuration describes. */
  readonly model: readonly number[];
}

/** The verdict of a library on a folder: whether its files have each tensor of the model that its configuration describes. */
export interface LoadingVerdict {
  /** Null where it could not be checked. */
  readonly loads: boolean | null;
  /** Versions of the libraries that say so, by name. */
  readonly by: Readonly<Record<string, string>>;
  /** The class that it is loaded as. */
  readonly loadedAs: string | null;
  /** Tensors of the model that no file has: a hundred at most, as all lists here. */
  readonly missing: readonly string[];
  /** Tensors of the files that the model does not have. */
  readonly unexpected: readonly string[];
  readonly mismatched: readonly MismatchedTensor[];
  /** The dtype that the configuration says, and the numbers of floating tensors by dtype, where none has it. */
  readonly dtype: { readonly said: string; readonly stored: Readonly<Record<string, number>> } | null;
  /** Why it cannot be loaded, or could not be checked. */
  readonly reason: string | null;
}
