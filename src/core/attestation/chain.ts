/** How an input that a statement names was found. */
export type LinkState =
  /** The model from which the chain starts. */
  | 'asked'
  /** The file was found, with the stated SHA-256. */
  | 'same'
  /** Other files were found in its place. */
  | 'different'
  /** The file is not on this machine. */
  | 'missing'
  /** The file cannot be compared, because the statement has no SHA-256. */
  | 'unidentified';

/** A model in a chain, with the models from which it was made. */
export interface ChainModel {
  readonly name: string;
  /** Absolute path; null if the model is not on this machine. */
  readonly path: string | null;
  readonly link: LinkState;
  /** A package URL, if stated. */
  readonly uri: string | null;
  readonly kind: 'merge' | 'export' | 'quantisation' | 'model';
  /** The method of a merge, the type of an export; null for a model without a statement. */
  readonly method: string | null;
  /** The programs that made the model, as stated. */
  readonly by: string | null;
  readonly statement: 'valid' | 'none' | 'invalid';
  /** A sentence: why the statement is invalid, or the link is not `same`. */
  readonly reason: string | null;
  /** True if the model and its inputs are shown elsewhere in the chain. */
  readonly repeated: boolean;
  readonly inputs: readonly ChainModel[];
}

/** Result of `chain`: a model and the models that it was made from. */
export interface Chain {
  readonly out: string;
  /** True if every statement is valid, and all stated inputs are here with the stated SHA-256. */
  readonly complete: boolean;
  readonly root: ChainModel;
  readonly seconds: number;
  readonly warnings: readonly string[];
}

export const modelsOf = (model: ChainModel): readonly ChainModel[] => [
  model,
  ...model.inputs.flatMap(modelsOf),
];
