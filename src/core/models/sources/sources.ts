import { hub } from './hub/hub-source.js';
import type { RemoteSource } from './source.js';

/** The sources of models that are elsewhere, in the order in which they are asked. Local files go before them. */
export const remoteSources: readonly RemoteSource[] = [hub];
