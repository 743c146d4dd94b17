import { LayerloomError } from '../../../../base/errors/errors.js';
import { type Answer, isPage, pageError, reasonGiven } from './send.js';
import type { HubSession } from './session/session.js';
import { unavailable } from './session/unavailable.js';

export interface Asked {
  readonly id: string;
  readonly revision: string;
  readonly file?: string;
}

export const refusalOf = (hub: HubSession, { id, revision, file }: Asked, answer: Answer): LayerloomError => {
  const { endpoint, tokenFrom } = hub.environment;
  const { status, headers } = answer;
  const code = headers['x-error-code'];
  const page = `${endpoint}/${id}`;
  const access = (reason: string, remedy: string) =>
    new LayerloomError('HUB_ACCESS', { model: id, reason, remedy });
  const missing = (reason: string, remedy: string) =>
    new LayerloomError('HUB_NOT_FOUND', { model: id, reason, remedy });

  if (code === 'GatedRepo')
    return tokenFrom === undefined
      ? access('it is gated, and no token was given', `accept its terms at ${page}, then set HF_TOKEN`)
      : access(
          `it is gated, and the account of the token (${tokenFrom}) has no access`,
          `ask for it at ${page}`,
        );
  if (code === 'RevisionNotFound')
    return missing(`it has no revision ${revision}`, `see its branches and tags at ${page}/tree/main`);
  if (code === 'EntryNotFound')
    return missing(`it has no file ${file} at ${revision}`, `see ${page}/tree/${revision}`);
  if (status === 401 && tokenFrom !== undefined && code !== 'RepoNotFound')
    return access(
      `the hub refuses the token (${tokenFrom})${reasonGiven(headers)}`,
      `make another at ${endpoint}/settings/tokens`,
    );
  if (code === 'RepoNotFound' || status === 401 || (status === 404 && !isPage(headers)))
    return missing(
      `${endpoint} has no such model, or it is private${tokenFrom === undefined ? '' : ` and the token (${tokenFrom}) has no access`}`,
      tokenFrom === undefined
        ? 'check the name; for a private model set HF_TOKEN'
        : 'check the name and the token',
    );
  if (isPage(headers)) return pageError(hub, answer.url, status);
  if (status === 403)
    return access(
      `the hub refuses access${reasonGiven(headers)}`,
      `see ${page}, and the rights of the token`,
    );
  return unavailable(
    hub,
    `answers ${status}${reasonGiven(headers)} for ${id}`,
    'check HF_ENDPOINT, or run again later',
  );
};
