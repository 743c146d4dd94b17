import type { ModelTokens } from './tokenizer.js';

/** GPT-2's characters for bytes: printable Latin-1 stands for itself, other bytes become U+0100 and on. */
const byteOf: ReadonlyMap<string, number> = (() => {
  const isPrintable = (byte: number) =>
    (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
  const bytes = new Map<string, number>();
  let next = 0x100;
  for (let byte = 0; byte < 256; byte += 1)
    bytes.set(String.fromCharCode(isPrintable(byte) ? byte : next++), byte);
  return bytes;
})();

const utf8 = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');

const ofBytes = (token: string): string => {
  const bytes: number[] = [];
  for (const character of token) {
    const byte = byteOf.get(character);
    if (byte === undefined) return utf8(token);
    bytes.push(byte);
  }
  return Buffer.from(bytes).toString('latin1');
};

const fallback = /^<0x([0-9A-Fa-f]{2})>$/;

/** A model's tokens by their bytes, as strings of characters below 256. */
export class TokenTexts {
  readonly #model: ModelTokens;
  readonly #added: ReadonlySet<string>;
  #rows: ReadonlyMap<string, number> | undefined;

  constructor(model: ModelTokens) {
    this.#model = model;
    this.#added = new Set(model.tokenizer.added.map(({ token }) => token.content));
  }

  get rows(): number {
    return this.#model.rows;
  }

  /** Returns a token's bytes, with a space at the start of a word. Added tokens are taken literally. */
  bytesOf(token: string): string {
    const { spelling } = this.#model.tokenizer;
    if (this.#added.has(token)) return fallbackOf(token) ?? utf8(token);
    if (spelling === 'bytes') return ofBytes(token);
    if (spelling === 'pieces') return fallbackOf(token) ?? utf8(token.replaceAll('▁', ' '));
    if (spelling === 'words') return utf8(token.startsWith('##') ? token.slice(2) : ` ${token}`);
    return utf8(token);
  }

  rowOf(bytes: string): number | undefined {
    this.#rows ??= this.#collect();
    return this.#rows.get(bytes);
  }

  /** Returns a special token's use, such as `bos_token`; undefined for other tokens. */
  useOf(token: string): string | undefined {
    const uses = this.#model.tokenizer.uses.flatMap(([use, content]) => (content === token ? [use] : []));
    // GPT-2 has one token that begins and ends texts. Models predict it only at the end.
    return uses.includes('eos_token') ? 'eos_token' : uses[0];
  }

  rowOfUse(use: string | undefined): number | undefined {
    const { ids, uses } = this.#model.tokenizer;
    const token = uses.find(([of]) => of === use)?.[1];
    const id = token === undefined ? undefined : ids.get(token);
    return id !== undefined && id < this.#model.rows ? id : undefined;
  }

  /** Maps bytes to token ids. Among tokens with equal bytes, takes the first; byte fallbacks come last. */
  #collect(): ReadonlyMap<string, number> {
    const { rows, tokenizer } = this.#model;
    const found = new Map<string, number>();
    const inOrder = [...tokenizer.ids].filter(([, id]) => id < rows).sort(([, a], [, b]) => a - b);
    const add = ([token, id]: readonly [string, number]): void => {
      const bytes = this.bytesOf(token);
      if (!found.has(bytes)) found.set(bytes, id);
    };
    inOrder.filter(([token]) => !fallback.test(token)).forEach(add);
    inOrder.filter(([token]) => fallback.test(token)).forEach(add);
    return found;
  }
}

const fallbackOf = (token: string): string | undefined => {
  const digits = fallback.exec(token)?.[1];
  return digits === undefined ? undefined : String.fromCharCode(Number.parseInt(digits, 16));
};
