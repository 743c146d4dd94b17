import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../src', import.meta.url));
const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((file) => /\.tsx?$/.test(file));

/** Functions that read a part of a folder, and the places that may call each. */
const lower: Readonly<Record<string, readonly string[]>> = {
  openFound: ['checkpoint/open.ts', 'model/reading/'],
  findModelFiles: ['checkpoint/', 'model/reading/'],
  // That an adapter fits its base is checked where adapters are merged.
  applyAdapter: ['model/adapters/apply.ts', 'model/reading/', 'compile/adapters/check-adapters.ts'],
  changedBy: ['model/adapters/', 'model/reading/'],
  readAdapterTensors: ['model/adapters/', 'model/reading/'],
  adapterAt: ['model/reading/'],
  withoutWrappers: ['model/reading/'],
  mergedState: ['model/reading/'],
  settledTies: ['model/reading/'],
  // Which files of a repository are fetched, and whether they are here; nothing of what they mean.
  findWeights: [
    'checkpoint/',
    'sources/ranges/choose-files.ts',
    'model/reading/',
    'evaluation/loadable.ts',
    'experiment/record/no-record.ts',
    'documents/analysis/write-analysis.ts',
  ],
};

it.each(Object.entries(lower))('only the reading of models calls %s', (name, allowed) => {
  const callers = files.filter((file) =>
    new RegExp(`(import|export)[^;=/]*\\b${name}\\b`).test(readFileSync(join(root, file), 'utf8')),
  );
  expect(callers.length).toBeGreaterThan(0);
  expect(callers.filter((file) => !allowed.some((place) => file.startsWith(place)))).toEqual([]);
});
