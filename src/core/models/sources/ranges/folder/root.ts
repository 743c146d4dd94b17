import { join } from 'node:path';
import { expandPath, hubHome } from '../../hub/cache/hub-cache.js';
import { variable } from '../../hub/variables.js';

/** Returns the cache of ranges: `$LAYERLOOM_CACHE`, or `layerloom` beside the hub's cache. */
export const rangeCacheRoot = (env: NodeJS.ProcessEnv = process.env): string =>
  expandPath(variable(env, 'LAYERLOOM_CACHE') ?? join(hubHome(env), 'layerloom'), env);
