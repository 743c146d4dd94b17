import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { LayerloomError } from '../../../base/errors/errors.js';
import type { CheckpointIndex } from '../../checkpoint/checkpoint.js';
import { isObject, parseJsonObject } from '../../checkpoint/files/json.js';
import { sideFileContent, sideFilePath } from '../../checkpoint/side-file-content.js';
import type { AddedToken } from './added-vocabulary.js';
import { readIds } from './read-ids.js';
import { readTokenSettings, settingsOf, type TokenSettings } from './token-settings.js';
import { endOf, makeTokenizer, mostTokenizerValues, type Spelling, type Tokenizer } from './tokenizer.js';
import { splitTokenizer, stringsIn, type TokenizerText, withoutMerges } from './without-merges.js';

/** Facts about a checkpoint's tokenizer found without parsing its vocabulary. */
export interface TokenizerFiles {
  /** Equal for equal vocabularies. */
  readonly hash: string;
  readonly form: 'tokenizer.json' | 'vocab.json' | 'tokenizer.model';
  readonly settings: TokenSettings;
}

export class TokenizerReader {
  readonly #files = new WeakMap<CheckpointIndex, Promise<TokenizerFiles | undefined>>();
  readonly #tokenizers = new WeakMap<CheckpointIndex, Promise<Tokenizer>>();
  readonly #vocabularies: Vocabularies = new Map();

  /**
   * Returns a checkpoint's tokenizer files, if any.
   *
   * @throws READ_FAILED, CONFIG_INVALID
   */
  filesOf(checkpoint: CheckpointIndex): Promise<TokenizerFiles | undefined> {
    const found = this.#files.get(checkpoint) ?? readFiles(checkpoint);
    this.#files.set(checkpoint, found);
    return found;
  }

  /**
   * Reads the vocabulary of a checkpoint with a tokenizer.
   *
   * @throws READ_FAILED, CONFIG_INVALID, TOKENIZER_UNSUPPORTED
   */
  read(checkpoint: CheckpointIndex, found: TokenizerFiles): Promise<Tokenizer> {
    const tokenizer = this.#tokenizers.get(checkpoint) ?? parse(checkpoint, found, this.#vocabularies);
    this.#tokenizers.set(checkpoint, tokenizer);
    return tokenizer;
  }

  async hasTokens(checkpoint: CheckpointIndex): Promise<boolean> {
    const found = await this.filesOf(checkpoint);
    return found !== undefined && found.form !== 'tokenizer.model';
  }

  async idsOf(checkpoint: CheckpointIndex): Promise<ReadonlyMap<string, number>> {
    const found = await this.filesOf(checkpoint);
    return found === undefined ? new Map() : (await this.read(checkpoint, found)).ids;
  }
}

const readFiles = async (checkpoint: CheckpointIndex): Promise<TokenizerFiles | undefined> => {
  const { sideFiles } = checkpoint;
  const form = (['tokenizer.json', 'vocab.json', 'tokenizer.model'] as const).find((name) =>
    sideFiles.includes(name),
  );
  if (form === undefined) return undefined;
  const content = await sideFileContent(checkpoint, form);
  const settings = await readTokenSettings(checkpoint);
  const { decoder, special } = settings;
  // Leaves out tokens in the file: models often differ in the padding token, usually in the vocabulary.
  const has = textsAmong(content, new Set(special.map((token) => token.content)));
  const missing = special.filter((token) => !has.has(token.content));
  const hash = createHash('sha256')
    .update(content)
    .update(JSON.stringify([decoder, missing]))
    .digest('hex');
  return { hash, form, settings };
};

const textsAmong = (content: Buffer, texts: ReadonlySet<string>): ReadonlySet<string> => {
  // Compares undecoded bytes, because the file may contain half a million other strings.
  const wanted = new Map(
    [...texts].map((text) => [Buffer.from(JSON.stringify(text)).toString('latin1'), text]),
  );
  const lengths = new Set([...wanted.keys()].map((bytes) => bytes.length));
  const found = new Set<string>();
  for (const [begin, end] of stringsIn(content)) {
    if (!lengths.has(end - begin)) continue;
    const text = wanted.get(content.toString('latin1', begin, end));
    if (text !== undefined) found.add(text);
  }
  return found;
};

const sentencePiece =
  'has its vocabulary only in tokenizer.model (SentencePiece), which cannot be compared or united; write a ' +
  'tokenizer.json beside it in Python by `AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR)`';

/**
 * Vocabularies by the SHA-256 of their text, because models of a family often differ only in added tokens.
 */
type Vocabularies = Map<string, ReadonlyMap<string, number>>;

