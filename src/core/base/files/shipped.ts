import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The package's own folder: of a clone, or of an installation. */
export const packageRoot = fileURLToPath(new URL('../../../..', import.meta.url));

/** Returns the path of a file or folder that the package ships, such as `tasks` or `python/layerloom_eval`. */
export const shipped = (path: string): string => join(packageRoot, path);
