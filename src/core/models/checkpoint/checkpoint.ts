import type { TensorReference } from '../../tensor/reference.js';
import type { FoundModel, Origin } from '../address/found-model.js';

/**
 * A file's state before weights are read, to detect later writes. Programs can set back mtime, but not ctime.
 */
export interface FileState {
  /** ctime in nanoseconds, in decimal. Every write updates it, as does adding or removing hard links. */
  readonly ctimeNs: string;
  readonly links: number;
  /** Hash in hex of sampled blocks (`sampleIdentity`) or all bytes (`fullIdentity`). */
  readonly hash: string;
  readonly hashOf: 'samples' | 'bytes';
}

/** A file's identity, for noticing later changes without reading its weights. */
export interface FileIdentity {
  readonly path: string;
  readonly bytes: number;
  /** mtime in nanoseconds, in decimal; a float64 would round it. */
  readonly mtimeNs: string;
  /** SHA-256 of all bytes before the data, in hex. */
  readonly header: string;
  /** The hub's hash, for files in the cache of ranges, instead of mtime, which changes as bytes arrive. */
  readonly content?: string;
  /** Set once weights have been read. */
  readonly seen?: FileState;
}

export interface AdaptedFrom {
  readonly base: FoundModel;
  readonly adapter: FoundModel;
  /** SHA-256 of `adapter_config.json`, in hex. */
  readonly config: string;
  readonly folder: string;
  /** The adapter's side files; all other side files are the base's. */
  readonly sideFiles: readonly string[];
  /** Indexes of files whose stored tensors differ from the checkpoint's, so they cannot be copied whole. */
  readonly foreignFiles: readonly number[];
}

export interface Quantisation {
  /** Keys of `config.json` with quantisation settings; `settings` is the value that is read. */
  readonly keys: readonly string[];
  readonly settings: Readonly<Record<string, unknown>>;
  /** The key of `settings` that lists unquantised modules, if the scheme has one. */
  readonly unconvertedKey: string | undefined;
  /** Keys of `settings` about how the model was quantised, which do not describe the stored data. */
  readonly origins: readonly string[];
  readonly stored: ReadonlyMap<string, TensorReference>;
}

/** A checkpoint as described by its headers: the place of every tensor, without weights. */
export interface CheckpointIndex extends Origin {
  readonly name: string;
  /** Absolute path of the model's directory or file. A base with an adapter has both paths, joined by `+`. */
  readonly path: string;
  /** Directory of the side files, if other than `path`. */
  readonly folder?: string;
  readonly files: readonly FileIdentity[];
  readonly metadata: readonly Readonly<Record<string, string>>[];
  /** Tensors in file order, then in order of data. */
  readonly tensors: ReadonlyMap<string, TensorReference>;
  /** Tensors by their names in the files, if reading renamed them. */
  readonly stored?: ReadonlyMap<string, TensorReference>;
  readonly config: Readonly<Record<string, unknown>> | undefined;
  /** Set if `config` is from `--config`; `withFiles` if side files are too. */
  readonly configGiven?: 'alone' | 'withFiles';
  /** Changes to `config.json`: keys that tensors contradict or an adapter changes; undefined removes one. */
  readonly configEdits?: Readonly<Record<string, unknown>>;
  /** Whether the head equals the embeddings; absent if `config.json` decides. */
  readonly tied?: boolean;
  /** Tensors that copy others, which loaders do not need. */
  readonly copies?: ReadonlySet<string>;
  /** Why transformers would build another model from `path`, as a phrase after the model's name. */
  readonly notAsLoaded?: string;
  /** Weight files that are not read. */
  readonly unread?: readonly string[];
  /** Set for a known quantisation scheme; then `tensors` are the model's before quantisation. */
  readonly quantisation?: Quantisation;
  /** Set if files fuse experts; `tensors` then has single experts, `stored` fused ones. */
  readonly fusedExperts?: { readonly stored: ReadonlyMap<string, TensorReference> };
  /** The base and the adapter of `BASE+ADAPTER`. */
  readonly adapted?: AdaptedFrom;
  /** Names of small files beside the weights or inside the weights' file (`carried`). */
  readonly sideFiles: readonly string[];
  /** Text of side files in the weights' container, by name. */
  readonly carried?: ReadonlyMap<string, string>;
  /** Bytes of small tensors that describe others, by name (`descriptions.ts`). */
  readonly descriptions?: ReadonlyMap<string, Uint8Array>;
  readonly warnings: readonly string[];
}
