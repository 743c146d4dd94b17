import { type Location, locationOf, type Mark } from './source.js';

export type Path = readonly (string | number)[];

/** A value and where it was written. Immutable; parts may come from different files. */
export type Tree = Leaf | List | Mapping;

export interface Leaf {
  readonly kind: 'leaf';
  readonly mark: Mark;
  readonly value: string | number | boolean | null;
  /** True for unquoted text, which YAML 1.1 may read as another type, as in `yes`. */
  readonly bare: boolean;
}

export interface List {
  readonly kind: 'list';
  readonly mark: Mark;
  readonly items: readonly Tree[];
}

export interface Mapping {
  readonly kind: 'mapping';
  readonly mark: Mark;
  readonly entries: Entries;
}

export interface MappingEntry {
  readonly key: Mark;
  readonly value: Tree;
}

export type Entries = ReadonlyMap<string, MappingEntry>;

export const leaf = (mark: Mark, value: Leaf['value']): Leaf => ({ kind: 'leaf', mark, value, bare: false });

export const list = (mark: Mark, items: readonly Tree[]): List => ({ kind: 'list', mark, items });

export const mapping = (mark: Mark, entries: Entries): Mapping => ({ kind: 'mapping', mark, entries });

export const entriesOf = (
  given: Readonly<Record<string, MappingEntry | undefined>>,
): Map<string, MappingEntry> =>
  new Map(Object.entries(given).flatMap(([key, entry]) => (entry === undefined ? [] : [[key, entry]])));

export type Text = Leaf & { readonly value: string };

export const isText = (tree: Tree): tree is Text => tree.kind === 'leaf' && typeof tree.value === 'string';

/** Makes one object per tree, so that aliases do not multiply memory. */
export const toPlain = (tree: Tree, made: Map<Tree, unknown> = new Map()): unknown => {
  if (tree.kind === 'leaf') return tree.value;
  const former = made.get(tree);
  if (former !== undefined) return former;
  const value =
    tree.kind === 'list'
      ? tree.items.map((item) => toPlain(item, made))
      : Object.fromEntries([...tree.entries].map(([key, entry]) => [key, toPlain(entry.value, made)]));
  made.set(tree, value);
  return value;
};

/** Returns the place of the value at a path or, if absent, of the innermost value that exists. */
export const locate = (root: Tree, path: Path, part: 'key' | 'value' = 'value'): Location => {
  let found: { readonly value: Tree; readonly key?: Mark } = { value: root };
  for (const step of path) {
    const next = stepInto(found.value, step);
    if (next === undefined) break;
    found = next;
  }
  return locationOf((part === 'key' ? found.key : undefined) ?? found.value.mark);
};

const stepInto = (tree: Tree, step: string | number): { value: Tree; key?: Mark } | undefined => {
  if (tree.kind === 'mapping') return tree.entries.get(String(step));
  const item = tree.kind === 'list' ? tree.items[Number(step)] : undefined;
  return item === undefined ? undefined : { value: item };
};
