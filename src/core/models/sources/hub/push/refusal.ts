import { LayerloomError } from '../../../../base/errors/errors.js';
import type { HubSession } from '../requests/session/session.js';
import { HubApiError } from './upload/hub-library.js';

export const pushError = (hub: HubSession, model: string, error: unknown): unknown => {
  const { endpoint, tokenFrom } = hub.environment;
  const tokens = `${endpoint}/settings/tokens`;
  if (!(error instanceof HubApiError)) return error;
  const said = error.message.replace(/\. URL: .*$/s, '');
  const access = (reason: string, remedy: string) =>
    new LayerloomError('HUB_ACCESS', { model, reason, remedy }, { cause: error });
  if (error.statusCode === 401)
    return access(`the hub refuses the token (${tokenFrom}): ${said}`, `make another at ${tokens}`);
  if (error.statusCode === 403)
    return access(
      `the token (${tokenFrom}) has no right to write there: ${said}`,
      `make one with the role write at ${tokens}, or ask the organisation for the right`,
    );
  if (error.statusCode === 404)
    return new LayerloomError(
      'HUB_NOT_FOUND',
      { model, reason: said, remedy: 'check the name, and that the account or organisation exists' },
      { cause: error },
    );
  return new LayerloomError('PUSH_REFUSED', { model, reason: said }, { cause: error });
};
