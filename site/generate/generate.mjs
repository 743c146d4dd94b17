// Writes the pages of the reference into site/generated, which git ignores: commands, recipes and API.

import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { generated, root } from '../pages.mjs';
import { apiPages } from './api.mjs';
import { commandPages } from './commands.mjs';
import { recipePages } from './recipes.mjs';

const folder = join(root, generated);
rmSync(folder, { recursive: true, force: true });

const written = [commandPages(), recipePages()];
for (const { pages } of written)
  for (const [name, content] of Object.entries(pages)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
const sidebar = { reference: written.map((part) => part.sidebar), api: await apiPages(join(folder, 'api')) };
writeFileSync(join(folder, 'sidebar.json'), JSON.stringify(sidebar, null, 2));
