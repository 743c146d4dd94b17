import { randomUUID } from 'node:crypto';
import { constants, type FileHandle, open, readFile, rm } from 'node:fs/promises';
import { isObject } from '../checkpoint/json.js';
import { withFile } from '../engine/output/durable.js';
import { type Claimant, isClaimant, lifeOf, ownClaimant } from './claimant.js';
import type { StoreClock } from './clock.js';
import { absent, codeOf, writing } from './failures.js';
import { keepBeating, stopBeating } from './heartbeat.js';

/**
 * How long a claim holds without a heartbeat, where only that can tell whether its process lives. Many beats: a thread that is busy for
 * seconds, and attributes that NFS remembers for a minute, must not look like death.
 */
export const staleAfterMs = 120_000;

/** `gone` where there is no claim. */
export type ClaimState = 'live' | 'dead' | 'gone';

export interface FoundClaim {
  readonly state: ClaimState;
  /** Undefined for a claim that says nothing: its process is about to write it, or died before it could, or the disk is full. */
  readonly claimant?: Claimant & { readonly token: string; readonly since: string };
}

/**
 * Looks at the claim that stands at `path`. That of a process of this host is dead as soon as the process is; any other once its heartbeat is older than
 * `staleAfterMs`, by the store's clock. A process of this host that lives holds its claims, also while it is suspended.
 */
export const examine = async (path: string, now: StoreClock): Promise<FoundClaim> => {
  // Opened anew, so that NFS asks the server for the time of the last heartbeat.
  const found = await withFile(path, 'r', async (file) => ({
    text: await file.readFile('utf8'),
    beat: (await file.stat()).mtimeMs,
  })).catch(absent);
  if (found === undefined) return { state: 'gone' };
  const claimant = parse(found.text);
  const life = claimant === undefined ? 'unknown' : await lifeOf(claimant);
  const isDead = life === 'dead' || (life === 'unknown' && (await now()) - found.beat > staleAfterMs);
  return { state: isDead ? 'dead' : 'live', ...(claimant === undefined ? {} : { claimant }) };
};

const parse = (text: string): FoundClaim['claimant'] => {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // Being written, or written by none of ours: its age decides.
    return undefined;
  }
  const isWhole =
    isObject(value) &&
    isClaimant(value) &&
    typeof value['token'] === 'string' &&
    typeof value['since'] === 'string';
  return isWhole ? (value as unknown as FoundClaim['claimant']) : undefined;
};

/**
 * Makes the claim at `path` this process's, or answers undefined: another one has it.
 *
 * A claim comes about by O_EXCL, which lets one process win on any file system. A dead claim is first removed, and this must not remove a live one that has
 * come in its place since somebody looked. So only who holds the claim `path.next` may remove it, after having looked once more: no other can have
 * replaced it meanwhile. Then it is created like any other, in competition with whoever comes. Who dies holding `path.next` leaves a dead claim like any other,
 * taken over by the same rule.
 *
 * One way to hold a claim twice remains: a process of another host, silent for `staleAfterMs`, wakes and releases its claim in the instant
 * between that second look and the removal. Then a shard is computed twice, and published twice with the same bytes: claims save
 * work, while it is the renaming of whole files that keeps shards right.
 *
 * @throws LayerloomError WRITE_FAILED
 */
export const acquire = async (path: string, now: StoreClock): Promise<ClaimFile | undefined> => {
  const text = await newText();
  for (;;) {
    if (await create(path, text.whole)) return new ClaimFile(path, text);
    const { state } = await examine(path, now);
    if (state === 'live') return undefined;
    if (state === 'dead') return await takeOver(path, text, now);
  }
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

const newText = async (): Promise<ClaimText> => {
  const token = randomUUID();
  const claim = { token, ...(await ownClaimant()), since: new Date().toISOString() };
  return { token, whole: `${JSON.stringify(claim)}\n` };
};

/** @returns false where the name is taken */
const create = (path: string, text: string): Promise<boolean> =>
  writing(path, async () => {
    const file = await open(path, 'wx').catch((error: unknown) => {
      if (codeOf(error) !== 'EEXIST') throw error;
    });
    if (file === undefined) return false;
    try {
      await file.write(text, 0);
    } catch (error) {
      // A full disk has room for an empty file, and `gc` must be able to claim what it removes. The heartbeat writes the text later.
      if (!isFull(error)) {
        await rm(path, { force: true });
        throw error;
      }
    } finally {
      await closeFull(file);
    }
    return true;
  });

const isFull = (error: unknown): boolean => ['ENOSPC', 'EDQUOT'].includes(codeOf(error) ?? '');

/** NFS may say only now that the disk is full. */
const closeFull = (file: FileHandle): Promise<void> =>
  file.close().catch((error: unknown) => {
    if (!isFull(error)) throw error;
  });

/** A claim that this process made. Its heart beats until it is released or lost. */
export class ClaimFile {
  readonly path: string;
  readonly token: string;
  /** The token of the dead claim in whose place this one came. */
  readonly former: string | undefined;
  readonly #text: string;

  constructor(path: string, { token, whole }: ClaimText, former?: string) {
    this.path = path;
    this.token = token;
    this.former = former;
    this.#text = whole;
    keepBeating(this);
  }

  /** Writes the claim over itself, which gives it the time of the store's clock. @returns false when it is ours no more */
  async beat(): Promise<boolean> {
    const isOurs = await withFile(this.path, constants.O_RDWR, async (file) => {
      // What is written through this descriptor goes to the file that was read, whatever has the name meanwhile.
      if (!this.#wrote(await file.readFile('utf8'))) return false;
      await file.write(this.#text, 0);
      return true;
    }).catch(absent);
    return isOurs ?? false;
  }

  /** Frees the name, if it is ours still. Never fails: what cannot be removed dies with this process. */
  async release(): Promise<void> {
    stopBeating(this);
    const text = await readFile(this.path, 'utf8').catch(() => undefined);
    if (text !== undefined && this.#wrote(text)) await rm(this.path, { force: true }).catch(() => undefined);
  }

  /** Empty is a claim that was made on a full disk. */
  #wrote(text: string): boolean {
    return text === this.#text || text === '';
  }
}
