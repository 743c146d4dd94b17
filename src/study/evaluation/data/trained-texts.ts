import { createHash } from 'node:crypto';
import { open, stat } from 'node:fs/promises';
import { LayerloomError, reasonOf } from '../../../core/base/errors.js';
import { isObject } from '../../../core/models/checkpoint/json.js';
import { jsonOrNone } from '../../../core/texts/json.js';

// Which texts a model was trained on, as hashes: enough to say that a problem is one of them, and not what they are.

/** Name of the list of a training's runs, which has the hashes of its rows. */
export const trainingName = 'training.json';

/** Most hashes that are kept: of more the smallest ones, a sample by which a share of the problems is compared. */
const mostHashes = 50_000;

/** Shorter texts, such as an answer, say nothing of where they are from. */
const leastCharacters = 20;

/** Hashes of texts: all, or those up to the largest of them. */
export interface TextHashes {
  /** Sorted; each is the beginning of a SHA-256, in hexadecimal. */
  readonly hashes: readonly string[];
  /** True if larger hashes were left out. */
  readonly isSample: boolean;
}

/** The letters and digits of a text without a label before it, such as `Question:`; undefined for a short one. */
const essenceOf = (text: string): string | undefined => {
  const essence = text
    .slice(0, 1 << 16)
    .normalize('NFKC')
    .toLowerCase()
    .replace(/^\s*\p{L}{1,30}\s*[:：]/u, '')
    .replace(/[^\p{L}\p{N}]+/gu, '');
  return essence.length < leastCharacters ? undefined : essence;
};

const hashOf = (essence: string): string => createHash('sha256').update(essence).digest('hex').slice(0, 16);

/** Returns the hashes by which a text is found again: of all of it, and of each of its lines. */
export const hashesOf = (text: string): string[] =>
  [text, ...(text.includes('\n') ? text.split('\n') : [])].flatMap((part) => {
    const essence = essenceOf(part);
    return essence === undefined ? [] : [hashOf(essence)];
  });

/** The texts of a row: of each column, and of all in their order, since a prompt and its completion may be one text. */
const textsOf = (row: unknown): string[] => {
  if (!isObject(row)) return [];
  const texts = Object.values(row).filter((value): value is string => typeof value === 'string');
  return [...texts, texts.join('')];
};

/** Collects hashes, the smallest ones. */
class Smallest {
  #hashes = new Set<string>();
  isSample = false;

  add(hash: string): void {
    this.#hashes.add(hash);
    if (this.#hashes.size >= 2 * mostHashes) this.#cut();
  }

  sorted(): string[] {
    if (this.#hashes.size > mostHashes) this.#cut();
    return [...this.#hashes].sort();
  }

  #cut(): void {
    this.#hashes = new Set([...this.#hashes].sort().slice(0, mostHashes));
    this.isSample = true;
  }
}

/**
 * Hashes the texts of files of rows. Files that are not JSON lines are left out.
 *
 * @throws LayerloomError READ_FAILED
 */
export const hashesOfFiles = async (files: readonly string[]): Promise<TextHashes> => {
  const found = new Smallest();
  for (const file of files.filter((name) => name.endsWith('.jsonl')))
    try {
      if (!(await stat(file)).isFile()) throw new Error('not a file');
      const handle = await open(file);
      for await (const line of handle.readLines())
        for (const text of textsOf(jsonOrNone(line))) for (const hash of hashesOf(text)) found.add(hash);
    } catch (cause) {
      throw new LayerloomError('READ_FAILED', { file, reason: reasonOf(cause) }, { cause });
    }
  return { hashes: found.sorted(), isSample: found.isSample };
};

/** True if a text is among those that were hashed; undefined where a sample cannot tell. */
export const isAmong = (
  text: string,
  { hashes, isSample }: TextHashes,
  set: ReadonlySet<string>,
): boolean | undefined => {
  const own = hashesOf(text);
  if (own.some((hash) => set.has(hash))) return true;
  const last = hashes.at(-1) ?? '';
  return isSample && own.every((hash) => hash > last) ? undefined : false;
};
