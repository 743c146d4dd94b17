import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { modules, packageFolder } from '../../scripts/python-calls.mjs';
import { packageRoot } from '../../src/core/base/files/shipped.js';

it.each([...modules])(
  'python/layerloom/%s is of the definitions; else run `npm run build:ts`',
  (name, text) => {
    expect(readFileSync(join(packageFolder, name), 'utf8')).toBe(text);
  },
);

it('generated files are ignored by git', () => {
  const ignored = readFileSync(join(packageRoot, '.gitignore'), 'utf8').split('\n');
  expect([...modules.keys()].filter((name) => !ignored.includes(`/python/layerloom/${name}`))).toEqual([]);
});
