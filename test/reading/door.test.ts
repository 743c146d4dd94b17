import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../src', import.meta.url));
const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((file) => /\.tsx?$/.test(file));

/** Functions that read a part of a folder, and their allowed callers. */
const lower: Readonly<Record<string, readonly string[]>> = {
  openFound: ['core/models/checkpoint/open.ts', 'core/models/reading/'],
  findModelFiles: ['core/models/checkpoint/', 'core/models/reading/'],
  // Only merging code checks that an adapter fits its base.
  applyAdapter: [
    'core/models/adapters/apply.ts',
    'core/models/reading/',
    'core/plan/compile/adapters/check-adapters.ts',
  ],
  changedBy: ['core/models/adapters/', 'core/models/reading/'],
  readAdapterTensors: ['core/models/adapters/', 'core/models/reading/'],
  adapterAt: ['core/models/reading/'],
  withoutWrappers: ['core/models/reading/'],
  mergedState: ['core/models/reading/'],
  settledTies: ['core/models/reading/'],
  // Decide which files of a repository to fetch, and whether they are here; do not interpret them.
  findWeights: [
    'core/models/checkpoint/',
    'core/models/sources/ranges/choose-files.ts',
    'core/models/reading/',
    'study/evaluation/harness/loadable.ts',
    'study/experiment/record/no-record.ts',
    'study/pages/analysis/write-analysis.ts',
  ],
};

it.each(Object.entries(lower))('only the reading of models calls %s', (name, allowed) => {
  const callers = files.filter((file) =>
    new RegExp(`(import|export)[^;=/]*\\b${name}\\b`).test(readFileSync(join(root, file), 'utf8')),
  );
  expect(callers.length).toBeGreaterThan(0);
  expect(callers.filter((file) => !allowed.some((place) => file.startsWith(place)))).toEqual([]);
});
