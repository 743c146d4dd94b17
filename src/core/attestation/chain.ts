/** How an input named by a statement was found. */
export type LinkState =
  /** The model at which the chain starts. */
  | 'asked'
  /** Found, with the stated SHA-256. */
  | 'same'
  /** Other files are in its place. */
  | 'different'
  /** Not on this machine. */
  | 'missing'
  /** Cannot be compared: the statement has no SHA-256. */
  | 'unidentified';

/** A model in a chain, with the models that it was made from. */
export interface ChainModel {
  readonly name: string;
  /** Absolute path; null if not on this machine. */
  readonly path: string | null;
  readonly link: LinkState;
  /** A package URL, if stated. */
  readonly uri: string | null;
  readonly kind: 'merge' | 'export' | 'quantisation' | 'model';
  /** A merge's method, or an export's type; null without a statement. */
  readonly method: string | null;
  /** The programs that made it, as stated. */
  readonly by: string | null;
  readonly statement: 'valid' | 'none' | 'invalid';
  /** Why the statement is invalid, or the link is not `same`, as a sentence. */
  readonly reason: string | null;
  /** True if the model and its inputs appear elsewhere in the chain. */
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
