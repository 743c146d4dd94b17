import { LayerloomError, reasonOf } from '../../base/errors.js';
import type { CheckpointIndex } from '../../checkpoint/checkpoint.js';
import { sideFileObject } from '../../checkpoint/side-file-content.js';
import type { TokenTexts } from './token-texts.js';
import { mostTokenizerValues } from './tokenizer.js';
import type { LackingToken } from './transplant.js';

/** A token, and the rows of a model whose mean stands for it. */
export type Subwords = readonly [id: number, ...rows: readonly number[]];

/**
 * Returns the rows of the tokens that a model's tokenizer splits texts into. Bytes that are no text by themselves have
 * the rows of single bytes. Tokens without such rows are left out.
 *
 * @throws LayerloomError TOKENIZER_UNSUPPORTED, READ_FAILED, CONFIG_INVALID
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
  const { splitterOf } = await import('./text-splitter.js');
  const split = (() => {
    try {
      return splitterOf({ ...withoutSteps, ...tokenizer }, config ?? {});
    } catch (error) {
      throw new LayerloomError('TOKENIZER_UNSUPPORTED', {
        directory: checkpoint.path,
        reason: `has a tokenizer that splits no texts here (${reasonOf(error)}); choose other rows than subword`,
      });
    }
  })();
  const rowsOf = ({ bytes }: LackingToken): readonly number[] => {
    const text = textOf(bytes);
    return text === undefined
      ? [...bytes].flatMap((byte) => model.rowOf(byte) ?? [])
      : split(text).filter((id) => id < model.rows);
  };
  return lacking.flatMap((token): Subwords[] => {
    const rows = rowsOf(token);
    return rows.length === 0 ? [] : [[token.id, ...rows]];
  });
};

/** What a tokenizer without such a step may leave out, and the library asks for. */
const withoutSteps = { normalizer: null, pre_tokenizer: null, post_processor: null, decoder: null };

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

const textOf = (bytes: string): string | undefined => {
  try {
    return utf8.decode(Buffer.from(bytes, 'latin1'));
  } catch {
    return undefined;
  }
};
