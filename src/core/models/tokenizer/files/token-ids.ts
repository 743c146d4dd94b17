/** A map of a vocabulary's ids and further ids. Does not copy the vocabulary, because models share it. */
export class TokenIds implements ReadonlyMap<string, number> {
  readonly #vocabulary: ReadonlyMap<string, number>;
  readonly #more: ReadonlyMap<string, number>;

  constructor(vocabulary: ReadonlyMap<string, number>, more: ReadonlyMap<string, number>) {
    this.#vocabulary = vocabulary;
    this.#more = more;
  }

  get size(): number {
    return this.#vocabulary.size + this.#more.size;
  }

  get(token: string): number | undefined {
    return this.#vocabulary.get(token) ?? this.#more.get(token);
  }

  has(token: string): boolean {
    return this.#vocabulary.has(token) || this.#more.has(token);
  }

  forEach(work: (id: number, token: string, ids: ReadonlyMap<string, number>) => void): void {
    for (const part of [this.#vocabulary, this.#more]) for (const [token, id] of part) work(id, token, this);
  }

  *entries(): MapIterator<[string, number]> {
    yield* this.#vocabulary;
    yield* this.#more;
  }

  *keys(): MapIterator<string> {
    yield* this.#vocabulary.keys();
    yield* this.#more.keys();
  }

  *values(): MapIterator<number> {
    yield* this.#vocabulary.values();
    yield* this.#more.values();
  }

  [Symbol.iterator](): MapIterator<[string, number]> {
    return this.entries();
  }
}
