// Asks the built site's search each question of docs/questions.md by its content words. The answer, and a page that it
// links to, must be among the first results.

import { readdirSync, readFileSync } from 'node:fs';
import { slug } from 'github-slugger';
import MiniSearch from 'minisearch';
import { pageOf, root, targetOf } from './pages.mjs';
import { searchOptions } from './search.mjs';

const source = 'docs/questions.md';
const [answers, shown] = [4, 12];

const chunks = new URL('dist/assets/chunks/', import.meta.url);
const file = readdirSync(chunks).find((name) => name.startsWith('@localSearchIndexroot'));
const { default: json } = await import(new URL(file, chunks).href);
// VitePress's own fields, in VPLocalSearchBox.vue.
const index = MiniSearch.loadJSON(json, {
  fields: ['title', 'titles', 'text'],
  storeFields: ['title', 'titles'],
  searchOptions,
});

const small = new Set(
  'a an and are as be been being can could do does for from have how i if in into is it my of on or should that the their them they this to was what when which why with without you your'.split(
    ' ',
  ),
);
const contentWords = (question) =>
  (question.toLowerCase().match(/[\p{L}\p{N}_.]+/gu) ?? [])
    .map((word) => word.replace(/\.$/, ''))
    .filter((word) => word.length > 1 && !small.has(word));

const pageAt = (path) => `/${path.replace(/\.md$/, '.html')}`;

const sections = readFileSync(`${root}${source}`, 'utf8').split(/^## /m).slice(1);
const problems = sections.flatMap((section) => {
  const [question = ''] = section.split('\n');
  const found = index.search(contentWords(question).join(' ')).map(({ id }) => id.replace(/^.*?(?=\/)/, ''));
  const answer = `${pageAt(pageOf(source))}#${slug(question)}`;
  const linked = [...section.matchAll(/\]\(([^):]+\.md[^)]*)\)/g)].map(([, href]) =>
    pageAt(pageOf(targetOf(source, href).path)),
  );
  const isFound = (page) => found.slice(0, shown).some((id) => id.startsWith(`${page}#`));
  return [
    ...(found.slice(0, answers).includes(answer) ? [] : [`the answer is not in the first ${answers}`]),
    ...(linked.length === 0 || linked.some(isFound) ? [] : [`none of ${linked} is in the first ${shown}`]),
  ].map((problem) => `${question}\n  ${problem}: ${found.slice(0, shown).join(' ')}`);
});
for (const problem of problems) console.error(problem);
console.log(`${sections.length} questions searched, ${problems.length} not found`);
process.exitCode = problems.length > 0 || sections.length < 2 ? 1 : 0;
