// @ts-check
// The layers of a merge that are not those of its language expert: the demo's models, whose changes follow the published tables.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { diff, layerSwap } from '../dist/index.js';
import { fineTune, makeBase, writeCheckpoint } from '../examples/demo/experts.mjs';

const figure = (/** @type {string} */ name) => fileURLToPath(new URL(`figures/${name}.csv`, import.meta.url));

/** Returns the text of an SVG file. */
export const drawDiff = async () => {
  const directory = mkdtempSync(join(tmpdir(), 'layerloom-diff-'));
  const place = (/** @type {string} */ name) => join(directory, name);
  try {
    const base = makeBase();
    writeCheckpoint(place('math-2'), fineTune(base, figure('figure-5-math-2'), 5));
    writeCheckpoint(place('swahili-1'), fineTune(base, figure('figure-6-swahili-1'), 6));
    await layerSwap(
      { task: place('math-2'), language: place('swahili-1'), bottom: 5, top: 2, bottomTransition: 1 },
      { out: place('merged') },
    );
    await diff(place('swahili-1'), place('merged'), { out: place('diff.svg') });
    return readFileSync(place('diff.svg'), 'utf8');
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
};
