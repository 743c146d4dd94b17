import type { KnownOfFiles } from '../checkpoint/open.js';
import { statedContent } from '../sources/bring-ranges.js';
import { missingRanges } from '../sources/ranges/folder/folder.js';

export const known: KnownOfFiles = { statedContent, missingBytes: missingRanges };
