import { hub } from './hub/hub-source.js';
import type { RemoteSource } from './source.js';

/** Remote sources in the order of lookup, after local files. */
export const remoteSources: readonly RemoteSource[] = [hub];
