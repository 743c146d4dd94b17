import type { Extent } from '../../tensor/extent.js';
import type { FoundModel, Origin } from '../address/found-model.js';
import type { RangeFolder } from './ranges/folder/folder.js';

/** Remote data to fetch: none, everything needed, or only headers and small files (dry run). */
export type Download = boolean | 'headers';

export interface NeededRanges {
  readonly path: string;
  /** Ascending, without overlaps. */
  readonly ranges: readonly Extent[];
}

export interface DownloadProgress {
  readonly done: number;
  readonly total: number;
}

export interface FetchOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called as bytes arrive; `total` is the whole download's. */
  readonly onProgress?: ((progress: DownloadProgress) => void) | undefined;
}

export interface ModelSource {
  /**
   * Finds a model on this machine.
   *
   * @param at an address without `NAME=`
   * @returns the model; the path that was tried, if it is not there; undefined if the text names nothing in
   * this source
   */
  find(at: string): Promise<FoundModel | { readonly tried: string } | undefined>;
}

/**
 * A source of remote models, such as a hub or an object store. The engine sees only files: the source fetches
 * headers into a local folder and, before a run, needed byte ranges into sparse files of full length. It
 * tracks missing ranges, so that none is read as zeros.
 */
export interface RemoteSource extends ModelSource {
  names(at: string): boolean;
  /** Prefix of the source's folders in the cache of ranges: `WORD--…` (ranges/folder/folder.ts). */
  readonly folders: string;
  /** Returns the origin of a path in this source's folders or cache; undefined for other paths. */
  describePath(path: string): Promise<(Origin & { readonly name?: string }) | undefined>;
  /** Returns another program's command (`hf download …`) that puts a model where `find` searches. */
  fetchCommand?(at: string): string;
  /**
   * Fetches a model's headers and side files, so that `find` finds it.
   *
   * @returns warnings
   */
  bringHeaders(at: string, options: FetchOptions): Promise<readonly string[]>;
  /** Fetches missing ranges of the source's files, and verifies complete files. Skips other files. */
  bringRanges(needs: readonly NeededRanges[], options: FetchOptions): Promise<void>;
  /** Returns the source's hash, which identifies a file while ranges arrive; undefined for other files. */
  statedContent(path: string): Promise<string | undefined>;
  /** True if the source's cache has these files of a commit, so that the cache of ranges may drop them. */
  hasElsewhere?(at: RangeFolder, names: readonly string[], env: NodeJS.ProcessEnv): Promise<boolean>;
}
