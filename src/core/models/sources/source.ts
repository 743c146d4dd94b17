import type { Extent } from '../../tensor/extent.js';
import type { FoundModel, Origin } from '../address/found-model.js';
import type { RangeFolder } from './ranges/folder.js';

/**
 * How much of models that are elsewhere is fetched: nothing, what is needed, or headers and small files alone, as a dry
 * run does.
 */
export type Download = boolean | 'headers';

/** Bytes of a file that a run needs. */
export interface NeededRanges {
  /** Absolute. */
  readonly path: string;
  /** From the start of the file, ascending, disjoint. */
  readonly ranges: readonly Extent[];
}

/** Progress of a download. */
export interface DownloadProgress {
  readonly done: number;
  readonly total: number;
}

/** Options of whatever fetches. */
export interface FetchOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called as bytes come, with those of all that is to be done. */
  readonly onProgress?: ((progress: DownloadProgress) => void) | undefined;
}

/** A place where models are looked up. */
export interface ModelSource {
  /**
   * Looks a model up on this machine.
   *
   * @param at an address without a name in front
   * @returns the model; or, where it is not here, the path that was tried; or undefined where the text names nothing in
   *   this source
   */
  find(at: string): Promise<FoundModel | { readonly tried: string } | undefined>;
}

/**
 * A source whose models are elsewhere: a hub, an object store. The engine sees files only. So the source brings names and
 * headers of a model's files into a directory here, and before a plan runs the byte ranges that it reads, at their offsets in
 * files of their full length. What has not come is known to it, and never read as zeros.
 */
export interface RemoteSource extends ModelSource {
  /** True for the spelling of its models. */
  names(at: string): boolean;
  /** A word: its folders in the cache of ranges (ranges/folder.ts) are called `WORD--…`. */
  readonly folders: string;
  /**
   * Returns what is known of a path in a folder or cache of this source, whoever names it; undefined for other paths, and
   * where links lead out of that folder.
   */
  describePath(path: string): Promise<(Origin & { readonly name?: string }) | undefined>;
  /** Returns the command of another program that fetches a model to where `find` finds it. */
  fetchCommand?(at: string): string;
  /**
   * Fetches headers and side files of a model, so that `find` finds it.
   *
   * @returns warnings
   */
  bringHeaders(at: string, options: FetchOptions): Promise<readonly string[]>;
  /**
   * Fetches what is missing of files in its folders, and verifies those of which all is here. Leaves out the files of other
   * sources.
   */
  bringRanges(needs: readonly NeededRanges[], options: FetchOptions): Promise<void>;
  /**
   * Returns the hash that the source states of a file's content, by which the file is identified while its ranges arrive;
   * undefined for files of other sources.
   */
  statedContent(path: string): Promise<string | undefined>;
  /** True if a cache of its own has all of some files of a commit, which the cache of ranges then need not keep. */
  hasElsewhere?(at: RangeFolder, names: readonly string[], env: NodeJS.ProcessEnv): Promise<boolean>;
}
