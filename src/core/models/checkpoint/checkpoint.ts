import type { TensorReference } from '../../tensor/reference.js';
import type { FoundModel, Origin } from '../address/found-model.js';

/**
 * The state of a file before the first of its weights was read, compared later to tell whether it was written
 * since. It holds what cannot be set back, unlike the modification time of the identity.
 */
export interface FileState {
  /**
   * Status-change time in nanoseconds, in decimal: the system sets it at every write, and when links are made
   * or removed.
   */
  readonly ctimeNs: string;
  /** Hard links. */
  readonly links: number;
  /**
   * A hash of the content, in hexadecimal, and of what it was taken: of sampled blocks (`sampleIdentity`) or
   * of all bytes (`fullIdentity`).
   */
  readonly hash: string;
  readonly hashOf: 'samples' | 'bytes';
}

/** The identity of a file, by which a later change is noticed. The weights themselves are not read. */
export interface FileIdentity {
  /** Absolute. */
  readonly path: string;
  readonly bytes: number;
  /** Modification time in nanoseconds, in decimal: beyond what a float64 holds exactly. */
  readonly mtimeNs: string;
  /** SHA-256 of all bytes before the data, in hexadecimal. */
  readonly header: string;
  /**
   * The hash of its content that the hub states, for a file of the cache of ranges. It identifies the file in
   * place of times, which change as more of its bytes arrive; `mtimeNs` is then 0.
   */
  readonly content?: string;
  /** Present where weights have been read since, and numbers taken from them. */
  readonly seen?: FileState;
}

/** What a base with an adapter was put together of. */
export interface AdaptedFrom {
  readonly base: FoundModel;
  readonly adapter: FoundModel;
  /** SHA-256 of `adapter_config.json`, in hexadecimal. */
  readonly config: string;
  /** The directory of the adapter's side files. */
  readonly folder: string;
  /** Side files that are the adapter's; the others are the base's. */
  readonly sideFiles: readonly string[];
  /** Indexes of files that hold other tensors than the checkpoint has of them: none may be taken as it stands. */
  readonly foreignFiles: readonly number[];
}

/** How a checkpoint is quantised. */
export interface Quantisation {
  /** The keys of `config.json` that say so, and of those the one that is read. */
  readonly keys: readonly string[];
  readonly settings: Readonly<Record<string, unknown>>;
  /** The key of `settings` that lists the modules which are not quantised; undefined where the scheme has no such list. */
  readonly unconvertedKey: string | undefined;
  /** The keys of `settings` that say how the model was quantised, and nothing of what is stored. */
  readonly origins: readonly string[];
  /** By name, as they are stored. */
  readonly stored: ReadonlyMap<string, TensorReference>;
}

/** A checkpoint as its headers describe it: every tensor's place, and no weights. */
export interface CheckpointIndex extends Origin {
  readonly name: string;
  /**
   * Absolute: the directory, or the file by which the model was named. A base with an adapter has both, with a plus
   * between them.
   */
  readonly path: string;
  /** The directory of its side files, where that is not `path`. */
  readonly folder?: string;
  readonly files: readonly FileIdentity[];
  /** The `__metadata__` of each file's header. */
  readonly metadata: readonly Readonly<Record<string, string>>[];
  /** By name, in the order of files and of data within them. */
  readonly tensors: ReadonlyMap<string, TensorReference>;
  /** The tensors by their names in the files, where reading has changed names. */
  readonly stored?: ReadonlyMap<string, TensorReference>;
  /** `config.json` as parsed, where there is one, with `configEdits`. */
  readonly config: Readonly<Record<string, unknown>> | undefined;
  /** Keys of `config.json` that the tensors contradict, or an adapter changes; undefined for one that goes. */
  readonly configEdits?: Readonly<Record<string, unknown>>;
  /** Whether the head is the embeddings, where the bytes of both said so. */
  readonly tied?: boolean;
  /** Names of tensors that are copies of others, by which loaders lose nothing if they are left out. */
  readonly copies?: ReadonlySet<string>;
  /** Why transformers would make another model of `path`, in words that follow its name; undefined where it makes this one. */
  readonly notAsLoaded?: string;
  /** Names of files of weights beside those that are read. */
  readonly unread?: readonly string[];
  /** Where tensors are quantised by a scheme that is known: `tensors` are then those of the model before it was quantised. */
  readonly quantisation?: Quantisation;
  /**
   * Where its files have the experts of mixtures fused: `tensors` are then those of each expert by itself, and `stored` those
   * of the files, by name.
   */
  readonly fusedExperts?: { readonly stored: ReadonlyMap<string, TensorReference> };
  /** Where it is a base with an adapter (`BASE+ADAPTER`). */
  readonly adapted?: AdaptedFrom;
  /** Names of the small files beside the weights and of those within them (`carried`). */
  readonly sideFiles: readonly string[];
  /** Text of the side files that a container carries within its weights, by name; absent where there are none. */
  readonly carried?: ReadonlyMap<string, string>;
  /** Bytes of the small tensors that say how others are stored (`descriptions.ts`), by name; absent where there are none. */
  readonly descriptions?: ReadonlyMap<string, Uint8Array>;
  readonly warnings: readonly string[];
}
