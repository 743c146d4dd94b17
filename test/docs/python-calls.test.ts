import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { fileOf, modules } from '../../scripts/python-calls.mjs';

it.each([...modules])(
  'python/layerloom/%s is of the definitions; else run `npm run docs:tables`',
  (name, text) => {
    expect(readFileSync(fileOf(name), 'utf8')).toBe(text);
  },
);
