// @ts-check
// Draws the published tables (docs/figures), what merges share, and a comparison, as the pictures in docs/pictures.   node docs/make-pictures.mjs
import { readdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { shortName } from '../dist/study/pages/analysis/analysis-table.js';
import { readPublishedTable } from '../dist/study/pages/analysis/write-analysis.js';
import { drawPicture } from '../dist/study/pages/pictures/draw-picture.js';
import { HeatMap } from '../dist/study/pages/pictures/heat-map.js';
import { drawDiff } from './draw-diff.mjs';
import { drawSharing } from './draw-sharing.mjs';

const here = (/** @type {string} */ path) => fileURLToPath(new URL(path, import.meta.url));
const titles = new Map([
  ['figure-4-math-1', 'Figure 4: math expert 1'],
  ['figure-5-math-2', 'Figure 5: math expert 2'],
  ['figure-6-swahili-1', 'Figure 6: Swahili expert 1'],
  ['figure-7-japanese-1', 'Figure 7: Japanese expert 1'],
  ['figure-8-telugu-1', 'Figure 8: Telugu expert 1'],
  ['figure-9-bengali-1', 'Figure 9: Bengali expert 1'],
]);

for (const file of readdirSync(here('figures'))) {
  const { name, columns, cells } = await readPublishedTable(here(`figures/${file}`));
  const picture = drawPicture(HeatMap, {
    title: titles.get(name) ?? name,
    subtitle: 'the published table (arXiv 2410.01335)',
    columns: columns.map(shortName),
    cells,
    most: 1,
  });
  writeFileSync(here(`pictures/${name}.svg`), picture);
}

writeFileSync(here('pictures/sharing.svg'), await drawSharing());
writeFileSync(here('pictures/diff.svg'), await drawDiff());
