/** How an input that a statement names was found. */
export type LinkState =
  /** The model that was asked for. */
  | 'asked'
  /** Here, with the stated SHA-256. */
  | 'same'
  /** Other files are in its place. */
  | 'different'
  /** Not on this machine. */
  | 'missing'
  /** The statement has no SHA-256 of it, so nothing can be compared. */
  | 'unidentified';

/** A model in a chain, with the models that it was made from. */
export interface ChainModel {
  readonly name: string;
  /** Absolute; null if it is not here. */
  readonly path: string | null;
  readonly link: LinkState;
  /** A package URL, if it is stated. */
  readonly uri: string | null;
  readonly kind: 'merge' | 'export' | 'quantisation' | 'model';
  /** The method of a merge, the type of an export; null for a model without a statement. */
  readonly method: string | null;
  /** The programs that made it, as stated. */
  readonly by: string | null;
  readonly statement: 'valid' | 'none' | 'invalid';
  /** Why the statement is not valid or the link is not the same; a sentence. */
  readonly reason: string | null;
  /** True if it is shown elsewhere in the chain, with its inputs. */
  readonly repeated: boolean;
  readonly inputs: readonly ChainModel[];
}

export interface Chain {
  readonly out: string;
  /**
   * True if every input that a statement names is here with its stated SHA-256, and every statement is valid.
   * A model without a statement ends a chain.
   */
  readonly complete: boolean;
  readonly root: ChainModel;
  readonly seconds: number;
  readonly warnings: readonly string[];
}

export const modelsOf = (model: ChainModel): readonly ChainModel[] => [
  model,
  ...model.inputs.flatMap(modelsOf),
];
