/**
 * Splits texts as a tokenizer does, by a library, in a thread of its own (`core/texts/in-thread.ts`). The build replaces the
 * compiled module by its bundle (`scripts/bundle-libraries.mjs`).
 */
import { Tokenizer } from '@huggingface/tokenizers';

let library: Tokenizer | undefined;

/** @param config the content of `tokenizer.json`, and of `tokenizer_config.json` */
export const open = (tokenizer: object, config: object): void => {
  library = new Tokenizer(tokenizer, config);
};

/** Returns the ids of each text's tokens, without special tokens around them. */
export const split = (texts: readonly string[]): (readonly number[])[] =>
  texts.map((text) => library?.encode(text, { add_special_tokens: false }).ids ?? []);
