import { LayerloomError } from '../../../../../base/errors/errors.js';
import type { HubEnvironment } from '../../environment.js';

/** Returns the error for a server that is unreachable or does not behave like a hub. */
export const unavailable = (
  { environment: { endpoint } }: { readonly environment: Pick<HubEnvironment, 'endpoint'> },
  reason: string,
  remedy = 'check HF_ENDPOINT',
  options: ErrorOptions = {},
): LayerloomError => new LayerloomError('HUB_UNAVAILABLE', { endpoint, reason, remedy }, options);
