import { join } from 'node:path';
import { exists } from '../../base/files/exists.js';
import { namesIn } from '../../base/files/unless-missing.js';
import { adapterConfigName } from '../checkpoint/files/file-names.js';
import { checkpointName } from '../checkpoint/files/run-folder.js';

/** The name of the adapter that PEFT saves in the directory itself. Other adapters have their own folders. */
const defaultName = 'default';

interface NamedAdapter {
  readonly directory: string;
  readonly adapter: string;
}

export const splitAdapter = (text: string): NamedAdapter | undefined => {
  const found = /^(?<directory>.+)#(?<adapter>[^#/\\]+)$/s.exec(text)?.groups;
  const { directory = '', adapter = '' } = found ?? {};
  return found === undefined || /^\.+$/.test(adapter) ? undefined : { directory, adapter };
};

/**
 * Returns the folder of `DIR#NAME`, one of several adapters in a directory.
 *
 * @param isHere true for an existing path
 */
export const folderOfAdapter = async (
  text: string,
  isHere: (path: string) => Promise<boolean>,
): Promise<string | undefined> => {
  const named = splitAdapter(text);
  if (named === undefined) return undefined;
  const { directory, adapter } = named;
  const folders = [`${directory}/${adapter}`, ...(adapter === defaultName ? [directory] : [])];
  for (const folder of folders) if (await isHere(`${folder}/${adapterConfigName}`)) return folder;
  return undefined;
};

/**
 * Lists a directory's adapters, except those in a run's checkpoints; empty if it is missing.
 *
 * @throws READ_FAILED
 */
export const adaptersIn = async (directory: string): Promise<readonly string[]> => {
  const names = (await namesIn(directory)).filter((name) => !checkpointName.test(name));
  const areAdapters = await Promise.all(
    names.map((name) => exists(join(directory, name, adapterConfigName))),
  );
  const own = names.includes(adapterConfigName) ? [defaultName] : [];
  return [...own, ...names.filter((_, index) => areAdapters[index])].sort();
};

/** Formats `the adapters a, b; name one, as in DIR#a`. */
export const namesOfAdapters = (directory: string, [first = '', ...others]: readonly string[]): string =>
  `the ${others.length === 0 ? 'adapter' : 'adapters'} ${[first, ...others].join(', ')}; name one, as in ${directory}#${first}`;
