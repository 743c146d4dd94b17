import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The package's folder: a clone of the repository, or an installation. */
export const packageRoot = fileURLToPath(new URL('../../../..', import.meta.url));

/** Returns the path of a file or folder in the package, such as `tasks` or `python/layerloom_eval`. */
export const shipped = (path: string): string => join(packageRoot, path);
