import { hub } from './hub/hub-source.js';
import type { RemoteSource } from './source.js';

/** Remote sources in the order of lookup; local files come first. */
export const remoteSources: readonly RemoteSource[] = [hub];
