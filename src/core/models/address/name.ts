/** A name may be the name of a folder: not `.` or `..`, which a recipe would take for a path. */
const named = /^(?!\.{1,2}=)(?<name>[^=/]+)=(?<rest>.+)$/s;

/** Returns the parts of `NAME=REST`; a text without a name in front is all `rest`. */
export const splitName = (text: string): { readonly name: string | undefined; readonly rest: string } => {
  const { name, rest = text } = named.exec(text)?.groups ?? {};
  return { name, rest };
};

/** Returns `NAME=REST`, or the rest alone where there is no name. */
export const withName = (name: string | undefined, rest: string): string =>
  name === undefined ? rest : `${name}=${rest}`;
