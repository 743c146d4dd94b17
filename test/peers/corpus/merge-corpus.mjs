// @ts-check
// node merge-corpus.mjs DIST WORK NAME...
//
// Merges WORK/NAME/recipe.yaml to WORK/NAME/ours with the build in DIST, in the directory that the recipe's
// names are relative to. Prints JSON by name: the merge's warnings, or the reason of its refusal.

import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const [dist = '', work = '', ...names] = process.argv.slice(2);
/** @type {typeof import('../../../src/index.js')} */
const { merge, LayerloomError } = await import(pathToFileURL(resolve(dist, 'index.js')).href);
const root = resolve(work);

/** @type {Record<string, { refused?: string, warnings: readonly string[] }>} */
const results = {};
for (const name of names) {
  process.chdir(join(root, name));
  try {
    const { warnings } = await merge('recipe.yaml', { out: 'ours' });
    results[name] = { warnings };
  } catch (error) {
    if (!(error instanceof LayerloomError)) throw error;
    results[name] = { refused: `${error.code}: ${error.message.split('\n', 1).join('')}`, warnings: [] };
  }
}
console.log(JSON.stringify(results));
