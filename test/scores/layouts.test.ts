import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { layouts } from '../../src/study/paper/layouts.js';

it('each layout is known to the checks of whole studies', () => {
  const known = readFileSync(new URL('../study/layouts.py', import.meta.url), 'utf8');
  const names = [...known.matchAll(/"([\w-]+)"/g)].map(([, name]) => name);
  expect(names.toSorted()).toEqual(Object.keys(layouts).toSorted());
});
