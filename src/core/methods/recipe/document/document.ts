import { tildeIn } from '../../../base/files/tilde.js';
import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  mostAliased,
  type YAMLMap,
  type YamlDocument,
  type YamlNode,
  YamlRefused,
  yamlDocuments,
} from '../../../texts/yaml.js';
import { invalidRecipe } from './invalid.js';
import { type Mark, type RecipeText, sourceOf } from './source.js';
import { isText, type Leaf, type List, type Mapping, type MappingEntry, type Tree } from './tree.js';

export type TextPart = readonly [begin: number, end: number];

export interface DocumentKind {
  readonly name: string;
  /** The kind of document; completes "expected …". */
  readonly document: string;
  /**
   * Files of this kind have at least one of these keys. Messages do not quote others, which may be private.
   */
  readonly keys?: readonly string[];
  /** Called for duplicate keys; the last key counts. Default: an error. */
  readonly onRepeated?: (document: Mapping, keys: readonly RepeatedKey[]) => void;
}

export interface RepeatedKey {
  readonly key: string;
  readonly mark: Mark;
}

export const recipeKind: DocumentKind = {
  name: 'a recipe',
  document: 'a mapping with method (or merge_method, as mergekit has it)',
};

const foreignTo = ({ name, document, keys }: DocumentKind, text: string): RecipeText['foreign'] => {
  if (keys === undefined) return undefined;
  // Matches a key at the start of a line, or after a bracket or comma.
  const key = new RegExp(`(?:^|[{,\\n])[ \\t]*["']?(?:${keys.join('|')})["']?[ \\t]*:`);
  return text.trim() === '' || key.test(text)
    ? undefined
    : { reason: `this is not ${name}`, expected: document };
};

/**
 * Parses the documents in a recipe's file, each a mapping; skips empty ones. Uses YAML 1.2's core schema, in
 * which `1e-5` is a number, plus anchors and `<<`.
 *
 * @param file name in messages
 * @param part range of the text to parse; marks refer to the whole text
 * @throws RECIPE_INVALID with line and column: not YAML, a duplicate key (without `onRepeated`), a document
 *   that is not a mapping, no document
 */
export const parseDocuments = (
  text: string,
  file: string,
  what: DocumentKind = recipeKind,
  part?: TextPart,
): [Mapping, ...Mapping[]] => {
  const plain = part === undefined ? text.replace(/^\uFEFF/, '') : text;
  const [begin, end] = part ?? [0, plain.length];
  const source = sourceOf(file, plain, { begin, end, foreign: foreignTo(what, plain.slice(begin, end)) });
  const [first, ...others] = documentsOf(source).flatMap(
    (document) => new Reader(source, what).root(document) ?? [],
  );
  if (first === undefined)
    throw invalidRecipe(
      { source, offset: source.begin },
      { reason: 'the file is empty', expected: what.name },
    );
  return [first, ...others];
};

const documentsOf = (source: RecipeText): readonly YamlDocument[] => {
  try {
    return yamlDocuments(source.text.slice(source.begin, source.end));
  } catch (error) {
    if (!(error instanceof YamlRefused)) throw error;
    throw invalidRecipe({ source, offset: source.begin + error.offset }, { reason: error.message });
  }
};

class Reader {
  readonly #anchors = new Map<string, { readonly tree: Tree; readonly size: number }>();
  readonly #source: RecipeText;
  readonly #what: DocumentKind;
  readonly #repeated: RepeatedKey[] = [];
  #read = 0;
  #aliased = 0;

  constructor(source: RecipeText, what: DocumentKind) {
    this.#source = source;
    this.#what = what;
  }

  root({ contents, range }: YamlDocument): Mapping | undefined {
    if (contents === null || (isScalar(contents) && contents.value === null)) return undefined;
    const tree = this.#tree(contents, this.#mark(contents, { source: this.#source, offset: range[0] }));
    if (tree.kind === 'mapping') {
      if (this.#repeated.length > 0) (this.#what.onRepeated ?? refuseRepeated)(tree, this.#repeated);
      return tree;
    }
    throw invalidRecipe(tree.mark, {
      reason: `this is ${tree.kind === 'list' ? 'a list' : 'one value'}`,
      expected: this.#what.document,
    });
  }

  #mark({ range }: YamlNode, otherwise: Mark): Mark {
    const { begin } = this.#source;
    return range ? { source: this.#source, offset: begin + range[0] } : otherwise;
  }

  #tree(node: YamlNode, mark: Mark): Tree {
    const before = this.#read;
    this.#read += 1;
    if (isAlias(node)) return this.#alias(node.source, mark);
    const tree = isMap(node)
      ? this.#mapping(node, mark)
      : isSeq(node)
        ? this.#list(node.items as readonly YamlNode[], mark)
        : this.#leaf(node, mark);
    if (node.anchor !== undefined) this.#anchors.set(node.anchor, { tree, size: this.#read - before });
    return tree;
  }

