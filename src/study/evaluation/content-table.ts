import { itemAt, valueAt } from '../../core/base/errors/lookup.js';
import type { ContentPart, ModelContents } from './model-contents.js';

const numberIn = (numbers: Map<string, number>, text: string): number => {
  const number = numbers.get(text) ?? numbers.size;
  numbers.set(text, number);
  return number;
};

/** Marks a tensor that the model lacks; numbers start at 1. */
const absent = 0;

/** A table that numbers contents: a row for each model, a column for each tensor. */
export class ContentTable {
  readonly #bytes: number[] = [];
  readonly #rows: ReadonlyMap<string, number>;
  readonly #forms: readonly string[];
  readonly #contents: readonly Int32Array[];
  readonly #sizes: readonly number[];
  readonly #shared: readonly number[];

  constructor(models: ReadonlyMap<string, ModelContents>) {
    const all = [...models.values()];
    const [columns, contents] = [new Map<string, number>(), new Map([['', absent]])];
    const cellsOf = ({ slots, contents: own }: ContentPart) =>
      slots.map(({ name, bytes }, index) => {
        const column = numberIn(columns, name);
        this.#bytes[column] = bytes;
        return [column, numberIn(contents, `${name} ${itemAt(own, index)}`)] as const;
      });
    const cells = new Map(
      [...new Set(all.flatMap(({ parts }) => parts))].map((part) => [part, cellsOf(part)]),
    );
    this.#rows = new Map([...models.keys()].map((model, row) => [model, row]));
    this.#forms = all.map(({ form }) => form);
    const having: number[] = [];
    this.#contents = all.map(({ parts }) => {
      const row = new Int32Array(columns.size);
      for (const [column, content] of parts.flatMap((part) => valueAt(cells, part))) {
        row[column] = content;
        having[content] = (having[content] ?? 0) + 1;
      }
      return row;
    });
    const sums = (times: (content: number) => number): number[] =>
      this.#contents.map((row) =>
        row.reduce(
          (sum, own, column) => (own === absent ? sum : sum + itemAt(this.#bytes, column) * times(own)),
          0,
        ),
      );
    this.#sizes = sums(() => 1);
    this.#shared = sums((content) => itemAt(having, content));
  }

  rowOf(model: string): number | undefined {
    return this.#rows.get(model);
  }

  bytesOf(row: number): number {
    return itemAt(this.#sizes, row);
  }

  /** Returns the size of a model's tensors in bytes, each counted once for every model that has it. */
  sharedBytesOf(row: number): number {
    return itemAt(this.#shared, row);
  }

  /**
   * Returns the size of the tensors that differ between two models, in bytes; undefined if the models' forms
   * or sets of tensors differ. Stops counting beyond `most`.
   */
  differenceOf(from: number, to: number, most = Number.POSITIVE_INFINITY): number | undefined {
    if (this.#forms[from] !== this.#forms[to]) return undefined;
    const [a, b] = [itemAt(this.#contents, from), itemAt(this.#contents, to)];
    let sum = 0;
    for (let column = 0; column < a.length && sum <= most; column += 1) {
      if (a[column] === b[column]) continue;
      if (a[column] === absent || b[column] === absent) return undefined;
      sum += this.#bytes[column] as number;
    }
    return sum;
  }
}
