import { invalidParameter } from '../../base/invalid-parameter.js';

// Spellings of models that are not paths. A path that exists goes before them. Names and revisions become parts of paths
// and of addresses of servers, so that they are checked here, where they are parsed, by what the hub and Git allow.

/** A model of the hub as users spell it: `org/name[@revision]`. */
export interface HubModel {
  /** `org/name`. */
  readonly id: string;
  /** A branch, a tag or a commit; `main` where none is given. */
  readonly revision: string;
}

/** A part of a repository's name: begins and ends with a letter, a digit or `_`, which `./model` does not. */
const namePart = /^\w(?:[\w.-]{0,94}\w)?$/;

/** True for the name of a repository as the hub has them, `org/name`: `--` would make its folder in caches ambiguous. */
export const isRepositoryName = (text: string): boolean => {
  const parts = text.split('/');
  return (
    parts.length === 2 &&
    parts.every((part) => namePart.test(part)) &&
    !/--|\.\./.test(text) &&
    !text.endsWith('.git')
  );
};

/** A part of the name of a branch or tag: Git allows no dot at either end, and no `.lock` at the end. */
const revisionPart = /^\w(?:[\w.-]*[\w-])?$/;

/** As long as file systems allow a name to be. */
const longestRevision = 255;

/** True for the name of a branch, a tag or a commit, as Git has them: `main`, `refs/pr/1`, `v1.0`. */
export const isRevision = (text: string): boolean =>
  text.length <= longestRevision &&
  !text.includes('..') &&
  text.split('/').every((part) => revisionPart.test(part) && !part.endsWith('.lock'));

/** True for the hash of a commit in full. */
export const isCommit = (text: string): boolean => /^[0-9a-f]{40}$/.test(text);

/** Returns the parts of `org/name[@revision]`; undefined for other spellings. */
export const parseHubId = (model: string): HubModel | undefined => {
  const at = model.indexOf('@');
  const id = at === -1 ? model : model.slice(0, at);
  const revision = at === -1 ? 'main' : model.slice(at + 1);
  return isRepositoryName(id) && isRevision(revision) ? { id, revision } : undefined;
};

/** True if a model is spelt as the hub's are: `org/name[@revision]`. */
export const isHubId = (model: string): boolean => parseHubId(model) !== undefined;

/** The spelling of a hub's model with a revision, right or wrong. */
const withRevision = /^[\w-][\w.-]*\/[^/@]+@/;

/**
 * Refuses a text that is no path here, and spelt as `org/name@revision` with a name or a revision that neither the hub nor
 * Git has: taken for a path, its `..` would lead to a file that nobody meant.
 *
 * @throws LayerloomError INVALID_PARAMETER
 */
export const checkRemote = (model: string): void => {
  if (withRevision.test(model) && !isHubId(model))
    throw invalidParameter(
      'model',
      model,
      'a path that exists, or org/name@revision with the name of a branch, a tag or a commit',
    );
};

const url = /^[a-z][a-z\d+.-]*:\/\/./i;

/** True for the spelling of a model that is elsewhere: `org/name[@revision]`, or a URL. */
export const isRemote = (model: string): boolean => isHubId(model) || url.test(model);
