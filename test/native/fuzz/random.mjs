// @ts-check

/** Numbers from a seed and a case number: every case can be replayed alone. */
export class Random {
  #state;

  /** @param {number} seed @param {number} number of the case */
  constructor(seed, number) {
    this.#state = Math.imul(seed, 0x9e3779b1) ^ Math.imul(number + 1, 0x85ebca6b);
  }

  word() {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let z = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    z ^= z + Math.imul(z ^ (z >>> 7), z | 61);
    return (z ^ (z >>> 14)) >>> 0;
  }

  /** @param {number} end */
  below(end) {
    return Math.floor((this.word() / 2 ** 32) * end);
  }

  /** @param {number} least @param {number} most */
  from(least, most) {
    return least + this.below(most - least + 1);
  }

  /** @param {number} probability */
  chance(probability) {
    return this.word() < probability * 2 ** 32;
  }

  /** @template T @param {readonly T[]} list @returns {T} */
  pick(list) {
    return /** @type {T} */ (list[this.below(list.length)]);
  }

  /** @template T @param {number} length @param {(index: number) => T} make */
  list(length, make) {
    return Array.from({ length }, (_, index) => make(index));
  }
}
