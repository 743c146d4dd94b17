import type { TensorReference } from '../tensor/reference.js';

/**
 * How a file was found before the first of its weights was read, so that a later look tells whether those are still its weights. Its size and
 * modification time are in its identity; a modification time can be set back, what is here cannot.
 */
export interface FileState {
  /** Status-change time in nanoseconds, in decimal: the system sets it at every write, and when links are made or removed. */
  readonly ctimeNs: string;
  /** Hard links. */
  readonly links: number;
  /** A hash of the content, in hexadecimal, and of what it was taken: of sampled blocks (`sampleIdentity`) or of all bytes (`fullIdentity`). */
  readonly hash: string;
  readonly hashOf: 'samples' | 'bytes';
}

/** What tells a file apart from what it may become later. The weights themselves are not read. */
export interface FileIdentity {
  /** Absolute. */
  readonly path: string;
  readonly bytes: number;
  /** Modification time in nanoseconds, in decimal: beyond what a float64 holds exactly. */
  readonly mtimeNs: string;
  /** SHA-256 of all bytes before the data, in hexadecimal. */
  readonly header: string;
  /** Present where weights have been read since, and numbers taken from them. */
  readonly seen?: FileState;
}

/** A checkpoint as its headers describe it: every tensor's place, and no weights. */
export interface CheckpointIndex {
  readonly name: string;
  /** Absolute: the directory, or the file where the checkpoint is one bare file. */
  readonly path: string;
  readonly files: readonly FileIdentity[];
  /** What each file's header has under `__metadata__`. */
  readonly metadata: readonly Readonly<Record<string, string>>[];
  /** By name, in the order of files and of data within them. */
  readonly tensors: ReadonlyMap<string, TensorReference>;
  /** `config.json` as parsed, where there is one. */
  readonly config: Readonly<Record<string, unknown>> | undefined;
  /** Names within `path`; none for a bare file. */
  readonly sideFiles: readonly string[];
  readonly warnings: readonly string[];
}
