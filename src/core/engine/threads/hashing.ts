import { itemAt } from '../../base/errors/lookup.js';
import { hexOf, stateWords } from '../../native/hash.js';
import type { ChecksumResult, HashResult, PartOfFile } from './task.js';

export interface HashingThreads {
  /** Counts cores without a task. Two threads count as one core; may be negative. */
  idle(): number;
  /** Hashes the next part of one or two files; undefined if the pool is stopped. */
  hash(files: readonly PartOfFile[]): Promise<HashResult | undefined>;
  /** Hashes a file without native code; undefined if the pool is stopped. */
  checksum(fd: number): Promise<ChecksumResult | undefined>;
}

interface Hashed {
  readonly part: PartOfFile;
  readonly mayWait: boolean;
  readonly resolve: (result: ChecksumResult) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Hashes files part by part. A thread hashes two files together in little more time than one
 * (`native/kernels/sha256.hpp`), and the two threads of a core share its SHA-256 unit. So while all cores are
 * busy, a file waits for a second file or an idle core.
 */
export class Hashing {
  readonly #threads: HashingThreads;
  readonly #waiting: Hashed[] = [];

  constructor(threads: HashingThreads) {
    this.#threads = threads;
  }

  /**
   * Hashes a file. If the pool is stopped, the result has neither hash nor error.
   *
   * @param mayWait false to begin at once, without a second file
   */
  add(fd: number, mayWait: boolean): Promise<ChecksumResult> {
    return new Promise((resolve, reject) => {
      const part = { fd, begin: 0, state: new Uint32Array(stateWords) };
      this.#waiting.push({ part, mayWait, resolve, reject });
      this.start();
    });
  }

  /** Starts waiting files. Call it whenever another task ends. */
  start(): void {
    while (this.#waiting.length > 0) {
      const idle = this.#threads.idle();
      if (this.#waiting.length === 1 && idle <= 0 && this.#waiting[0]?.mayWait) return;
      void this.#hash(this.#waiting.splice(0, this.#waiting.length > idle ? 2 : 1));
    }
  }

  async #hash(files: readonly Hashed[]): Promise<void> {
    try {
      const result = await this.#threads.hash(files.map(({ part }) => part));
      if (result === undefined) for (const { resolve } of files) resolve({ ok: true, sha256: undefined });
      else if (result.hashed !== undefined) this.#take(files, result.hashed);
      // Hashing without native code reports the file's error, if any.
      else for (const { part, resolve, reject } of files) this.#checksum(part.fd).then(resolve, reject);
    } catch (error) {
      for (const { reject } of files) reject(error);
    }
    this.start();
  }

  async #checksum(fd: number): Promise<ChecksumResult> {
    return (await this.#threads.checksum(fd)) ?? { ok: true, sha256: undefined };
  }

  #take(files: readonly Hashed[], hashed: NonNullable<HashResult['hashed']>): void {
    const remaining: Hashed[] = [];
    for (const [index, file] of files.entries()) {
      const { next, isLast } = itemAt(hashed, index);
      if (isLast) file.resolve({ ok: true, sha256: hexOf(next.state) });
      else remaining.push({ ...file, part: next });
    }
    this.#waiting.unshift(...remaining);
  }
}
