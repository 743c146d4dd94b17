import type { BlockForm } from '../../../tensor/block-form.js';
import type { Dtype } from '../../../tensor/dtype.js';
import type { Shape } from '../../../tensor/reference.js';

/** A tensor as a file's header describes it, from `begin` to `end` in bytes from the start of the file. */
export interface TensorInFile {
  readonly dtype: Dtype;
  readonly shape: Shape;
  readonly begin: number;
  readonly end: number;
  /** Present where its bytes are not its elements in order: how they are made; `dtype` is then that of an output. */
  readonly blocks?: BlockForm;
}

/** A parsed header: where each tensor is, and what else the file holds. */
export interface FileHeader {
  readonly metadata: Readonly<Record<string, string>>;
  /** By the names that transformers gives them, rows first in each shape. */
  readonly tensors: ReadonlyMap<string, TensorInFile>;
  /**
   * Text of the small files that this one carries, as transformers would have them beside it: `config.json`,
   * `tokenizer.json`. A file that lies beside it goes first.
   */
  readonly sideFiles?: ReadonlyMap<string, string>;
}

/** The file that says which tensor is in which file. */
export interface WeightsIndex {
  readonly name: string;
  /**
   * @returns file names by tensor; none leads out of the index's directory
   *
   * @throws LayerloomError INDEX_INVALID, INDEX_UNSAFE_NAME
   */
  parse(text: string | Uint8Array, file: string): ReadonlyMap<string, string>;
}

/** A container that checkpoints are read in: which files are weights, and what stands in them before the data. */
export interface ContainerReader {
  /** As messages call it. */
  readonly name: string;
  /** The end of its files' names, dot included. */
  readonly extension: string;
  /** Present where several files may be one model. */
  readonly index?: WeightsIndex;
  /** True where programs that load such files look for the index before the whole file. */
  readonly indexGoesFirst?: true;
  /** True where a file describes its model itself, as if `config.json` lay in it. */
  readonly carriesSideFiles?: true;
  /** What a directory must have, in the words of messages; the index comes by itself. */
  readonly looksFor: string;
  /** Returns which of a directory's files are its model's, where no index says so. Empty where they are of no model, or of several. */
  weightsIn(names: readonly string[]): readonly string[];
  /**
   * Present where what describes the tensors does not stand before them: collects it from where it is in the file, as the
   * bytes that `parseHeader` takes and by whose hash the file is known; `headerEnd` is then not called.
   *
   * @param read called with ranges within the file, in any order
   * @throws LayerloomError as `headerEnd`; what `read` throws
   */
  readonly collectHeader?: (
    read: (begin: number, end: number) => Promise<Uint8Array>,
    file: string,
    fileBytes: number,
  ) => Promise<Uint8Array>;
  /**
   * Returns where the header of a file ends that begins with `start`. If `start` is too short to tell, returns how many
   * bytes to ask with again.
   *
   * @throws LayerloomError where the file is too short, or has no such header
   */
  headerEnd(start: Uint8Array, file: string, fileBytes: number): number;
  /**
   * Parses all bytes before the end that `headerEnd` gave, or those of `collectHeader`. Tensors lie in one piece each,
   * and within the file; several may lie in the same.
   *
   * @throws LayerloomError naming file and tensor
   */
  parseHeader(header: Uint8Array, file: string, fileBytes: number): FileHeader;
}
