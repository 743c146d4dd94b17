import { bytesOf, type Extent } from '../../../tensor/extent.js';
import { fetchInto } from '../ranges/fetch-into.js';
import type { ListedFile } from '../ranges/folder/record.js';
import { RangeFile } from '../ranges/range-file.js';
import type { HubCacheCommit } from './cache/cache-writer.js';
import { promote } from './cache/promote.js';
import { RangesIgnored, RemoteFile } from './requests/remote-file.js';
import type { HubSession } from './requests/session/session.js';

/** Downloads ranges of a file over several connections; verifies and moves it when complete. */
export class FileDownload {
  readonly #hub: HubSession;
  readonly #at: HubCacheCommit;
  readonly #folder: string;
  readonly #file: ListedFile;
  #partsLeft: number;
  #opened: Promise<{ ranges: RangeFile; remote: RemoteFile } | undefined> | undefined;
  /** The download of the whole file; set after the server ignored a range. */
  #whole: Promise<void> | undefined;

  constructor(
    hub: HubSession,
    at: HubCacheCommit,
    { folder, file, parts }: { folder: string; file: ListedFile; parts: number },
  ) {
    this.#hub = hub;
    this.#at = at;
    this.#folder = folder;
    this.#file = file;
    this.#partsLeft = parts;
  }

  /**
   * Fetches a part's missing bytes.
   *
   * @param onBytes called with numbers of bytes, which add up to the part's length
   * @throws as `fetchInto`
   */
  async fetch(part: Extent, onBytes: (bytes: number) => void): Promise<void> {
    let rest = bytesOf([part]);
    this.#opened ??= this.#open();
    const opened = await this.#opened;
    if (opened !== undefined) {
      try {
        await (this.#whole ??
          fetchInto(opened.ranges, opened.remote, [part], {
            onBytes: (bytes) => {
              rest -= bytes;
              onBytes(bytes);
            },
          }));
      } catch (error) {
        if (!(error instanceof RangesIgnored)) throw error;
        this.#whole ??= this.#fetchWhole(opened);
        await this.#whole;
      }
    }
    onBytes(rest);
    this.#partsLeft -= 1;
    if (this.#partsLeft > 0 || opened === undefined) return;
    if (opened.ranges.isComplete) await promote(opened.ranges, this.#at, this.#file, this.#hub.signal);
    await this.close();
  }

  async #open(): Promise<{ ranges: RangeFile; remote: RemoteFile } | undefined> {
    const ranges = await RangeFile.open(this.#folder, this.#file, this.#hub.signal);
    if (ranges === undefined) return undefined;
    return { ranges, remote: new RemoteFile(this.#hub, this.#at, this.#file, ranges.served) };
  }

  async #fetchWhole({ ranges, remote }: { ranges: RangeFile; remote: RemoteFile }): Promise<void> {
    const all = { begin: 0, end: this.#file.bytes };
    await fetchInto(ranges, remote, [all], { mayDiscard: true, present: [] });
  }

  async close(): Promise<void> {
    const opened = await this.#opened?.catch(() => undefined);
    this.#opened = undefined;
    await opened?.ranges[Symbol.asyncDispose]();
  }
}
