/** Numbers texts, equal ones by the same number, so that a page carries each once. */
export class StringPool {
  readonly #index = new Map<string, number>();

  /** Returns the number of a text. */
  add(text: string): number {
    const known = this.#index.get(text);
    if (known !== undefined) return known;
    this.#index.set(text, this.#index.size);
    return this.#index.size - 1;
  }

  /** The texts, in the order of their numbers. */
  get strings(): string[] {
    return [...this.#index.keys()];
  }
}
