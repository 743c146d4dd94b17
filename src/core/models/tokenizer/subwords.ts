import { pathToFileURL } from 'node:url';
import { LayerloomError, reasonOf } from '../../base/errors/errors.js';
import { itemAt } from '../../base/errors/lookup.js';
import { shipped } from '../../base/files/shipped.js';
import { LibraryThread, TookTooLong } from '../../texts/in-thread.js';
import type { CheckpointIndex } from '../checkpoint/checkpoint.js';
import { isObject } from '../checkpoint/files/json.js';
import { sideFileObject } from '../checkpoint/side-file-content.js';
import type { TokenTexts } from './files/token-texts.js';
import { mostTokenizerValues } from './files/tokenizer.js';
import type { LackingToken } from './transplant.js';

/** A token, and the model's rows whose mean becomes its row. */
export type Subwords = readonly [id: number, ...rows: readonly number[]];

/** The compiled module for the thread, even when this file runs from source. */
const splitter = pathToFileURL(shipped('dist/core/models/tokenizer/files/text-splitter.cjs'));

const together = 256;

/** Seconds allowed in total, per token and per character: several times what slow tokenizers take. */
const seconds = { inAll: 1, token: 5e-6, character: 25e-6 };

/**
 * Returns rows of the tokens into which a model's tokenizer splits texts. Bytes that are not valid text use
 * the rows of single bytes. Leaves out tokens without rows.
 *
 * @throws TOKENIZER_UNSUPPORTED, READ_FAILED, CONFIG_INVALID
 */
export const subwordsOf = async (
  checkpoint: CheckpointIndex,
  model: TokenTexts,
  lacking: readonly LackingToken[],
): Promise<readonly Subwords[]> => {
  const read = (name: string) => sideFileObject(checkpoint, name, mostTokenizerValues);
  const [tokenizer, config] = [await read('tokenizer.json'), await read('tokenizer_config.json')];
  if (tokenizer === undefined)
    throw new LayerloomError('TOKENIZER_UNSUPPORTED', {
      directory: checkpoint.path,
      reason:
        'has no tokenizer.json, by which texts would be split; write one in Python by `AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR)`',
    });
  const texts = lacking.map(({ bytes }) => textOf(bytes));
  const found = texts.filter((text) => text !== undefined);
  const ids = await splitAll({ ...withoutSteps, ...tokenizer }, config ?? {}, found).catch(
    (error: unknown) => {
      if (error instanceof LayerloomError) throw error;
      const reason = error instanceof TookTooLong ? 'it takes too long' : reasonOf(error);
      throw new LayerloomError('TOKENIZER_UNSUPPORTED', {
        directory: checkpoint.path,
        reason: `has a tokenizer that splits no texts here (${reason}); choose other rows than subword`,
      });
    },
  );
  let next = 0;
  return lacking.flatMap(({ id, bytes }, index): Subwords[] => {
    const rows =
      texts[index] === undefined
        ? [...bytes].flatMap((byte) => model.rowOf(byte) ?? [])
        : itemAt(ids, next++).filter((row) => row < model.rows);
    return rows.length === 0 ? [] : [[id, ...rows]];
  });
};

/** Splits in a thread with a time limit: an untrusted tokenizer's expressions may take forever. */
const splitAll = async (
  tokenizer: Readonly<Record<string, unknown>>,
  config: object,
  texts: readonly string[],
): Promise<(readonly number[])[]> => {
  const thread = new LibraryThread(splitter);
  try {
    await thread.call('open', [tokenizer, config], seconds.inAll + seconds.token * tokensIn(tokenizer));
    const ids: (readonly number[])[] = [];
    for (let at = 0; at < texts.length; at += together) {
      const some = texts.slice(at, at + together);
      const characters = some.reduce((sum, text) => sum + text.length, 0);
      ids.push(...((await thread.call('split', [some], seconds.character * characters)) as number[][]));
    }
    return ids;
  } finally {
    await thread.end();
  }
};

const tokensIn = ({ model }: Readonly<Record<string, unknown>>): number => {
  if (!isObject(model)) return 0;
  const sizeOf = (value: unknown) =>
    typeof value === 'object' && value !== null ? Object.keys(value).length : 0;
  return sizeOf(model['vocab']) + sizeOf(model['merges']);
};

/** Keys that the library requires, and that tokenizers may omit. */
const withoutSteps = { normalizer: null, pre_tokenizer: null, post_processor: null, decoder: null };

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

const textOf = (bytes: string): string | undefined => {
  try {
    return utf8.decode(Buffer.from(bytes, 'latin1'));
  } catch {
    return undefined;
  }
};
