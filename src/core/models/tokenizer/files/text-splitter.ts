/** Splits texts in a thread (`core/texts/in-thread.ts`), bundled by `scripts/bundle-libraries.mjs`. */
import { Tokenizer } from '@huggingface/tokenizers';

let library: Tokenizer | undefined;

export const open = (tokenizer: object, config: object): void => {
  library = new Tokenizer(tokenizer, config);
};

export const split = (texts: readonly string[]): (readonly number[])[] =>
  texts.map((text) => library?.encode(text, { add_special_tokens: false }).ids ?? []);
