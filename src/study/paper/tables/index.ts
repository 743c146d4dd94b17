import type { Layouts } from '../../scores/tables.js';
import { byLanguage } from './by-language.js';
import { experts } from './experts.js';
import { oneLanguage } from './one-language.js';
import { soups } from './soups.js';

/** Tables of arXiv 2410.01335, by the names that users type. */
export const paperLayouts = {
  'table-1': byLanguage,
  'table-2': oneLanguage,
  'table-5': experts,
  'table-6': soups,
} as const satisfies Layouts;
