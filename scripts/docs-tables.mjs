// @ts-check
/**
 * Writes the tables of settings in docs/ from their definitions. A table stands below a line `<!-- settings: NAME -->`, up
 * to an empty line. `npm run docs:tables` rewrites them; test/docs/tables.test.ts says where one differs.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { wordsOf } from '../dist/base/setting.js';
import { evaluationSchema } from '../dist/evaluation/evaluation-block.js';
import { experimentSchema, furtherReference } from '../dist/experiment/file/experiment-block.js';
import { searchSchema } from '../dist/experiment/file/search-block.js';
import { commonSettings, outputSettings } from '../dist/methods/framework/common-settings.js';
import { spelt } from '../dist/recipe/block.js';

/** @param {readonly string[]} head @param {readonly (readonly string[])[]} rows */
const table = (head, rows) =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |\n`).join('');

/**
 * What holds without a key: its words, or the default that its type has.
 *
 * @param {import('zod').ZodType} type
 */
const withoutIt = (type) => {
  const { otherwise = 'none' } = wordsOf(type) ?? {};
  const { success, data } = type.safeParse(undefined);
  if (!success) return 'required';
  const isEmpty = data === undefined || (typeof data === 'object' && Object.keys(data).length === 0);
  return isEmpty ? otherwise : `\`${data}\``;
};

/**
 * @param {string} head words for the keys
 * @param {import('zod').ZodObject} block
 * @param {(key: string) => string} [show]
 */
const settings = (head, block, show = (key) => `\`${key}\``) =>
  table(
    [head, 'default', 'meaning'],
    Object.entries(block.shape).map(([name, type]) => [
      show(spelt(name)),
      withoutIt(type),
      wordsOf(type)?.meaning ?? '',
    ]),
  );

/** The tables by their names. */
export const tables = new Map([
  ['experiment', settings('key', experimentSchema)],
  ['reference', settings('key', furtherReference)],
  ['evaluate', settings('key', evaluationSchema)],
  [
    'search',
    settings(
      'option, key under `search:`',
      searchSchema,
      (key) => `\`--${key.replaceAll('_', '-')}\`, \`${key}\``,
    ),
  ],
  ['recipe', settings('key', commonSettings.extend(outputSettings.shape))],
]);

/** The pages that have such tables. */
export const pages = ['evaluation', 'experiments', 'methods', 'search'];

/** Returns a page with its tables as the definitions have them. @param {string} text */
export const withTables = (text) =>
  text.replace(/(<!-- settings: (\S+) -->\n)(?:\|.*\n)*/g, (_, marker, name) => {
    const made = tables.get(name);
    if (made === undefined)
      throw new Error(`no settings are named ${name}; known are ${[...tables.keys()].join(', ')}`);
    return marker + made;
  });

/** @param {string} page */
export const fileOf = (page) => fileURLToPath(new URL(`../docs/${page}.md`, import.meta.url));

if (process.argv[1] === fileURLToPath(import.meta.url))
  for (const page of pages) {
    const text = readFileSync(fileOf(page), 'utf8');
    writeFileSync(fileOf(page), withTables(text));
  }
