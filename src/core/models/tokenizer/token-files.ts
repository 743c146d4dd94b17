import { editJson } from '../../texts/edit-json.js';
import type { CheckpointIndex } from '../checkpoint/checkpoint.js';
import { isObject, parseJsonObject } from '../checkpoint/files/json.js';
import { sideFileContent, sideFileObject, sideFilePath } from '../checkpoint/side-file-content.js';
import { readTokenSettings } from './files/token-settings.js';
import { mostTokenizerValues } from './files/tokenizer.js';
import type { OutputTokens } from './unite.js';
import type { MergedVocabulary } from './vocabulary.js';

/**
 * Returns the donor's tokenizer files that change with the output's tokens. Rewrites only values that contain
 * tokens.
 *
 * @throws READ_FAILED, CONFIG_INVALID
 */
export const tokenFiles = async (
  donor: CheckpointIndex,
  { added, stripped, changed }: OutputTokens,
): Promise<MergedVocabulary['files']> => {
  if (!changed) return [];
  const list = added.map(({ id, token }) => ({ id, ...token }));
  const asMap = Object.fromEntries(added.map(({ id, token }) => [token.content, id]));
  const has = (name: string) => donor.sideFiles.includes(name);
  const read = async (name: string) => (await sideFileContent(donor, name)).toString();
  const edited = async (name: string, key: string, value: unknown) => ({
    name,
    text: editJson(await read(name), [{ path: [key], value }]),
  });

  const files: { name: string; text: string }[] = [];
  if (has('tokenizer.json')) {
    const file = await edited('tokenizer.json', 'added_tokens', list);
    files.push(
      stripped.size === 0
        ? file
        : { ...file, text: withoutTokens(file.text, stripped, sideFilePath(donor, file.name)) },
    );
  }
  const vocab =
    stripped.size > 0 ? await sideFileObject(donor, 'vocab.json', mostTokenizerValues) : undefined;
  if (vocab !== undefined) {
    for (const token of stripped) delete vocab[token];
    files.push({ name: 'vocab.json', text: JSON.stringify(vocab) });
  }
  if (stripped.size > 0 && has('merges.txt')) {
    const lines = (await read('merges.txt')).split('\n');
    const kept = lines.filter((line) => line.startsWith('#version') || keeps(line, stripped));
    files.push({ name: 'merges.txt', text: kept.join('\n') });
  }
  const config = await sideFileObject(donor, 'tokenizer_config.json');
  const hasDecoder = isObject(config?.['added_tokens_decoder']);
  if (hasDecoder) {
    const decoder = Object.fromEntries(added.map(({ id, token }) => [id, decoderEntry(token)]));
    files.push(await edited('tokenizer_config.json', 'added_tokens_decoder', decoder));
  }
  if (has('added_tokens.json') || !(has('tokenizer.json') || hasDecoder))
    files.push({ name: 'added_tokens.json', text: `${JSON.stringify(asMap, null, 2)}\n` });
  if (has('tokenizer.json') || hasDecoder) return files;
  // Only this list says that tokens of added_tokens.json are special.
  const [name, key] = ['special_tokens_map.json', 'additional_special_tokens'];
  const known = (await readTokenSettings(donor)).special.map(({ content }) => content);
  const more = added.flatMap(({ token }) =>
    token.special && !known.includes(token.content) ? token.content : [],
  );
  if (more.length === 0) return files;
  const listed = (await sideFileObject(donor, name))?.[key] ?? config?.[key];
  const text = editJson(has(name) ? await read(name) : '{}\n', [
    { path: [key], value: [...(Array.isArray(listed) ? listed : []), ...more] },
  ]);
  return [...files, { name, text }];
};

const decoderEntry = ({
  content,
  lstrip,
  normalized,
  rstrip,
  single_word,
  special,
}: OutputTokens['added'][number]['token']) => ({ content, lstrip, normalized, rstrip, single_word, special });

const withoutTokens = (text: string, stripped: ReadonlySet<string>, file: string): string => {
  const tokenizer = parseJsonObject(text, file, mostTokenizerValues) as unknown as {
    model: { vocab: Record<string, number>; merges: unknown[] };
  };
  const { vocab, merges } = tokenizer.model;
  for (const token of stripped) delete vocab[token];
  tokenizer.model.merges = merges.filter((merge) => keeps(merge as string | string[], stripped));
  return JSON.stringify(tokenizer, null, 2);
};

const keeps = (merge: string | readonly string[], stripped: ReadonlySet<string>): boolean => {
  const parts = typeof merge === 'string' ? merge.split(' ') : merge;
  return ![...parts, parts.join('')].some((token) => stripped.has(token));
};
