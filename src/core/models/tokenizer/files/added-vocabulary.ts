/** A token outside the model's vocabulary, as in `tokenizer.json`, but without its id. */
export interface AddedToken {
  readonly content: string;
  readonly single_word: boolean;
  readonly lstrip: boolean;
  readonly rstrip: boolean;
  readonly normalized: boolean;
  readonly special: boolean;
}

export const plainToken = (content: string, special = false): AddedToken => ({
  content,
  single_word: false,
  lstrip: false,
  rstrip: false,
  normalized: !special,
  special,
});

export const sameSettings = (a: AddedToken, b: AddedToken): boolean =>
  a.single_word === b.single_word &&
  a.lstrip === b.lstrip &&
  a.rstrip === b.rstrip &&
  a.normalized === b.normalized &&
  a.special === b.special;

/** Added tokens, with ids of the tokenizers library (0.23): by order of addition, whatever the file says. */
export class AddedVocabulary {
  readonly #tokens = new Map<string, { id: number; token: AddedToken }>();
  #last = -1;

  readonly #vocabulary: ReadonlyMap<string, number>;

  constructor(vocabulary: ReadonlyMap<string, number>) {
    this.#vocabulary = vocabulary;
  }

  /** Adds a token or updates its settings. Returns the id; undefined for the empty token. */
  add(token: AddedToken): number | undefined {
    if (token.content === '') return undefined;
    const id = this.idOf(token.content) ?? Math.max(this.#last + 1, this.#vocabulary.size);
    this.#tokens.set(token.content, { id, token });
    this.#last = Math.max(this.#last, id);
    return id;
  }

  idOf(content: string): number | undefined {
    return this.#tokens.get(content)?.id ?? this.#vocabulary.get(content);
  }

  list(): { readonly id: number; readonly token: AddedToken }[] {
    return [...this.#tokens.values()].sort((a, b) => a.id - b.id);
  }

  has(content: string): boolean {
    return this.#tokens.has(content);
  }
}