  #alias(name: string, mark: Mark): Tree {
    const anchor = this.#anchors.get(name);
    if (anchor === undefined)
      throw invalidRecipe(mark, { key: `*${name}`, reason: `no anchor &${name} stands before it` });
    this.#read += anchor.size;
    this.#aliased += anchor.size;
    if (this.#aliased > mostAliased)
      throw invalidRecipe(mark, {
        key: `*${name}`,
        reason: `the aliases of the file stand for more than ${mostAliased} values`,
      });
    return { ...anchor.tree, mark };
  }

  #list(items: readonly YamlNode[], mark: Mark): List {
    return {
      kind: 'list',
      mark,
      items: items.map((item) => this.#tree(item, this.#mark(item, mark))),
    };
  }

  #leaf(node: YamlNode, mark: Mark): Leaf {
    const value = isScalar(node) ? (node.value as Leaf['value']) : null;
    const unexpanded = typeof value === 'string' ? tildeIn(value) : undefined;
    if (unexpanded !== undefined) throw invalidRecipe(mark, { key: String(value), reason: unexpanded });
    if (isScalar(node) && typeof value === 'number') refuseOctal(node.source ?? '', value, mark);
    return { kind: 'leaf', mark, value, bare: isScalar(node) && node.type === 'PLAIN' };
  }

  #mapping({ items }: YAMLMap, mark: Mark): Mapping {
    const entries = new Map<string, MappingEntry>();
    const merged: Mapping[] = [];
    for (const pair of items) {
      const node = pair.key as YamlNode;
      const at = this.#mark(node, mark);
      const key = this.#key(node, at);
      const value = this.#value(pair.value as YamlNode | null, at);
      if (key === '<<' && isScalar(node) && node.type === 'PLAIN') merged.push(...mergedMappings(value));
      else {
        if (entries.has(key)) this.#repeated.push({ key, mark: at });
        entries.set(key, { key: at, value });
      }
    }
    // A mapping's own keys override those merged by `<<`.
    for (const [key, entry] of merged.flatMap((other) => [...other.entries]))
      if (!entries.has(key)) entries.set(key, entry);
    return { kind: 'mapping', mark, entries };
  }

  #key(node: YamlNode, mark: Mark): string {
    if (!isScalar(node) || node.value === null) throw invalidRecipe(mark, { reason: 'a key must be text' });
    return typeof node.value === 'string' ? node.value : (node.source ?? String(node.value));
  }

  /** An empty value has its key's mark. */
  #value(node: YamlNode | null, key: Mark): Tree {
    if (node === null) return { kind: 'leaf', mark: key, value: null, bare: true };
    const isEmpty = node.range?.[0] === node.range?.[1];
    return this.#tree(node, isEmpty ? key : this.#mark(node, key));
  }
}

export const refuseRepeated = (_document: Mapping, [first]: readonly RepeatedKey[]): void => {
  if (first !== undefined)
    throw invalidRecipe(first.mark, { key: first.key, reason: 'this key stands twice in one mapping' });
};

/** Refuses `010`, which is 8 for mergekit, as in YAML 1.1, and 10 in YAML 1.2. */
const refuseOctal = (written: string, value: number, mark: Mark): void => {
  if (/^[-+]?0[0-7]+$/.test(written) && Number.parseInt(written, 8) !== value)
    throw invalidRecipe(mark, {
      key: written,
      reason: `${Number.parseInt(written, 8)} in YAML 1.1, ${value} in YAML 1.2`,
      expected: 'a number without leading zeros',
    });
};

/** Returns the mappings that `<<` merges; earlier ones override later ones. */
const mergedMappings = (value: Tree): Mapping[] =>
  (value.kind === 'list' ? value.items : [value]).map((each) => {
    if (each.kind === 'mapping') return each;
    throw invalidRecipe(each.mark, {
      key: isText(each) ? each.value : '<<',
      reason: 'cannot be merged by <<',
      expected: 'a mapping or a list of mappings',
    });
  });
