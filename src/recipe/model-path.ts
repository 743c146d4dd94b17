import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

/**
 * A model's path that begins in a folder, as an absolute one: `./x` and `../x` always, others where they exist there, since `org/name` may be
 * one of the hub's. A name before it (`NAME=./x`) stays.
 */
export const relativeTo = async (folder: string, model: string): Promise<string> => {
  const path = resolve(folder, model);
  if (/^\.\.?(\/|$)/.test(model) || (await exists(path))) return path;
  const { name, rest } = /^(?<name>[^=/]+)=(?<rest>.+)$/s.exec(model)?.groups ?? {};
  return name === undefined || rest === undefined ? model : `${name}=${await relativeTo(folder, rest)}`;
};
