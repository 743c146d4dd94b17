/** A model on the hub, as found in the local cache. */
export interface HubRevision {
  /** `org/name`. */
  readonly id: string;
  /** The commit, which names the snapshot's folder. */
  readonly revision: string;
  /** Path within the snapshot, if the model is not all of it. */
  readonly inside?: string;
}

/**
 * A model's origin in plans and records, so that other machines can find it: one key per source
 * (src/core/models/sources/) except local files.
 */
export interface Origin {
  readonly hub?: HubRevision;
}

export interface FoundModel extends Origin {
  /** NAME of `NAME=PATH`, `org/name` from the hub cache, else the last part of the path. */
  readonly name: string;
  /** Absolute; a directory or a file. */
  readonly path: string;
}

export type FoundWithAdapter = FoundModel & {
  readonly adapted?: { readonly base: FoundModel; readonly adapter: FoundModel };
};

export const foundModels = (model: FoundWithAdapter): readonly FoundModel[] =>
  model.adapted === undefined ? [model] : [model.adapted.base, model.adapted.adapter];

export const originOf = ({ hub }: Origin): Origin => (hub === undefined ? {} : { hub });

/** True for a model of local files, whose origin is only its path. */
export const isLocal = (model: Origin): boolean => Object.keys(originOf(model)).length === 0;

/** Returns a hub model's `org/name@COMMIT`, also for a part of a snapshot; undefined for local files. */
export const commitText = ({ hub }: Origin): string | undefined =>
  hub === undefined ? undefined : `${hub.id}@${hub.revision}`;

/** Returns the hub's name with an abbreviated commit; undefined if the model has another name. */
export const nameWithCommit = ({ name, hub }: FoundModel): string | undefined =>
  name === hub?.id ? `${name}@${hub.revision.slice(0, 7)}` : undefined;

/** Returns a portable address, `org/name@COMMIT`; undefined if only a path identifies the model. */
export const sharedAddress = (model: Origin): string | undefined =>
  model.hub?.inside === undefined ? commitText(model) : undefined;
