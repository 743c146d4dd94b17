import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rm, stat, statfs, writeFile } from 'node:fs/promises';
import { freemem } from 'node:os';
import { join } from 'node:path';
import { foreignDirectory } from '../../../core/base/files/own-directory.js';
import { writing } from '../../../core/base/files/writing.js';
import { checkSpace } from '../../../core/models/checkpoint/files/disk-space.js';
import { jsonOrNone } from '../../../core/texts/json.js';
import { type Claimant, isClaimant, lifeOf, ownClaimant } from './claimant.js';

const memory = '/dev/shm';

const [prefix, ownerName] = ['.layerloom-scratch-', 'owner.json'] as const;

/** Matches a directory's name, whose random digits the caller may choose. */
export const scratchName = /^\.layerloom-scratch-[0-9a-f]{32}$/;

/** Age after which a directory without an owner is from a killed process. */
const ownerlessMs = 60_000;

/** Returns `/dev/shm` if `bytes` is at most half of its free space. */
const inMemory = async (bytes: number): Promise<string | undefined> => {
  const found = await statfs(memory).catch(() => undefined);
  if (found === undefined) return undefined;
  // Node 20.0 to 20.12 ignore a container's memory limit.
  const free = Math.min(found.bavail * found.bsize, process.availableMemory?.() ?? freemem());
  return bytes <= free / 2 ? memory : undefined;
};

/** Returns a place in memory if there is room, else `beside`. */
export const scratchPlace = async (beside: string, bytes: number): Promise<string> =>
  (await inMemory(bytes)) ?? beside;

/** A temporary directory, removed when disposed. */
export class Scratch implements AsyncDisposable {
  readonly directory: string;

  private constructor(directory: string) {
    this.directory = directory;
  }

  /**
   * Makes a directory, after removing directories of killed processes.
   *
   * @param name matches `scratchName`
   * @throws DISK_SPACE, WRITE_FAILED
   */
  static async open(
    beside: string,
    bytes: number,
    name = `${prefix}${randomBytes(16).toString('hex')}`,
  ): Promise<Scratch> {
    for (const root of [memory, beside]) await removeLeft(root);
    const root = await scratchPlace(beside, bytes);
    const directory = join(root, name);
    return await writing(root, async () => {
      await checkSpace(root, root, bytes);
      await mkdir(directory, { mode: 0o700 });
      // mkdir fails if the directory exists, so it is ours.
      const scratch = new Scratch(directory);
      await writeFile(join(directory, ownerName), JSON.stringify(await ownClaimant())).catch(
        async (cause: unknown) => {
          await scratch[Symbol.asyncDispose]();
          throw cause;
        },
      );
      return scratch;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.directory, { recursive: true, force: true });
  }
}

/** Removes leftovers of killed processes in `root`, but no links and no other users' directories. */
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

/** Parses an owner. Returns undefined for an incomplete text: its process was killed or the disk full. */
const ownerIn = (text: string): Claimant | undefined => {
  const owner = jsonOrNone(text);
  return isClaimant(owner) ? owner : undefined;
};
