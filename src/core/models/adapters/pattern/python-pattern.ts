/**
 * A regular expression over printable ASCII, as a syntax tree for whole-text matching. Omits groups, group
 * names and lazy quantifiers, which do not change whether a text matches. `oneOf` lists each character once.
 */
export type Pattern =
  | { readonly kind: 'character'; readonly oneOf: string }
  | { readonly kind: 'assertion'; readonly holds: 'atStart' | 'atEnd' | 'atBoundary' | 'insideWord' }
  | { readonly kind: 'sequence'; readonly items: readonly Pattern[] }
  | { readonly kind: 'choice'; readonly options: readonly Pattern[] }
  | { readonly kind: 'repeat'; readonly item: Pattern; readonly least: number; readonly most: number };

/** The characters that names may have. In this range `\d`, `\w`, `\s`, `.` and `$` need no Unicode rules. */
export const printable = Array.from({ length: 95 }, (_, index) => String.fromCharCode(32 + index)).join('');

export const isPrintable = (text: string): boolean => /^[ -~]*$/.test(text);

/** An invalid or unsupported pattern. The message follows the pattern's name. */
export class PatternRefused extends Error {}

/** Characters with a special meaning, except the dot; all others match themselves. */
const special = '\\[(){*+?^$|';
const longest = 1_000;
const mostRepeats = 1_000;

const word = [...printable].filter((one) => /\w/.test(one)).join('');
const digits = '0123456789';
const without = (characters: string): string =>
  [...printable].filter((one) => !characters.includes(one)).join('');
const categories: Readonly<Record<string, string>> = {
  d: digits,
  w: word,
  s: ' ',
  D: without(digits),
  W: without(word),
  S: without(' '),
};
const assertions = {
  '^': 'atStart',
  $: 'atEnd',
  A: 'atStart',
  Z: 'atEnd',
  b: 'atBoundary',
  B: 'insideWord',
} as const;

/** An escaped literal. Python gives escaped letters and digits a meaning, or rejects them. */
const escaped = /\\(?<character>[^A-Za-z0-9])/y;
const category = /\\(?<letter>[dDwWsS])/y;
const assertion = /\\(?<letter>[AZbB])|(?<sign>[$^])/y;
const group = /\((?:\?:|\?P<(?<name>[A-Za-z_]\w*)>|(?!\?))/y;
const set = /\[(?<negated>\^?)(?<body>\]?(?:\\.|[^\]\\])*)\]/y;
const quantifier = /(?:(?<sign>[*+?])|\{(?<least>\d+)\}|\{(?<from>\d*),(?<to>\d*)\})\??/y;

/**
 * Parses a regular expression of Python's `re` (3.11). Refuses what Python refuses. Also unsupported:
 *
 * - flags, look-around, back-references, possessive quantifiers, atomic groups, comments
 * - escapes of control characters and of code points
 * - braces that form no quantifier, and characters outside printable ASCII
 *
 * @throws PatternRefused
 */
export const parsePythonPattern = (text: string): Pattern => {
  if (text.length > longest) throw new PatternRefused(`has more than ${longest} characters`);
  if (!isPrintable(text)) throw new PatternRefused('has characters outside of printable ASCII');
  let at = 0;
  const names = new Set<string>();
  const take = (token: RegExp): Readonly<Record<string, string | undefined>> | undefined => {
    token.lastIndex = at;
    const found = token.exec(text);
    if (found === null) return undefined;
    at = token.lastIndex;
    return found.groups ?? {};
  };
  const unknown = (): PatternRefused =>
    new PatternRefused(`has ${JSON.stringify(text.slice(at, at + 12))}, which is not understood here`);

  const choice = (): Pattern => {
    const options = [sequence()];
    while (text[at] === '|') {
      at += 1;
      options.push(sequence());
    }
    return options.length === 1 ? (options[0] as Pattern) : { kind: 'choice', options };
  };
  const sequence = (): Pattern => {
    const items: Pattern[] = [];
    while (at < text.length && text[at] !== '|' && text[at] !== ')') items.push(quantified());
    return { kind: 'sequence', items };
  };
  const quantified = (): Pattern => {
    const item = atom();
    if (item.kind === 'assertion' || !'*+?{'.includes(text[at] ?? ' ')) return item;
    const begin = at;
    const found = take(quantifier);
    if (found === undefined) return item;
    const { sign, least: exact, from, to } = found;
    const least = Number(sign === undefined ? (exact ?? from) : sign === '+');
    const most = sign === undefined ? Number(exact ?? (to || Infinity)) : sign === '?' ? 1 : Infinity;
    if (least > most || least > mostRepeats || (most > mostRepeats && most !== Infinity)) {
      at = begin;
      throw unknown();
    }
    return { kind: 'repeat', item, least, most };
  };
  const atom = (): Pattern => {
    const plain = text[at] ?? '';
    if (!special.includes(plain)) {
      at += 1;
      return { kind: 'character', oneOf: plain === '.' ? printable : plain };
    }
    const inGroup = take(group);
    if (inGroup !== undefined) {
      const { name } = inGroup;
      if (name !== undefined && names.has(name)) throw new PatternRefused(`has two groups named ${name}`);
      if (name !== undefined) names.add(name);
      const inner = choice();
      if (text[at] !== ')') throw new PatternRefused('has a group without an end');
      at += 1;
      // Nested in a sequence, so that a quantifier applies to the whole group.
      return { kind: 'sequence', items: [inner] };
    }
    const asserted = take(assertion);
    if (asserted !== undefined)
      return {
        kind: 'assertion',
        holds: assertions[(asserted['letter'] ?? asserted['sign']) as keyof typeof assertions],
      };
    const oneOf = characters();
    if (oneOf === undefined) throw unknown();
    return { kind: 'character', oneOf };
  };
  const characters = (): string | undefined => {
    const one = take(escaped)?.['character'];
    if (one !== undefined) return one;
    const letter = take(category)?.['letter'];
    if (letter !== undefined) return categories[letter];
    const begin = at;
    const found = take(set);
    const members = membersOf(found?.['body'] ?? '');
    if (members === undefined) at = begin;
    return members !== undefined && found?.['negated'] ? without(members) : members;
  };

  const pattern = choice();
  if (at < text.length) throw new PatternRefused('has a bracket too many');
  return pattern;
};

const member =
  /\\(?<letter>[dDwWsS])(?!-.)|(?:\\(?<escapedFirst>[^A-Za-z0-9])|(?<first>[^\\]))(?:-(?:\\(?<escapedLast>[^A-Za-z0-9])|(?<last>[^\\]))|(?!-.))/y;

/** Returns the characters of a bracketed set; undefined if it is empty or unsupported. */
const membersOf = (body: string): string | undefined => {
  const members = new Set<string>();
  let at = 0;
  while (at < body.length) {
    member.lastIndex = at;
    const found = member.exec(body)?.groups;
    if (found === undefined) return undefined;
    at = member.lastIndex;
    const {
      letter,
      escapedFirst,
      first = escapedFirst ?? '',
      escapedLast,
      last = escapedLast ?? first,
    } = found;
    if (letter === undefined && first > last) return undefined;
    const meant = letter === undefined ? between(first, last) : (categories[letter] ?? '');
    for (const one of meant) members.add(one);
  }
  return members.size === 0 ? undefined : [...members].join('');
};

const between = (first: string, last: string): string =>
  [...printable].filter((one) => one >= first && one <= last).join('');
