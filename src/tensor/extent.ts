/** A byte range of a file. */
export interface Extent {
  readonly begin: number;
  readonly end: number;
}
