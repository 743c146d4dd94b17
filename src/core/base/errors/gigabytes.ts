/** Formats bytes for messages: `17.1 GB`. */
export const gigabytes = (bytes: number): string =>
  bytes < 1e6
    ? `${Math.ceil(bytes / 1e3)} kB`
    : bytes < 1e9
      ? `${(bytes / 1e6).toPrecision(3)} MB`
      : bytes < 1e12
        ? `${(bytes / 1e9).toPrecision(3)} GB`
        : `${(bytes / 1e12).toPrecision(3)} TB`;
