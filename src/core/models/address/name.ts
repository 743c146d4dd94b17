/** A name may be a folder's name, but not `.` or `..`, which recipes would read as paths. */
const named = /^(?!\.{1,2}=)(?<name>[^=/]+)=(?<rest>.+)$/s;

/** Splits `NAME=REST`; without a name, `rest` is the whole text. */
export const splitName = (text: string): { readonly name: string | undefined; readonly rest: string } => {
  const { name, rest = text } = named.exec(text)?.groups ?? {};
  return { name, rest };
};

export const withName = (name: string | undefined, rest: string): string =>
  name === undefined ? rest : `${name}=${rest}`;
