/**
 * Splits texts as a tokenizer does, by a library. The build replaces the compiled module by its bundle
 * (`scripts/bundle-libraries.mjs`).
 */
import { Tokenizer } from '@huggingface/tokenizers';

/** Returns the ids of a text's tokens, without special tokens around them. */
export type TextSplitter = (text: string) => readonly number[];

/** @param config the content of `tokenizer.json`, and of `tokenizer_config.json` */
export const splitterOf = (tokenizer: object, config: object): TextSplitter => {
  const library = new Tokenizer(tokenizer, config);
  return (text) => library.encode(text, { add_special_tokens: false }).ids;
};
