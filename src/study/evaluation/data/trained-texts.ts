import { createHash } from 'node:crypto';
import { open, stat } from 'node:fs/promises';
import { reading } from '../../../core/base/files/writing.js';
import { isObject } from '../../../core/models/checkpoint/files/json.js';
import { jsonOrNone } from '../../../core/texts/json.js';

// Hashes of training texts show whether a problem was trained on without revealing the texts.

/** Manifest of a training with the hashes of its rows. */
export const trainingName = 'training.json';

/** Maximum number of hashes. If there are more, the smallest are kept, which are a random sample. */
const mostHashes = 50_000;

/** Minimum length in characters. Shorter texts, such as answers, do not identify a problem. */
const leastCharacters = 20;

export interface TextHashes {
  /** Prefixes of SHA-256, hexadecimal, sorted. */
  readonly hashes: readonly string[];
  /** True if larger hashes were left out. */
  readonly isSample: boolean;
}

/** Keeps only letters and digits, without a label such as `Question:`. Returns undefined for a short text. */
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

export const hashesOf = (text: string): string[] =>
  [text, ...(text.includes('\n') ? text.split('\n') : [])].flatMap((part) => {
    const essence = essenceOf(part);
    return essence === undefined ? [] : [hashOf(essence)];
  });

/** Returns each text column, and all joined, because a prompt and its completion may form one text. */
const textsOf = (row: unknown): string[] => {
  if (!isObject(row)) return [];
  const texts = Object.values(row).filter((value): value is string => typeof value === 'string');
  return [...texts, texts.join('')];
};

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
 * Hashes the texts of JSON lines files; skips other files.
 *
 * @throws READ_FAILED
 */
export const hashesOfFiles = async (files: readonly string[]): Promise<TextHashes> => {
  const found = new Smallest();
  for (const file of files.filter((name) => name.endsWith('.jsonl')))
    await reading(file, async () => {
      if (!(await stat(file)).isFile()) throw new Error('not a file');
      const handle = await open(file);
      for await (const line of handle.readLines())
        for (const text of textsOf(jsonOrNone(line))) for (const hash of hashesOf(text)) found.add(hash);
    });
  return { hashes: found.sorted(), isSample: found.isSample };
};

/** Returns whether a text was trained on; undefined if the hashes are a sample that cannot tell. */
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
