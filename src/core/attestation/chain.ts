/** How an input that a statement names was found. */
export type LinkState =
  /** The model that the user asked about. */
  | 'asked'
  /** Found, with the SHA-256 of the statement. */
  | 'same'
  /** Other files are in its place. */
  | 'different'
  /** Not found on this machine. */
  | 'missing'
  /** Not comparable: the statement has no SHA-256. */
  | 'unidentified';

/** A model in a chain. `inputs` are the models that it was made from. */
export interface ChainModel {
  readonly name: string;
  /** Absolute path; null if not on this machine. */
  readonly path: string | null;
  readonly link: LinkState;
  /** The stated package URL, if any. */
  readonly uri: string | null;
  readonly kind: 'merge' | 'export' | 'quantisation' | 'model';
  /** A merge's method, or an export's type; null without a statement. */
  readonly method: string | null;
  /** The programs that made the model, by its statement. */
  readonly by: string | null;
  readonly statement: 'valid' | 'none' | 'invalid';
  /** A sentence: why the statement is invalid, or why the link is not `same`. */
  readonly reason: string | null;
  /** True if its inputs are left out here, because they are shown elsewhere. */
  readonly repeated: boolean;
  readonly inputs: readonly ChainModel[];
}

/** Result of `chain`: a model and the models that it was made from. */
export interface Chain {
  readonly out: string;
  /** True if every statement is valid and every stated input was found with its SHA-256. */
  readonly complete: boolean;
  readonly root: ChainModel;
  readonly seconds: number;
  readonly warnings: readonly string[];
}

export const modelsOf = (model: ChainModel): readonly ChainModel[] => [
  model,
  ...model.inputs.flatMap(modelsOf),
];
