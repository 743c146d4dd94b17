import { join } from 'node:path';
import type { CheckpointIndex } from './checkpoint.js';
import { isObject, readJsonObject } from './json.js';

/** Every token's id, or undefined where the checkpoint has no tokenizer that can be read as text. */
export const readTokenIds = async ({
  path,
  sideFiles,
}: CheckpointIndex): Promise<ReadonlyMap<string, number> | undefined> => {
  const read = (name: string) => readJsonObject(join(path, name));
  if (sideFiles.includes('tokenizer.json')) return fromTokenizers(await read('tokenizer.json'));
  if (!sideFiles.includes('vocab.json')) return undefined;
  const added = sideFiles.includes('added_tokens.json') ? await read('added_tokens.json') : {};
  return new Map([...entries(await read('vocab.json')), ...entries(added)]);
};

const entries = (value: unknown): [string, number][] =>
  isObject(value)
    ? Object.entries(value).filter((entry): entry is [string, number] => typeof entry[1] === 'number')
    : [];

/**
 * The `tokenizers` library's file: BPE and WordPiece vocabularies are maps, a Unigram one is a list of
 * [token, score].
 */
const fromTokenizers = ({ model, added_tokens: added }: Record<string, unknown>): Map<string, number> => {
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
