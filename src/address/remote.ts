// Spellings of models that are not paths. A path that exists goes before them.

/** Names begin with a letter or a digit on the hub, which `./model` does not. */
const hubId = /^(?<repository>\w[\w.-]*\/[\w.-]+)(?:@(?<revision>[\w./-]+))?$/;

/** A model of the hub as users spell it: `org/name[@revision]`. */
export interface HubModel {
  /** `org/name`. */
  readonly id: string;
  /** A branch, a tag or a commit; `main` where none is given. */
  readonly revision: string;
}

/** Returns the parts of `org/name[@revision]`; undefined for other spellings. */
export const parseHubId = (model: string): HubModel | undefined => {
  const { repository: id, revision = 'main' } = hubId.exec(model)?.groups ?? {};
  return id === undefined ? undefined : { id, revision };
};

/** True if a model is spelt as the hub's are: `org/name[@revision]`. */
export const isHubId = (model: string): boolean => hubId.test(model);

const url = /^[a-z][a-z\d+.-]*:\/\/./i;

/** True for the spelling of a model that is elsewhere: `org/name[@revision]`, or a URL. */
export const isRemote = (model: string): boolean => isHubId(model) || url.test(model);
