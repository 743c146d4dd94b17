import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rm, stat, statfs, writeFile } from 'node:fs/promises';
import { freemem } from 'node:os';
import { join } from 'node:path';
import { LayerloomError, reasonOf } from '../../core/base/errors.js';
import { foreignDirectory } from '../../core/base/own-directory.js';
import { checkSpace } from '../../core/models/checkpoint/disk-space.js';
import { jsonOrNone } from '../../core/texts/json.js';
import { type Claimant, isClaimant, lifeOf, ownClaimant } from './claimant.js';

/** The file system in memory that Linux has. */
const memory = '/dev/shm';

/** Names of scratch directories, and of the file in each that says whose it is. */
const [prefix, ownerName] = ['.layerloom-scratch-', 'owner.json'] as const;

/** A name that nobody guesses: who asks for a directory knows where it is before it is told. */
export const scratchName = /^\.layerloom-scratch-[0-9a-f]{32}$/;

/** Milliseconds after which a directory without an owner is one whose process was killed before it wrote it. */
const ownerlessMs = 60_000;

/** Returns the directory in memory, if files of so many bytes take at most half of what is free there. */
const inMemory = async (bytes: number): Promise<string | undefined> => {
  const found = await statfs(memory).catch(() => undefined);
  if (found === undefined) return undefined;
  // Node 20.0 to 20.12 do not know the limits of a container.
  const free = Math.min(found.bavail * found.bsize, process.availableMemory?.() ?? freemem());
  return bytes <= free / 2 ? memory : undefined;
};

/** Returns the directory in which so many bytes would be written: in memory where there is room. */
export const scratchPlace = async (beside: string, bytes: number): Promise<string> =>
  (await inMemory(bytes)) ?? beside;

/** A directory that lasts as long as this process needs it. */
export class Scratch implements AsyncDisposable {
  readonly directory: string;

  private constructor(directory: string) {
    this.directory = directory;
  }

  /**
   * Makes one for so many bytes, in memory or in `beside`, and removes those of processes that were killed.
   *
   * @param name one that matches `scratchName`
   * @throws LayerloomError DISK_SPACE, WRITE_FAILED
   */
  static async open(
    beside: string,
    bytes: number,
    name = `${prefix}${randomBytes(16).toString('hex')}`,
  ): Promise<Scratch> {
    for (const root of [memory, beside]) await removeLeft(root);
    const root = await scratchPlace(beside, bytes);
    const directory = join(root, name);
    try {
      await checkSpace(root, root, bytes);
      await mkdir(directory, { mode: 0o700 });
      // Its own from here on: one of the same name that was there before is another one's.
      const scratch = new Scratch(directory);
      await writeFile(join(directory, ownerName), JSON.stringify(await ownClaimant())).catch(
        async (cause: unknown) => {
          await scratch[Symbol.asyncDispose]();
          throw cause;
        },
      );
      return scratch;
    } catch (cause) {
      if (cause instanceof LayerloomError) throw cause;
      throw new LayerloomError('WRITE_FAILED', { file: root, reason: reasonOf(cause) }, { cause });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.directory, { recursive: true, force: true });
  }
}

/** Removes the directories of processes that have ended. Anyone may write in `root`: links and those of others are left. */
const removeLeft = async (root: string): Promise<void> => {
  for (const name of await readdir(root).catch(() => [])) {
    const path = join(root, name);
    if (name.startsWith(prefix) && foreignDirectory(path) === undefined && (await isLeft(path)))
      await rm(path, { recursive: true, force: true });
  }
};

const isLeft = async (path: string): Promise<boolean> => {
  const text = await readFile(join(path, ownerName), 'utf8').catch(() => '');
  const owner = ownerIn(text);
  if (owner !== undefined) return (await lifeOf(owner)) === 'dead';
  const found = await stat(path).catch(() => undefined);
  return found !== undefined && Date.now() - found.mtimeMs > ownerlessMs;
};

/** Undefined for a text that was not written whole: its process was killed while it wrote, or had no room. */
const ownerIn = (text: string): Claimant | undefined => {
  const owner = jsonOrNone(text);
  return isClaimant(owner) ? owner : undefined;
};
