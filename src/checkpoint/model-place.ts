import { stat } from 'node:fs/promises';

/** A model's place on the hub, as the local cache shows it. */
export interface HubRevision {
  /** `org/name`. */
  readonly id: string;
  /** The commit: the name of the snapshot's folder. */
  readonly revision: string;
  /** The path within the snapshot, where the model is not the whole of it. */
  readonly inside?: string;
}

/** A model as the user gave it, found. */
export interface Location {
  /** The model's name: NAME of `NAME=PATH`, `org/name` from the hub cache, else the last part of its path. */
  readonly name: string;
  /** Absolute: a directory or one file. */
  readonly path: string;
  /** Where the path lies in a snapshot of a hub cache. */
  readonly hub?: HubRevision;
}

/**
 * A place where models are looked up: local files, the hub's cache. `locate` asks each in turn. The engine
 * sees files only: a place whose models are elsewhere (a hub, an object store) brings the files' names and
 * headers into a directory here, and before a plan runs the byte ranges that it reads, at their offsets in
 * files of their full length.
 */
export interface ModelPlace {
  /**
   * Looks a model up by what the user wrote.
   *
   * @returns the model; or, where it is not there, the path that was tried; or undefined where the text names
   *   nothing in this place
   */
  find(model: string): Promise<Location | { readonly tried: string } | undefined>;
}

export const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

export const allExist = async (paths: readonly string[]): Promise<boolean> =>
  (await Promise.all(paths.map(exists))).every(Boolean);

/** A name may be the name of a folder: not `.` or `..`, which a recipe would take for a path. */
const named = /^(?!\.{1,2}=)(?<name>[^=/]+)=(?<rest>.+)$/s;

/** The parts of `NAME=PATH`, or undefined where no name stands before the path. */
export const splitName = (model: string): { name: string; rest: string } | undefined => {
  const { name, rest } = named.exec(model)?.groups ?? {};
  return name === undefined || rest === undefined ? undefined : { name, rest };
};
