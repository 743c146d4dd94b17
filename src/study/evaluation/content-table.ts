import { itemAt, valueAt } from '../../core/base/errors/lookup.js';
import type { ContentPart, ModelContents } from './model-contents.js';

/** The model lacks the tensor. */
const absent = -1;

/** Numbers things in order of first appearance. */
class Numbers<T> {
  readonly #numbers = new Map<T, number>();

  of(thing: T): number {
    const number = this.#numbers.get(thing) ?? this.#numbers.size;
    this.#numbers.set(thing, number);
    return number;
  }
}

type Cell = readonly [column: number, content: number];

/**
 * The contents of models as numbers. A column is a set of tensors that change together, such as a layer's, so
 * comparing two models costs one step per column.
 */
export class ContentTable {
  readonly #columns: number;
  /** By column. */
  readonly #bytes: Float64Array;
  /** By row and column. */
  readonly #contents: Int32Array;
  /** By row. */
  readonly #forms: Int32Array;
  readonly #sizes: Float64Array;
  readonly #shared: Float64Array;
  readonly #rows: ReadonlyMap<string, number>;

  constructor(models: ReadonlyMap<string, ModelContents>) {
    const all = [...models.values()];
    const { bytes, cellsOf } = columnsOf(new Set(all.flatMap(({ parts }) => parts)));
    const forms = new Numbers<string>();
    this.#columns = bytes.length;
    this.#bytes = Float64Array.from(bytes);
    this.#contents = new Int32Array(all.length * bytes.length).fill(absent);
    this.#forms = Int32Array.from(all, ({ form }) => forms.of(form));
    this.#rows = new Map([...models.keys()].map((model, row) => [model, row]));
    const having = bytes.map((): number[] => []);
    for (const [row, { parts }] of all.entries())
      for (const part of parts)
        for (const [column, content] of cellsOf(part)) {
          this.#contents[row * bytes.length + column] = content;
          const ofColumn = itemAt(having, column);
          ofColumn[content] = (ofColumn[content] ?? 0) + 1;
        }
    const sum = (row: number, of: (column: number, content: number) => number): number => {
      let total = 0;
      for (let column = 0; column < bytes.length; column += 1) {
        const content = itemAt(this.#contents, row * bytes.length + column);
        if (content !== absent) total += itemAt(bytes, column) * of(column, content);
      }
      return total;
    };
    this.#sizes = Float64Array.from(all, (_, row) => sum(row, () => 1));
    this.#shared = Float64Array.from(all, (_, row) =>
      sum(row, (column, content) => itemAt(itemAt(having, column), content)),
    );
  }

  /** Returns a model's row, if it has one. */
  rowOf(model: string): number | undefined {
    return this.#rows.get(model);
  }

  bytesOf(row: number): number {
    return itemAt(this.#sizes, row);
  }

  /** Sums a model's bytes, each times the number of models that have it. */
  sharedBytesOf(row: number): number {
    return itemAt(this.#shared, row);
  }

  /**
   * Returns the bytes in which two models differ; undefined for different forms or sets of tensors. Stops
   * counting beyond `most`.
   */
  differenceOf(from: number, to: number, most = Number.POSITIVE_INFINITY): number | undefined {
    if (this.#forms[from] !== this.#forms[to]) return undefined;
    const [columns, contents, bytes] = [this.#columns, this.#contents, this.#bytes];
    const [a, b] = [from * columns, to * columns];
    let sum = 0;
    for (let column = 0; column < columns && sum <= most; column += 1) {
      const one = contents[a + column];
      const other = contents[b + column];
      if (one === other) continue;
      if (one === absent || other === absent) return undefined;
      sum += bytes[column] as number;
    }
    return sum;
  }
}

/**
 * Divides tensors by partition refinement: a column's tensors are all in a part or none, and change together.
 */
const columnsOf = (
  parts: ReadonlySet<ContentPart>,
): { readonly bytes: readonly number[]; cellsOf(part: ContentPart): readonly Cell[] } => {
  const contents = new Map<string, Numbers<string>>();
  const sets = new Map<string, number>();
  const bytesOfSlots = new Map<string, number>();
  let last = 0;
  for (const part of parts) {
    const divided = new Map<string, number>();
    for (const [index, { name, bytes }] of part.slots.entries()) {
      const own = contents.get(name) ?? new Numbers<string>();
      contents.set(name, own);
      bytesOfSlots.set(name, bytes);
      const before = `${sets.get(name) ?? 0} ${own.of(itemAt(part.contents, index))}`;
      const known = divided.get(before);
      if (known === undefined) last += 1;
      const set = known ?? last;
      divided.set(before, set);
      sets.set(name, set);
    }
  }
  const bytesOfSets = new Map<number, number>();
  for (const [name, set] of sets)
    bytesOfSets.set(set, (bytesOfSets.get(set) ?? 0) + valueAt(bytesOfSlots, name));
  // Largest first, to recognise distant models early.
  const bySize = [...bytesOfSets].sort(([, one], [, other]) => other - one);
  const columns = new Map(bySize.map(([set], column) => [set, column]));
  const cells = new Map(
    [...parts].map((part): [ContentPart, readonly Cell[]] => [
      part,
      [
        ...new Map(
          part.slots.map(({ name }, index) => [
            valueAt(columns, valueAt(sets, name)),
            valueAt(contents, name).of(itemAt(part.contents, index)),
          ]),
        ),
      ],
    ]),
  );
  return { bytes: bySize.map(([, bytes]) => bytes), cellsOf: (part) => valueAt(cells, part) };
};
