import { homedir } from 'node:os';
import { isWeightsName } from '../../../checkpoint/containers/containers.js';
import { readSideFile } from '../../../checkpoint/files/small-file.js';
import type { FileToPush } from './upload/files-to-push.js';

/** Maximum size of files to search. Larger ones are vocabularies, whose words may look like paths. */
const mostBytes = 1024 * 1024;

/** True for vocabularies and code, which may contain any text. */
const isOfWords = (name: string): boolean =>
  /^(tokenizer|vocab|added_tokens|special_tokens_map|tekken)\.json$|^(merges|vocab)\.txt$|\.(model|tiktoken|py)$/.test(
    name,
  );

const ofUsers = [
  '/home/',
  '/Users/',
  '/root/',
  '/mnt/',
  '/media/',
  '/scratch/',
  '/data/',
  '/workspace/',
  '/tmp/',
];

/** Matches a path between quotes, white space or brackets that is not part of a URL. */
const path = /(?<![\w:/.~-])(?:~|\.{1,2})?\/[\w.@+%=-]+(?:\/[\w.@+%=-]*)*/g;

const isLocal = (text: string, isJson: boolean): boolean =>
  [homedir(), ...ofUsers].some((folder) => folder.length > 1 && text.startsWith(folder)) ||
  text.startsWith('~/') ||
  // In a card, a relative path means a model beside the card, so only JSON is searched for these.
  (isJson && /^\.{1,2}\//.test(text));

export const localPathsIn = async (files: readonly FileToPush[]): Promise<string[]> => {
  const found: string[] = [];
  for (const { name, path: file, bytes } of files) {
    const base = name.split('/').at(-1) ?? name;
    if (isWeightsName(base) || isOfWords(base) || bytes > mostBytes) continue;
    const text = (await readSideFile(file)).toString();
    const paths = new Set((text.match(path) ?? []).filter((one) => isLocal(one, base.endsWith('.json'))));
    const [first, ...others] = paths;
    if (first !== undefined)
      found.push(
        `${name} names ${first}${others.length === 0 ? '' : ` and ${others.length} more`}, of this machine; all who read the model will see it: remove it there`,
      );
  }
  return found;
};
