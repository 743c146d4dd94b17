import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LayerloomError } from '../errors.js';
import type { CheckpointIndex } from './checkpoint.js';
import { isObject, parsePythonJson } from './json.js';

/** Every token's id, or undefined where the checkpoint has no tokenizer that can be read as text. */
export const readTokenIds = async (
  checkpoint: CheckpointIndex,
): Promise<ReadonlyMap<string, number> | undefined> => {
  const read = async (name: string): Promise<unknown> => {
    const file = join(checkpoint.path, name);
    try {
      return parsePythonJson(await readFile(file, 'utf8'));
    } catch (cause) {
      throw new LayerloomError(
        'CONFIG_INVALID',
        { file, reason: 'is not JSON; download or write it again' },
        { cause },
      );
    }
  };
  if (checkpoint.sideFiles.includes('tokenizer.json')) return fromTokenizers(await read('tokenizer.json'));
  if (!checkpoint.sideFiles.includes('vocab.json')) return undefined;
  const added = checkpoint.sideFiles.includes('added_tokens.json') ? await read('added_tokens.json') : {};
  return new Map([...entries(await read('vocab.json')), ...entries(added)]);
};

const entries = (value: unknown): [string, number][] =>
  isObject(value)
    ? Object.entries(value).filter((entry): entry is [string, number] => typeof entry[1] === 'number')
    : [];

/** The `tokenizers` library's file: BPE and WordPiece vocabularies are maps, a Unigram one is a list of [token, score]. */
const fromTokenizers = (value: unknown): Map<string, number> => {
  const { model, added_tokens: added } = isObject(value) ? value : {};
  const vocabulary = isObject(model) ? model['vocab'] : undefined;
  const ids = new Map(
    Array.isArray(vocabulary)
      ? vocabulary.map((pair, id): [string, number] => [String((pair as unknown[])[0]), id])
      : entries(vocabulary),
  );
  for (const token of Array.isArray(added) ? added : [])
    if (isObject(token) && typeof token['content'] === 'string' && typeof token['id'] === 'number')
      ids.set(token['content'], token['id']);
  return ids;
};

/** Tokens that two tokenizers number otherwise, the first few described. */
export const tokenDifferences = (
  a: ReadonlyMap<string, number>,
  b: ReadonlyMap<string, number>,
): string[] => {
  const tokens = new Set([...a.keys(), ...b.keys()]);
  const say = (token: string) =>
    `${JSON.stringify(token)} ${a.get(token) ?? 'absent'} against ${b.get(token) ?? 'absent'}`;
  return [...tokens].filter((token) => a.get(token) !== b.get(token)).map(say);
};
