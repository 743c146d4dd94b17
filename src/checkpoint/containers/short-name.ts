/** A name from the file, for messages. */
export const short = (name: string): string => (name.length > 100 ? `${name.slice(0, 100)}…` : name);
