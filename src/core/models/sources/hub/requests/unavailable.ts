import { LayerloomError } from '../../../../base/errors.js';
import type { HubEnvironment } from '../environment.js';

/** Returns the error for a server that cannot be reached or does not answer as a hub does. */
export const unavailable = (
  { environment: { endpoint } }: { readonly environment: Pick<HubEnvironment, 'endpoint'> },
  reason: string,
  remedy = 'check HF_ENDPOINT',
  options: ErrorOptions = {},
): LayerloomError => new LayerloomError('HUB_UNAVAILABLE', { endpoint, reason, remedy }, options);
