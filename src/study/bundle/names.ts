import {
  cardName,
  provenanceName,
  signatureName,
  statementName,
} from '../../core/models/checkpoint/files/file-names.js';
import { recordName } from '../batch/planning/record-names.js';
import { evaluationsName } from '../evaluation/result-files.js';
import { trainedName } from '../experiment/scoring/requests/training-facts.js';

/** Folder in the archive, so that other programs unpack into one folder. */
export const folderName = 'study';

/** SHA-256 of all other files in the format of `sha256sum`; the last entry. */
export const sumsName = 'SHA256SUMS';

/** Experiment as YAML, which the record also contains. */
export const experimentName = 'experiment.yaml';

export const citationName = 'CITATION.cff';

export const licenseNames = ['LICENSE', 'LICENSE.md', 'LICENSE.txt'] as const;

const analysisName = 'analysis';

const aboutNames: readonly string[] = [
  recordName,
  experimentName,
  cardName,
  citationName,
  trainedName,
  sumsName,
  ...licenseNames,
];

export const mergeFiles: readonly string[] = [provenanceName, statementName, cardName, signatureName];

const resultName = /^[\w.-]+-[0-9a-f]{16}(\.problems|\.texts)?\.json$/;
const contentsName = /^[0-9a-f]{32}\.json$/;
const analysisFile = /\.(json|csv|svg|html|mav\.safetensors)$/;

export const entryKinds = ['about', 'results', 'contents', 'analysis', 'merges'] as const;

/** Kinds of files in a bundle. `contents`: SHA-256 of scored models, which identify their results. */
export type EntryKind = (typeof entryKinds)[number];

/** True for a visible name that has no special meaning. */
const isPlain = (segment: string): boolean =>
  segment !== '' && !/^[.\s]|[\\\p{C}]|\s$/u.test(segment) && Buffer.byteLength(segment) <= 255;

/** Returns a file's kind by its path in the study; undefined if bundles exclude it. */
export const kindOfEntry = (path: string): EntryKind | undefined => {
  const segments = path.split('/');
  const [first = '', second = '', third] = segments;
  const file = segments.at(-1) ?? '';
  if (segments.length === 1) return aboutNames.includes(path) ? 'about' : undefined;
  if (first === evaluationsName) {
    if (segments.length === 2) return resultName.test(second) ? 'results' : undefined;
    const isContents = second === '.contents' && segments.length === 3 && contentsName.test(third ?? '');
    return isContents ? 'contents' : undefined;
  }
  if (!segments.every(isPlain)) return undefined;
  if (first === analysisName)
    return segments.length === 2 && analysisFile.test(file) ? 'analysis' : undefined;
  const isMerge = mergeFiles.includes(file) && !segments.slice(0, -1).some((one) => isFile(one));
  return isMerge ? 'merges' : undefined;
};

const isFile = (segment: string): boolean => mergeFiles.includes(segment) || aboutNames.includes(segment);

/** Folders with results and analyses. */
export const sharedFolders = [evaluationsName, `${evaluationsName}/.contents`, analysisName] as const;

/** Orders names by bytes, independently of locale. */
export const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));
