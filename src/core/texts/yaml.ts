import {
  Composer,
  type CST,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  Parser,
  type Node as YamlNode,
} from 'yaml';
import { TextRefused } from './text-refused.js';

export { isAlias, isMap, isScalar, isSeq, type Node as YamlNode, type YAMLMap } from 'yaml';

export type YamlDocument = Document.Parsed;

/** Maximum nesting, which protects the recursive parser's stack. Recipes have a few levels. */
const deepest = 64;

/** Maximum lexemes and lines; an experiment of 10,000 merges has fewer. A lexeme takes microseconds. */
const mostLexemes = 300_000;

/** Maximum values that aliases add: a few lines could expand to billions. */
export const mostAliased = 10_000;

export class YamlRefused extends TextRefused {
  readonly offset: number;

  constructor(reason: string, offset: number) {
    super(reason);
    this.offset = offset;
  }
}

interface YamlReading {
  /** Ignore tags of other programs, such as `!function`; default: refused. */
  readonly takesTags?: boolean;
  readonly most?: number;
}

type FaultPlace = number | readonly [number, ...number[]] | { readonly offset: number };

/**
 * Parses YAML by the core schema of YAML 1.2. Callers must detect duplicate keys: the library would compare
 * each key with all others.
 *
 * @throws YamlRefused
 */
export const yamlDocuments = (
  text: string,
  { takesTags = false, most = 10_000 }: YamlReading = {},
): readonly YamlDocument[] => {
  const composer = new Composer({ schema: 'core', uniqueKeys: false, prettyErrors: false });
  let fault: YamlRefused | undefined;
  // Throws at the first fault, because each character may be a fault. The library may report the error here again.
  composer['onError'] = (source: FaultPlace, _code: string, message: string, isWarning = false) => {
    if (isWarning && takesTags) return;
    const offset = typeof source === 'number' ? source : 'offset' in source ? source.offset : source[0];
    fault ??= new YamlRefused(`not YAML: ${message}`, offset);
    throw fault;
  };
  const documents: YamlDocument[] = [];
  try {
    for (const document of composer.compose(tokensOf(text), false, text.length)) {
      if (documents.length === most) throw new YamlRefused(`more than ${most} documents`, document.range[0]);
      documents.push(document);
    }
    return documents;
  } catch (error) {
    // The library spreads lists into arguments: hundreds of thousands of comments overflow the stack.
    if (error instanceof RangeError) throw new YamlRefused('too long for YAML', 0);
    throw error;
  }
};

/** Stops at too deep nesting. The parser's stack holds the document, then the open values. */
function* tokensOf(text: string): Generator<CST.Token> {
  const parser = new Parser();
  let lexemes = lineEnds(text);
  for (const lexeme of new Lexer().lex(text)) {
    lexemes += 1;
    if (lexemes > mostLexemes)
      throw new YamlRefused(`more than ${mostLexemes} words, marks and lines of YAML`, parser.offset);
    yield* parser.next(lexeme);
    const deep = parser.stack[deepest + 1];
    if (deep !== undefined) throw new YamlRefused(`values are nested more than ${deepest} deep`, deep.offset);
  }
  yield* parser.end();
}

const lineEnds = (text: string): number => {
  let count = 0;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count += 1;
  return count;
};

/** Chooses which value of a duplicate key counts. Python takes the last; the hub refuses duplicates. */
export type Repeated = 'none' | 'last';

/**
 * Parses a text with one document. Objects have no prototype.
 *
 * @throws YamlRefused
 */
export const yamlValue = (text: string, repeated: Repeated): unknown => {
  const [first] = yamlDocuments(text, { takesTags: true, most: 1 });
  return first === undefined ? undefined : plain(first.contents, repeated);
};

interface Pair {
  readonly key: YamlNode | null;
  readonly value: YamlNode | null;
}

const plain = (root: YamlNode | null, repeated: Repeated): unknown => {
  const anchors = new Map<string, { readonly value: unknown; readonly size: number }>();
  let [read, aliased] = [0, 0];
  const refused = (reason: string, { range }: YamlNode) => new YamlRefused(reason, range?.[0] ?? 0);
  const convert = (node: YamlNode | null): unknown => {
    const before = read;
    read += 1;
    if (node === null) return null;
    if (isAlias(node)) {
      const anchor = anchors.get(node.source);
      if (anchor === undefined) throw refused('no anchor stands before this alias', node);
      read += anchor.size;
      aliased += anchor.size;
      if (aliased > mostAliased) throw refused(`aliases stand for more than ${mostAliased} values`, node);
      return anchor.value;
    }
    const value = isMap(node)
      ? mappingOf(node.items as readonly Pair[])
      : isSeq(node)
        ? node.items.map((item) => convert(item as YamlNode))
        : isScalar(node) && node.value;
    if (node.anchor !== undefined) anchors.set(node.anchor, { value, size: read - before });
    return value;
  };
  const mappingOf = (items: readonly Pair[]): Record<string, unknown> => {
    const made = Object.create(null) as Record<string, unknown>;
    for (const { key, value } of items) {
      const name = isScalar(key) ? String(key.value) : '';
      if (repeated === 'none' && key !== null && name in made)
        throw refused('this key stands twice in one mapping', key);
      made[name] = convert(value);
    }
    return made;
  };
  return convert(root);
};
