import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The package's root: a clone or an installation. */
export const packageRoot = fileURLToPath(new URL('../../../..', import.meta.url));

export const shipped = (path: string): string => join(packageRoot, path);
