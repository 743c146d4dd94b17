import type { Origin } from '../models/address/found-model.js';

const escaped = (path: string): string => path.split('/').map(encodeURIComponent).join('/');

/** Returns the package URL of a hub model; undefined for local files. */
export const packageUrl = ({ hub }: Origin): string | undefined =>
  hub === undefined
    ? undefined
    : `pkg:huggingface/${escaped(hub.id)}@${encodeURIComponent(hub.revision.toLowerCase())}${
        hub.inside === undefined ? '' : `#${escaped(hub.inside)}`
      }`;

/** Returns `org/name@revision` from a hub model's package URL; undefined for other URLs. */
export const hubAddressOf = (uri: string): string | undefined => {
  const { id, revision } = /^pkg:huggingface\/(?<id>[^@#?]+)@(?<revision>[^@#?]+)/.exec(uri)?.groups ?? {};
  if (id === undefined || revision === undefined) return undefined;
  try {
    return `${decodeURIComponent(id)}@${decodeURIComponent(revision)}`;
  } catch {
    return undefined;
  }
};
