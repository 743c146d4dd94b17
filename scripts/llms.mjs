// @ts-check
/**
 * Writes llms.txt (llmstxt.org) from the definitions of commands and methods and from the pages. Run by `npm
 * run docs:tables`; test/docs/llms.test.ts finds an outdated file.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describeCommands } from '../dist/cli/framework/describe.js';
import { buildProgram } from '../dist/cli/program.js';
import { methods } from '../dist/core/methods/index.js';
import { presentGroups, root, titleOf } from '../site/pages.mjs';

/** Removes links and emphasis. @param {string} text */
const plain = (text) => text.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/(\*\*|\b_|_\b)/g, '');

/** Returns a page's plain paragraphs. @param {string} text */
const paragraphsOf = (text) =>
  text
    .replace(/^ *```.*?^ *```$/gms, '')
    .split(/\n{2,}/)
    .map((paragraph) => paragraph.trim().replace(/\s*\n\s*/g, ' '))
    .filter((paragraph) => paragraph !== '' && !/^([#|!<>]|[-*] )/.test(paragraph));

/** Returns the first sentence. @param {string} paragraph */
const sentenceOf = (paragraph) =>
  /^.*?[.:](?=\s+["`A-Z]|$)/s.exec(paragraph)?.[0].replace(/:$/, '.') ?? paragraph;

/** Returns a page's first sentence. @param {string} source */
const noteOf = (source) => {
  const [first] = paragraphsOf(readFileSync(`${root}${source}`, 'utf8'));
  return first === undefined ? '' : `: ${plain(sentenceOf(first))}`;
};

/** Commands without `help`, and without those that have subcommands. */
const commands = describeCommands(buildProgram()).filter(
  ({ path, subcommands }) => path.length > 0 && path[0] !== 'help' && subcommands.length === 0,
);

/** @param {readonly string[]} texts */
const list = (texts) => texts.map((text) => `- ${text}\n`).join('');

/**
 * Returns the text of llms.txt.
 *
 * @param {(source: string) => string | undefined} linkOf returns the address of a page from its path in the
 *   repository; undefined omits the page
 */
export const llmsText = (linkOf) => {
  const readme = readFileSync(`${root}README.md`, 'utf8');
  const [summary = ''] = paragraphsOf(readme);
  const linked = (/** @type {readonly string[]} */ sources) =>
    list(
      sources.flatMap((source) => {
        const link = linkOf(source);
        return link === undefined ? [] : [`[${titleOf(source)}](${link})${noteOf(source)}`];
      }),
    );
  const groups = presentGroups();
  return `# layerloom

> ${plain(summary)}

Its commands:

${list(commands.map(({ path, description }) => `\`layerloom ${path.join(' ')}\`: ${description}`))}
\`layerloom COMMAND --help\` has a command's options and examples, \`layerloom --help --json\` all commands as data. \`--dry-run\` writes nothing and says what would be done; \`--json\` prints one document, for long commands a line for each
event, and errors as \`{"error": {"code", "message", "details"}}\`. Exit codes: 0 done, 1 failed, 2 usage or recipe, 3 incompatible or corrupt input, 4 part of a batch failed, 130 interrupted. Methods of recipes: ${[...methods.keys()].map((name) => `\`${name}\``).join(', ')}.
${groups.map(({ title, sources }) => `\n## ${title}\n\n${linked(sources)}`).join('')}
## Optional

${linked(groups.flatMap(({ contributing }) => contributing))}`;
};

/** The file is in the package, so its links lead to the pages beside it. */
export const llmsFile = fileURLToPath(new URL('../llms.txt', import.meta.url));

/** Pages that are in the package. */
const shipped = ['README.md', ...JSON.parse(readFileSync(`${root}package.json`, 'utf8')).files];

/** Returns a page's link relative to the package. @param {string} source */
export const linkInPackage = (source) =>
  shipped.some((file) => source === file || source.startsWith(`${file}/`)) ? source : undefined;

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(llmsFile, llmsText(linkInPackage));
