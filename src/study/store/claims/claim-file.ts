import { randomUUID } from 'node:crypto';
import { closeSync, constants, openSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { codeOf, LayerloomError } from '../../../core/base/errors/errors.js';
import { writing } from '../../../core/base/files/writing.js';
import { withFile } from '../../../core/engine/output/durable.js';
import { isObject } from '../../../core/models/checkpoint/files/json.js';
import { readOpenFile, readSmallFile } from '../../../core/models/checkpoint/files/small-file.js';
import { jsonOrNone } from '../../../core/texts/json.js';
import { absent } from '../files/failures.js';
import { type Claimant, isClaimant, lifeOf, ownClaimant } from './claimant.js';
import type { StoreClock } from './clock.js';
import { keepBeating, stopBeating } from './heartbeat.js';

/**
 * Age of the last heartbeat after which a claim is dead if its process is unknown. It is many beats, because
 * a thread may be busy for seconds, and NFS caches attributes for up to a minute.
 */
export const staleAfterMs = 120_000;

/** Most attempts to read a claim, which may vanish before it is read. */
const mostTurns = 100;

export type ClaimState = 'live' | 'dead' | 'gone';

export interface FoundClaim {
  readonly state: ClaimState;
  /** Claim's text; undefined if its process is about to write it, has died, or found the disk full. */
  readonly claimant?: Claimant & { readonly token: string; readonly since: string };
}

/**
 * Examines a claim. A claim of this host lives as long as its process, even if suspended. Other claims are
 * dead if the last heartbeat, by the store's clock, is older than `staleAfterMs`.
 */
export const examine = async (path: string, now: StoreClock): Promise<FoundClaim> => {
  // Opening the file makes NFS fetch the time of the last heartbeat (close-to-open consistency).
  const found = await withFile(path, 'r', async (file) => ({
    text: (await readOpenFile(path, file)).toString(),
    beat: (await file.stat()).mtimeMs,
  })).catch(absent);
  if (found === undefined) return { state: 'gone' };
  const claimant = parse(found.text);
  if (claimant !== undefined && released.has(claimant.token)) return { state: 'dead', claimant };
  const life = claimant === undefined ? 'unknown' : await lifeOf(claimant);
  const isDead = life === 'dead' || (life === 'unknown' && (await now()) - found.beat > staleAfterMs);
  return { state: isDead ? 'dead' : 'live', ...(claimant === undefined ? {} : { claimant }) };
};

/** Tokens of released claims whose files could not be removed. They are dead, though the process lives. */
const released = new Set<string>();

const parse = (text: string): FoundClaim['claimant'] => {
  // Without a claimant, only the age of the claim counts.
  const value = jsonOrNone(text);
  const isWhole =
    isObject(value) &&
    isClaimant(value) &&
    typeof value['token'] === 'string' &&
    typeof value['since'] === 'string';
  return isWhole ? (value as unknown as FoundClaim['claimant']) : undefined;
};

/**
 * Acquires the claim at `path`, or returns undefined if another process holds it.
 *
 * O_EXCL lets exactly one process create a claim, on any file system. Removing a dead claim must not remove a
 * live successor. So only the holder of the claim `path.next` may remove it, after checking again. A dead
 * `path.next` is replaced in the same way.
 *
 * A race remains: a silent process on another host may release its claim between check and removal. Then a
 * shard is published twice, with the same bytes. Claims only save work; atomic renames give correctness.
 *
 * @throws WRITE_FAILED; READ_FAILED if the claim vanishes `mostTurns` times
 */
export const acquire = async (
  path: string,
  now: StoreClock,
  about: Readonly<Record<string, unknown>> = {},
): Promise<ClaimFile | undefined> => {
  const text = await newText(about);
  for (let turn = 0; turn < mostTurns; turn += 1) {
    if (await create(path, text.whole)) return new ClaimFile(path, text);
    const { state } = await examine(path, now);
    if (state === 'live') return undefined;
    if (state === 'dead') return await takeOver(path, text, now);
  }
  throw new LayerloomError('READ_FAILED', {
    file: path,
    reason: 'other processes keep creating and removing it',
  });
};

const takeOver = async (path: string, text: ClaimText, now: StoreClock): Promise<ClaimFile | undefined> => {
  const succession = await acquire(`${path}.next`, now);
  if (succession === undefined) return undefined;
  try {
    const { state, claimant } = await examine(path, now);
    if (state === 'live') return undefined;
    await writing(path, () => rm(path, { force: true }));
    return (await create(path, text.whole)) ? new ClaimFile(path, text, claimant?.token) : undefined;
  } finally {
    await succession.release();
  }
};

interface ClaimText {
  readonly token: string;
  readonly whole: string;
}

const newText = async (about: Readonly<Record<string, unknown>>): Promise<ClaimText> => {
  const token = randomUUID();
  const claim = { ...about, token, ...(await ownClaimant()), since: new Date().toISOString() };
  return { token, whole: `${JSON.stringify(claim)}\n` };
};

/**
 * Creates the file and writes its text in one synchronous step. If the process stopped between the two, other
 * processes would wait until the empty claim is stale.
 *
 * @returns false if the file exists
 */
const create = (path: string, text: string): Promise<boolean> =>
  writing(path, async () => {
    const file = opened(path);
    if (file === undefined) return false;
    try {
      try {
        writeFileSync(file, text);
      } finally {
        closeSync(file);
      }
    } catch (error) {
      // A full disk leaves an empty claim (NFS may report the full disk only on close). It suffices for `gc`,
      // which claims the shards that it removes. A later heartbeat writes the text.
      if (!isFull(error)) {
        await rm(path, { force: true });
        throw error;
      }
    }
    return true;
  });

const opened = (path: string): number | undefined => {
  try {
    return openSync(path, 'wx');
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
    return undefined;
  }
};

const isFull = (error: unknown): boolean => ['ENOSPC', 'EDQUOT'].includes(codeOf(error) ?? '');

/** A claim held by this process, with a heartbeat until it is released or lost. */
export class ClaimFile {
  readonly path: string;
  readonly token: string;
  /** Token of the dead claim that this claim replaced. */
  readonly former: string | undefined;
  readonly #text: string;

  constructor(path: string, { token, whole }: ClaimText, former?: string) {
    this.path = path;
    this.token = token;
    this.former = former;
    this.#text = whole;
    keepBeating(this);
  }

  /** Rewrites the claim in place to update its time. @returns false if the claim was lost */
  async beat(): Promise<boolean> {
    const isOurs = await withFile(this.path, constants.O_RDWR, async (file) => {
      // Writes to the file that was read, even if its name now belongs to another file.
      if (!this.#wrote((await readOpenFile(this.path, file)).toString())) return false;
      await file.write(this.#text, 0);
      return true;
    }).catch(absent);
    return isOurs ?? false;
  }

  /**
   * Releases the claim; never throws. A claim that cannot be removed is dead for this process, and for other processes
   * once this process ends.
   */
  async release(): Promise<void> {
    stopBeating(this);
    try {
      if (this.#wrote((await readSmallFile(this.path)).toString())) await rm(this.path, { force: true });
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') released.add(this.token);
    }
  }

  /** True if a text is this claim's. The text is empty if the disk was full. */
  #wrote(text: string): boolean {
    return text === this.#text || text === '';
  }
}
