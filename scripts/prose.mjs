// Counts faults of prose in comments, documentation, help and messages.
//
//   node scripts/prose.mjs [--list] [--in PATH]... | --check | --lower | --sample N [--seed S] [--where]
//
// Prints counts by place; `--list` prints each fault as FILE:LINE: RULE: TEXT. `--check`, a part of the lint, fails if a
// size is above its budget in `scripts/budgets.json`. `--lower` lowers budgets to the present sizes. Raising a budget is a
// commit of its own that says what it buys.
//
// `--sample` prints N comments of src and N sentences of docs, for readers who judge whether each is understood. The seed
// (1 by default) decides which; `--where` adds file and line.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

/** A comment, string, paragraph or cell, and the line that it begins on. @typedef {{ line: number; text: string }} Block */
/** @typedef {(text: string) => Block[]} BlocksOf */

/** Words that a sentence should not begin with: the subject comes late or never. */
const openings = /^(What|Of|Where|Its|Their|Those|These|One|None|Both)\s/;
/** Phrases that have a plainer form. */
const phrases =
  /\b(but for|goes before|go before|anew|is none|are none|of which|of whom|has of|have of|is no finite|no finite)\b/i;
const mostWords = 28;
const longestLine = 200;

/** Returns the comment blocks of a file of code. @param {string} text @param {'c' | 'python'} kind */
const commentsOf = (text, kind) => {
  /** @type {Block[]} */
  const blocks = [];
  /** @type {{ line: number; words: string[]; single: string } | undefined} */
  let open;
  const close = () => {
    if (open !== undefined && open.words.join(' ').trim() !== '')
      blocks.push({ line: open.line, text: open.words.join('\n') });
    open = undefined;
  };
  let inBlock = false;
  for (const [index, raw] of text.split('\n').entries()) {
    const line = raw.trim();
    /** @param {string} words @param {string} single */
    const add = (words, single) => {
      if (open === undefined || open.single !== single) {
        close();
        open = { line: index + 1, words: [], single };
      }
      open.words.push(words);
    };
    if (kind === 'python') {
      const comment = /^#(?!!)\s?(.*)$/.exec(line);
      const quotes = (line.match(/"""/g) ?? []).length;
      if (inBlock || quotes > 0) {
        add(line.replaceAll('"""', ''), 'doc');
        if (quotes === 1) inBlock = !inBlock;
        if (!inBlock) close();
      } else if (comment !== null) add(comment[1] ?? '', 'line');
      else close();
      continue;
    }
    if (inBlock) {
      add(line.replace(/\*\/.*$/, '').replace(/^\*\s?/, ''), 'block');
      if (line.includes('*/')) {
        inBlock = false;
        close();
      }
    } else if (line.startsWith('/*')) {
      close();
      inBlock = !line.includes('*/');
      add(line.replace(/^\/\*+\s?/, '').replace(/\s*\*\/.*$/, ''), 'block');
      if (!inBlock) close();
    } else if (/^\/\/+/.test(line)) add(line.replace(/^\/\/+\s?/, ''), 'line');
    else {
      close();
      const trailing = /[;,{}()[\]\w]\s+\/\/\s(.*)$/.exec(line);
      if (trailing !== null && !/['"`].*\/\/.*['"`]/.test(line))
        blocks.push({ line: index + 1, text: trailing[1] ?? '' });
    }
  }
  close();
  return blocks;
};

/** Returns strings that are sentences: help, messages, words of documents. @type {BlocksOf} */
const stringsOf = (text) =>
  [...text.matchAll(/'((?:[^'\\\n]|\\.)*)'|`((?:[^`\\]|\\.)*)`|"((?:[^"\\\n]|\\.)*)"/g)]
    .map((match) => ({
      line: text.slice(0, match.index).split('\n').length,
      text: match[1] ?? match[2] ?? match[3] ?? '',
    }))
    .filter(({ text: words }) => words.trim().split(/\s+/).length >= 5 && !/^[\s{[<(]/.test(words));

/** Returns the paragraphs, items and cells of a page, without code. @type {BlocksOf} */
const paragraphsOf = (text) => {
  /** @type {Block[]} */
  const blocks = [];
  let fenced = false;
  /** @type {Block | undefined} */
  let open;
  const close = () => {
    if (open !== undefined) blocks.push(open);
    open = undefined;
  };
  for (const [index, raw] of text.split('\n').entries()) {
    if (/^\s*(```|~~~)/.test(raw)) {
      fenced = !fenced;
      close();
      continue;
    }
    if (fenced || raw.startsWith('    ')) continue;
    const line = raw.trim();
    if (line === '' || /^[-|: ]+$/.test(line) || line.startsWith('<!--')) close();
    else if (line.startsWith('|')) {
      close();
      for (const cell of line.split('|'))
        if (cell.trim() !== '') blocks.push({ line: index + 1, text: cell.trim() });
    } else if (/^(#+|[-*]|\d+\.)\s/.test(line)) {
      close();
      open = { line: index + 1, text: line.replace(/^(#+|[-*]|\d+\.)\s+/, '') };
    } else if (open === undefined) open = { line: index + 1, text: line };
    else open.text += `\n${line}`;
  }
  close();
  return blocks;
};

/** Splits a block into sentences. A code span is one word; docstring tags begin sentences. @param {string} text */
const sentencesOf = (text) =>
  text
    .replaceAll(/`[^`]*`/g, 'CODE')
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/(^|\n)\s*@(\w+)( \w+)?/g, '$1. ')
    .replaceAll(/(^|\n)\s*[-*]\s/g, '$1. ')
    .split(/(?<=[.!?:;])\s+|\n\n/)
    .map((sentence) => sentence.trim().replace(/^[.\s*_]+/, ''))
    .filter((sentence) => sentence !== '');

/** Returns the broken rules of a block, each with its sentence. @param {string} text */
const rulesOf = (text) =>
  sentencesOf(text).flatMap((sentence) => {
    /** @type {(readonly [rule: string, sentence: string])[]} */
    const found = [];
    if (openings.test(sentence)) found.push(['opening', sentence]);
    if (phrases.test(sentence)) found.push(['phrase', sentence]);
    if (sentence.split(/\s+/).filter((word) => /\w/.test(word)).length > mostWords)
      found.push(['long', sentence]);
    return found;
  });

const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { encoding: 'utf8' })
  .split('\n')
  .filter((file) => file !== '' && existsSync(file));

/** Which files have which kind of block. @type {readonly { place: string; takes: RegExp; not?: RegExp; blocksOf: BlocksOf }[]} */
const places = [
  {
    place: 'comments',
    takes: /^(src|native|bench|scripts|test)\/.*\.(tsx?|cts|mjs|cjs|cpp|hpp|inl)$/,
    blocksOf: (text) => commentsOf(text, 'c'),
  },
  {
    place: 'comments',
    takes: /^(python|training|tasks|test)\/.*\.py$/,
    blocksOf: (text) => commentsOf(text, 'python'),
  },
  { place: 'strings', takes: /^src\/.*\.(tsx?|cts)$/, blocksOf: stringsOf },
  { place: 'pages', takes: /\.md$/, not: /^test\/peers\/recipes|^skills\//, blocksOf: paragraphsOf },
];

const args = process.argv.slice(2);
const list = args.includes('--list');
const within = args.flatMap((arg, index) => (args[index - 1] === '--in' ? [arg] : []));

/** @type {Record<string, number>} */
const counts = {};
/** Words of comments and pages by place and first folder. @type {Record<string, number>} */
const words = {};

/** @param {string} file @param {number} line @param {string} key @param {string} found */
const count = (file, line, key, found) => {
  counts[key] = (counts[key] ?? 0) + 1;
  if (list) console.log(`${file}:${line}: ${key}: ${found.replaceAll('\n', ' ').slice(0, 160)}`);
};

for (const file of files) {
  if (within.length > 0 && !within.some((path) => file.startsWith(path))) continue;
  const [folder = ''] = file.split('/');
  for (const { place, takes, not, blocksOf } of places) {
    if (!takes.test(file) || not?.test(file)) continue;
    const text = readFileSync(file, 'utf8');
    const wing = place === 'comments' ? `comments ${folder}` : place;
    for (const { line, text: block } of blocksOf(text)) {
      const key = `${place} ${folder}`;
      words[key] = (words[key] ?? 0) + block.split(/\s+/).filter(Boolean).length;
      for (const [rule, sentence] of rulesOf(block)) count(file, line, `${wing}: ${rule}`, sentence);
    }
    if (place === 'pages')
      for (const [index, line] of text.split('\n').entries())
        if (line.length > longestLine && !line.startsWith('|'))
          count(file, index + 1, 'pages: long line', `${line.length} characters`);
  }
}

/** Returns the number of lines in files whose paths match. @param {RegExp} pattern */
const linesIn = (pattern) =>
  files
    .filter((file) => pattern.test(file))
    .reduce((sum, file) => sum + readFileSync(file, 'utf8').split('\n').length - 1, 0);

/** Returns the number after an option. @param {string} option @param {number} otherwise */
const numberOf = (option, otherwise) =>
  args.includes(option) ? Number(args[args.indexOf(option) + 1]) : otherwise;

const fewestWords = 8;

/** Draws without replacement, in the order drawn (mulberry32). @param {readonly string[]} all @param {number} seed */
const drawn = (all, seed) => {
  let state = seed >>> 0;
  const random = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const rest = [...all];
  return Array.from({ length: Math.min(numberOf('--sample', 0), rest.length) }, () =>
    rest.splice(Math.floor(random() * rest.length), 1),
  ).flat();
};

/** Prints the samples that `--sample` asks for. */
function printSample() {
  /** @type {{ comments: string[]; sentences: string[] }} */
  const pool = { comments: [], sentences: [] };
  const isLong = (/** @type {string} */ text) => text.split(/\s+/).length >= fewestWords;
  for (const file of files) {
    const from = (/** @type {number} */ line) => (args.includes('--where') ? `  [${file}:${line}]` : '');
    if (/^src\/.*\.(tsx?|cts)$/.test(file))
      for (const { line, text } of commentsOf(readFileSync(file, 'utf8'), 'c'))
        if (isLong(text)) pool.comments.push(`${text.replaceAll(/\s+/g, ' ').trim()}${from(line)}`);
    if (/^docs\/.*\.md$/.test(file))
      for (const { line, text } of paragraphsOf(readFileSync(file, 'utf8')))
        for (const sentence of text.replaceAll(/\s+/g, ' ').split(/(?<=[.!?])\s+/))
          if (isLong(sentence) && /^[^a-z].*[.!?:]$/.test(sentence))
            pool.sentences.push(`${sentence.trim()}${from(line)}`);
  }
  const seed = numberOf('--seed', 1);
  for (const [title, all] of Object.entries(pool)) {
    console.log(`# ${title}\n`);
    for (const [index, text] of drawn(all, seed).entries()) console.log(`${index + 1}. ${text}`);
    console.log('');
  }
}

const riddles = { code: 0, tests: 0, pages: 0 };
for (const [key, number] of Object.entries(counts))
  riddles[/^comments test/.test(key) ? 'tests' : /^pages/.test(key) ? 'pages' : 'code'] += number;

const sizes = {
  'riddles in code': riddles.code,
  'riddles in tests': riddles.tests,
  'riddles in pages': riddles.pages,
  'words of comments in src': words['comments src'] ?? 0,
  'words of docs': words['pages docs'] ?? 0,
  'lines of src/core': linesIn(/^src\/core\/.*\.(tsx?|cts)$/),
  'lines of src/study': linesIn(/^src\/study\/.*\.(tsx?|cts)$/),
  'lines of src/api and src/cli': linesIn(/^src\/(api\/|cli\/|index).*\.(tsx?|cts)$/),
  'lines of python': linesIn(/^python\//),
};

if (args.includes('--sample')) printSample();
else if (args.includes('--check') || args.includes('--lower')) {
  const file = new URL('budgets.json', import.meta.url);
  /** @type {Record<string, number>} */
  const budgets = JSON.parse(readFileSync(file, 'utf8'));
  const over = Object.entries(sizes).filter(([key, size]) => !(size <= (budgets[key] ?? 0)));
  for (const [key, size] of over)
    console.error(`${key}: ${size}, and scripts/budgets.json allows ${budgets[key]}`);
  if (args.includes('--lower')) {
    const lower = Object.entries(sizes).map(([key, size]) => [key, Math.min(size, budgets[key] ?? size)]);
    writeFileSync(file, `${JSON.stringify(Object.fromEntries(lower), null, 2)}\n`);
  }
  process.exitCode = over.length > 0 && !args.includes('--lower') ? 1 : 0;
} else {
  for (const key of Object.keys(counts).sort()) console.log(`${key}: ${counts[key]}`);
  for (const [key, size] of Object.entries(sizes)) console.log(`${key}: ${size}`);
}
