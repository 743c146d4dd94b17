import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A clone of the repository, or an installation. */
export const packageRoot = fileURLToPath(new URL('../../../..', import.meta.url));

/** The path of a file or folder in the package, such as `tasks`. */
export const shipped = (path: string): string => join(packageRoot, path);
