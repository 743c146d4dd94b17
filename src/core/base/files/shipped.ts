import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of a clone, or of an installation. */
export const packageRoot = fileURLToPath(new URL('../../../..', import.meta.url));

export const shipped = (path: string): string => join(packageRoot, path);