const parse = async (
  checkpoint: CheckpointIndex,
  { form, settings }: TokenizerFiles,
  vocabularies: Vocabularies,
): Promise<Tokenizer> => {
  const file = sideFilePath(checkpoint, form);
  if (form === 'tokenizer.model')
    throw new LayerloomError('TOKENIZER_UNSUPPORTED', { directory: checkpoint.path, reason: sentencePiece });
  const sideFile = await sideFileContent(checkpoint, form);
  if (!isUtf8(sideFile))
    throw new LayerloomError('CONFIG_INVALID', { file, reason: 'is not UTF-8; download or write it again' });
  if (form === 'vocab.json')
    return makeTokenizer(
      {
        file,
        algorithm: 'BPE',
        spelling: 'bytes',
        vocabulary: sharedVocabulary(sideFile, file, vocabularies),
      },
      [],
      settings,
    );
  const parts = splitTokenizer(sideFile);
  const content = parseChecked(parts.rest, file);
  const { model, added_tokens: added } = content;
  if (!isObject(model)) throw malformed(file, 'model');
  const vocabulary =
    parts.vocabulary !== undefined && model['vocab'] === parts.mark
      ? sharedVocabulary(parts.vocabulary, file, vocabularies)
      : vocabularyOf(vocabularyIn(parts, model, sideFile, file), file);
  if (added !== undefined && !Array.isArray(added)) throw malformed(file, 'added_tokens');
  const tokens = ((added ?? []) as unknown[]).map((token) => addedToken(token, file));
  const algorithm = algorithmOf(model);
  const spelling = spellingOf(algorithm, content);
  return makeTokenizer({ file, algorithm, spelling, vocabulary }, tokens, settings);
};

/** Returns `model.vocab` unless `splitTokenizer` cut it out; parses again if it cut another `vocab`. */
const vocabularyIn = (
  { vocabulary }: TokenizerText,
  model: Record<string, unknown>,
  content: Buffer,
  file: string,
): unknown => {
  if (vocabulary === undefined) return model['vocab'];
  const whole = parseChecked(withoutMerges(content), file)['model'];
  return isObject(whole) ? whole['vocab'] : undefined;
};

const sharedVocabulary = (
  text: Buffer,
  file: string,
  vocabularies: Vocabularies,
): ReadonlyMap<string, number> => {
  const key = createHash('sha256').update(text).digest('hex');
  const known = vocabularies.get(key) ?? vocabularyOfText(text.toString(), file);
  vocabularies.set(key, known);
  return known;
};

const vocabularyOfText = (text: string, file: string): ReadonlyMap<string, number> => {
  checkLength(text, file);
  const ids = readIds(text);
  return ids === undefined
    ? vocabularyOf(parseJsonObject(text, file, mostTokenizerValues), file)
    : checkedIds(ids, file);
};

/** @throws CONFIG_INVALID, also if the text is too long for a vocabulary */
const parseChecked = (text: string, file: string): Record<string, unknown> => {
  checkLength(text, file);
  return parseJsonObject(text, file, mostTokenizerValues);
};

const checkLength = (text: string, file: string): void => {
  if (text.length > mostCharacters)
    throw new LayerloomError('CONFIG_INVALID', {
      file,
      reason: `has more than ${mostCharacters} characters beside its merges, as no vocabulary has; download or write it again`,
    });
};

const spellingOf = (
  algorithm: string,
  { normalizer, pre_tokenizer, decoder }: Readonly<Record<string, unknown>>,
): Spelling => {
  if (algorithm === 'WordPiece') return 'words';
  const steps = JSON.stringify([normalizer, pre_tokenizer, decoder]);
  if (steps.includes('"ByteLevel"')) return 'bytes';
  return steps.includes('▁') ? 'pieces' : 'text';
};

/** Old files do not name the type. */
const algorithmOf = (model: Record<string, unknown>): string => {
  if (typeof model['type'] === 'string') return model['type'];
  if (Array.isArray(model['vocab'])) return 'Unigram';
  return 'merges' in model ? 'BPE' : 'WordPiece';
};

/** Maximum ids, because ids index arrays. Vocabularies leave few ids out. */
const mostIds = (tokens: number): number => 4 * tokens + 65_536;

/** Maximum length: several times the largest tokenizer's. It allows millions of tokens, parsed in seconds. */
const mostCharacters = 40_000_000;

/** Returns ids by token. BPE and WordPiece store an object of ids, Unigram a list of [token, score]. */
const vocabularyOf = (vocabulary: unknown, file: string): ReadonlyMap<string, number> => {
  const ids = new Map<string, number>();
  const add = (token: unknown, id: unknown): void => {
    if (typeof token !== 'string' || typeof id !== 'number') throw malformed(file, 'vocab');
    ids.set(token, id);
  };
  if (Array.isArray(vocabulary))
    for (const [id, pair] of vocabulary.entries()) add(Array.isArray(pair) ? pair[0] : pair, id);
  // Checks only keys, because `Object.entries` would be the slowest step for millions of tokens.
  else if (isObject(vocabulary)) for (const token of Object.keys(vocabulary)) add(token, vocabulary[token]);
  else throw malformed(file, 'vocab');
  return checkedIds(ids, file);
};

const checkedIds = (ids: ReadonlyMap<string, number>, file: string): ReadonlyMap<string, number> => {
  const most = mostIds(ids.size);
  ids.forEach((id) => {
    if (!Number.isInteger(id) || id < 0 || id >= most) throw malformed(file, 'vocab');
  });
  // Refuses many tokens with one id, because each token with a row becomes an output token.
  if (ids.size > 2 * endOf(ids)) throw malformed(file, 'vocab');
  return ids;
};

const addedToken = (value: unknown, file: string): AddedToken => {
  const token = settingsOf(value);
  if (token === undefined) throw malformed(file, 'added_tokens');
  return token;
};

const malformed = (file: string, key: string): LayerloomError =>
  new LayerloomError('CONFIG_INVALID', {
    file,
    reason: `has no valid \`${key}\`; download or write it again`,
  });
