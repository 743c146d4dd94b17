// Writes the JSON Schemas of recipes and experiments into dist/schemas.
import { mkdirSync, writeFileSync } from 'node:fs';
import { recipeSchema } from '../dist/core/schema/recipe-schema.js';
import { experimentSchema } from '../dist/study/experiment/experiment-schema.js';

const folder = new URL('../dist/schemas/', import.meta.url);
mkdirSync(folder, { recursive: true });
for (const [name, schema] of Object.entries({ recipe: recipeSchema(), experiment: experimentSchema() }))
  writeFileSync(new URL(`${name}.schema.json`, folder), `${JSON.stringify(schema)}\n`);
