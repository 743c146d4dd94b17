// Reads model cards of any length, each line once.

/** A fenced block; `begin` and `end` locate its content. */
export interface FencedBlock {
  readonly language: string;
  readonly begin: number;
  readonly end: number;
}

function* linesOf(
  text: string,
): Generator<{ readonly line: string; readonly begin: number; readonly next: number }> {
  for (let begin = 0; begin < text.length; ) {
    const found = text.indexOf('\n', begin);
    const end = found < 0 ? text.length : found;
    const next = found < 0 ? end : end + 1;
    yield { line: text.slice(begin, text[end - 1] === '\r' ? end - 1 : end), begin, next };
    begin = next;
  }
}

/** Returns the text between the `---` lines at the start. */
export const frontMatterOf = (card: string): string | undefined => {
  let from: number | undefined;
  for (const { line, begin, next } of linesOf(card)) {
    if (from === undefined) {
      if (line !== '---') return undefined;
      from = next;
    } else if (line === '---') return card.slice(from, begin).replace(/\r?\n$/, '');
  }
  return undefined;
};

const opening = /^ {0,3}(?<fence>`{3,}|~{3,})[ \t]*\{?\.?(?<language>[^\s`}]*)/;

/** Returns fenced blocks as in CommonMark, outside lists and quotations. */
export const fencedBlocks = (card: string): FencedBlock[] => {
  const blocks: FencedBlock[] = [];
  let open: { readonly fence: string; readonly language: string; readonly begin: number } | undefined;
  for (const { line, begin, next } of linesOf(card)) {
    if (open === undefined) {
      const { fence, language = '' } = opening.exec(line)?.groups ?? {};
      if (fence !== undefined) open = { fence, language: language.toLowerCase(), begin: next };
    } else if (closes(line, open.fence)) {
      blocks.push({ language: open.language, begin: open.begin, end: begin });
      open = undefined;
    }
  }
  return blocks;
};

/** True for a closing fence: at least as many marks as in the opening fence, and nothing after them. */
const closes = (line: string, fence: string): boolean => {
  const marks = line.replace(/^ {0,3}/, '').trimEnd();
  return marks.length >= fence.length && marks === fence.charAt(0).repeat(marks.length);
};
