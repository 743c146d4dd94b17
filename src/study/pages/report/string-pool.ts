/** Assigns numbers to texts, so that a page contains each text once. */
export class StringPool {
  readonly #index = new Map<string, number>();

  add(text: string): number {
    const known = this.#index.get(text);
    if (known !== undefined) return known;
    this.#index.set(text, this.#index.size);
    return this.#index.size - 1;
  }

  get strings(): string[] {
    return [...this.#index.keys()];
  }
}
