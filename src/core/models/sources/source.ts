import type { Extent } from '../../tensor/extent.js';
import type { FoundModel, Origin } from '../address/found-model.js';
import type { RangeFolder } from './ranges/folder/folder.js';

/**
 * How much of remote models to fetch: nothing, all that is needed, or only headers and small files (a dry
 * run).
 */
export type Download = boolean | 'headers';

export interface NeededRanges {
  /** Absolute. */
  readonly path: string;
  /** Ascending, disjoint. */
  readonly ranges: readonly Extent[];
}

export interface DownloadProgress {
  readonly done: number;
  readonly total: number;
}

export interface FetchOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called as bytes arrive; `total` is that of the whole download. */
  readonly onProgress?: ((progress: DownloadProgress) => void) | undefined;
}

export interface ModelSource {
  /**
   * Looks up a model on this machine.
   *
   * @param at an address without `NAME=`
   * @returns the model; the path tried, if it is not here; undefined if the text names nothing in this source
   */
  find(at: string): Promise<FoundModel | { readonly tried: string } | undefined>;
}

/**
 * A source of remote models, such as a hub or an object store. The engine only sees files: the source fetches
 * headers into a local folder, and before a run the byte ranges needed, into sparse files of full length. It
 * tracks what is missing, so that nothing is read as zeros.
 */
export interface RemoteSource extends ModelSource {
  names(at: string): boolean;
  /** Prefix of its folders in the cache of ranges: `WORD--…` (ranges/folder.ts). */
  readonly folders: string;
  /**
   * Returns the origin of a path in this source's folders or cache; undefined for other paths and for links
   * leading out of the folder.
   */
  describePath(path: string): Promise<(Origin & { readonly name?: string }) | undefined>;
  /**
   * Returns a command of another program (such as `hf download …`) that downloads a model to the cache that
   * `find` searches.
   */
  fetchCommand?(at: string): string;
  /**
   * Fetches headers and side files of a model, so that `find` finds it.
   *
   * @returns warnings
   */
  bringHeaders(at: string, options: FetchOptions): Promise<readonly string[]>;
  /**
   * Fetches missing ranges of files in its folders, and verifies completed files. Skips other sources' files.
   */
  bringRanges(needs: readonly NeededRanges[], options: FetchOptions): Promise<void>;
  /**
   * Returns the source's hash of a file, which identifies it while ranges arrive; undefined for other
   * sources' files.
   */
  statedContent(path: string): Promise<string | undefined>;
  /**
   * True if the source's own cache has all these files of a commit, so that the cache of ranges may drop
   * them.
   */
  hasElsewhere?(at: RangeFolder, names: readonly string[], env: NodeJS.ProcessEnv): Promise<boolean>;
}
