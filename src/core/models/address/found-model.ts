/** A model's place on the hub, as the local cache shows it. */
export interface HubRevision {
  /** `org/name`. */
  readonly id: string;
  /** The commit: the name of the snapshot's folder. */
  readonly revision: string;
  /** The path within the snapshot, where the model is not the whole of it. */
  readonly inside?: string;
}

/**
 * What plans and records keep of where a model is from, for other machines to find it again: a key for each source
 * (src/core/models/sources/) but local files.
 */
export interface Origin {
  readonly hub?: HubRevision;
}

/** A model as the user gave it, found. */
export interface FoundModel extends Origin {
  /** NAME of `NAME=PATH`, `org/name` from the hub cache, else the last part of its path. */
  readonly name: string;
  /** Absolute: a directory or one file. */
  readonly path: string;
}

/** A model that was found, and its parts where it is a base with an adapter. */
export type FoundParts = FoundModel & {
  readonly adapted?: { readonly base: FoundModel; readonly adapter: FoundModel };
};

/** Returns where the parts of a model lie: base and adapter, or the one. */
export const foundParts = (model: FoundParts): readonly FoundModel[] =>
  model.adapted === undefined ? [model] : [model.adapted.base, model.adapted.adapter];

/** Returns the origin of a model by itself. */
export const originOf = ({ hub }: Origin): Origin => (hub === undefined ? {} : { hub });

/** True for a model of local files, whose path alone says where it is from. */
export const isLocal = (model: Origin): boolean => Object.keys(originOf(model)).length === 0;

/** Returns the commit that a model is of, or is a part of: `org/name@COMMIT`; undefined for a model of local files. */
export const commitText = ({ hub }: Origin): string | undefined =>
  hub === undefined ? undefined : `${hub.id}@${hub.revision}`;

/** Returns the name of a model that its source gave it, with the beginning of its commit; undefined for other names. */
export const nameWithCommit = ({ name, hub }: FoundModel): string | undefined =>
  name === hub?.id ? `${name}@${hub.revision.slice(0, 7)}` : undefined;

/** Returns the address by which any machine finds a model, `org/name@COMMIT`; undefined where only a path says it. */
export const sharedAddress = (model: Origin): string | undefined =>
  model.hub?.inside === undefined ? commitText(model) : undefined;
