/** A hub model found in the local cache. */
export interface HubRevision {
  readonly id: string;
  /** The commit, which names the snapshot's folder. */
  readonly revision: string;
  /** Path within the snapshot; absent if the model is the whole snapshot. */
  readonly inside?: string;
}

/** A model's origin, by which other machines find it. Each source except local files has a key. */
export interface Origin {
  readonly hub?: HubRevision;
}

export interface FoundModel extends Origin {
  /** The name in `NAME=PATH`; otherwise `org/name` in the hub cache, or the path's last part. */
  readonly name: string;
  readonly path: string;
}

export type FoundWithAdapter = FoundModel & {
  readonly adapted?: { readonly base: FoundModel; readonly adapter: FoundModel };
};

export const foundModels = (model: FoundWithAdapter): readonly FoundModel[] =>
  model.adapted === undefined ? [model] : [model.adapted.base, model.adapted.adapter];

export const originOf = ({ hub }: Origin): Origin => (hub === undefined ? {} : { hub });

/** True for local files, whose only origin is the path. */
export const isLocal = (model: Origin): boolean => Object.keys(originOf(model)).length === 0;

/** Returns `org/name@COMMIT` of a hub model or part of its snapshot; undefined for local files. */
export const commitText = ({ hub }: Origin): string | undefined =>
  hub === undefined ? undefined : `${hub.id}@${hub.revision}`;

/** Returns a hub model's name with its commit abbreviated; undefined if the user gave another name. */
export const nameWithCommit = ({ name, hub }: FoundModel): string | undefined =>
  name === hub?.id ? `${name}@${hub.revision.slice(0, 7)}` : undefined;

/** Returns `org/name@COMMIT`, which other machines understand; undefined if only a path is known. */
export const sharedAddress = (model: Origin): string | undefined =>
  model.hub?.inside === undefined ? commitText(model) : undefined;
