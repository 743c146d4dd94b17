import { invalidParameter } from '../../base/errors/invalid-parameter.js';

// Names and revisions become parts of paths and URLs, so they are checked by the hub's and Git's rules.

/** A hub model as users spell it: `org/name[@revision]`. */
export interface HubModel {
  readonly id: string;
  /** A branch, tag or commit; default `main`. */
  readonly revision: string;
}

/** Part of a repository's name: begins and ends with a letter, digit or `_`, unlike `./model`. */
const namePart = /^\w(?:[\w.-]{0,94}\w)?$/;

/**
 * True for a repository name, `org/name`. `--` is excluded: it would make the cache folder's name ambiguous.
 */
export const isRepositoryName = (text: string): boolean => {
  const parts = text.split('/');
  return (
    parts.length === 2 &&
    parts.every((part) => namePart.test(part)) &&
    !/--|\.\./.test(text) &&
    !text.endsWith('.git')
  );
};

/** Part of a branch or tag. Git forbids dots at start and end, and `.lock` at the end. */
const revisionPart = /^\w(?:[\w.-]*[\w-])?$/;

/** Maximum length of names in file systems. */
const longestRevision = 255;

/** True for a branch, tag or commit that Git allows: `main`, `refs/pr/1`, `v1.0`. */
export const isRevision = (text: string): boolean =>
  text.length <= longestRevision &&
  !text.includes('..') &&
  text.split('/').every((part) => revisionPart.test(part) && !part.endsWith('.lock'));

export const isCommit = (text: string): boolean => /^[0-9a-f]{40}$/.test(text);

/** Parses `org/name[@revision]`; undefined for other spellings. */
export const parseHubId = (model: string): HubModel | undefined => {
  const at = model.indexOf('@');
  const id = at === -1 ? model : model.slice(0, at);
  const revision = at === -1 ? 'main' : model.slice(at + 1);
  return isRepositoryName(id) && isRevision(revision) ? { id, revision } : undefined;
};

export const isHubId = (model: string): boolean => parseHubId(model) !== undefined;

/** Matches a hub address copied from a browser, or `hf://` of the hub's file system. */
const hubAddress = /^(?:(?:https?:\/\/)?(?:www\.)?(?:huggingface\.co|hf\.co)|hf:\/)\/(?<path>[^?#]+)/i;

export const isHubAddress = (model: string): boolean => hubAddress.test(model);

/**
 * Returns `org/name@revision` for a model's address on the hub (`https://huggingface.co/org/name/tree/main`);
 * undefined for other text. The revision distinguishes it from a folder `org/name`.
 *
 * @throws INVALID_PARAMETER for the address of a file or data set
 */
export const idOfHubAddress = (model: string): string | undefined => {
  const path = hubAddress.exec(model)?.groups?.['path'];
  if (path === undefined) return undefined;
  const [org = '', name = '', tree, ...revision] = path.replace(/\/+$/, '').split('/');
  const [id, branch] = [`${org}/${name}`, revision.join('/').replaceAll(/%2f/gi, '/')];
  const isModel =
    tree === undefined || (tree === 'tree' && (revision.length === 1 || revision[0] === 'refs'));
  const found =
    branch === '' && !id.includes('@') ? `${id}@main` : `${id}${branch === '' ? '' : `@${branch}`}`;
  if (isModel && !['datasets', 'spaces', 'docs', 'papers'].includes(org) && isHubId(found)) return found;
  throw invalidParameter(
    'model',
    model,
    'the address of a model on the hub, or its name: org/name[@revision]',
  );
};

/** Matches text spelt like a hub model with a revision, valid or not. */
const withRevision = /^[\w-][\w.-]*\/[^/@]+@/;

/**
 * Refuses `org/name@revision` with an invalid name or revision: as a path, `..` might lead to an unintended
 * file.
 *
 * @throws INVALID_PARAMETER
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

/** True for a remote model's spelling: `org/name[@revision]` or a URL. */
export const isRemote = (model: string): boolean => isHubId(model) || url.test(model);
