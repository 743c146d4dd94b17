import { open, stat } from 'node:fs/promises';
import { LayerloomError, reasonOf } from '../../core/base/errors/errors.js';
import { optionName } from '../../core/base/errors/option-name.js';
import { readFailed } from '../../core/base/files/writing.js';
import { isObject } from '../../core/models/checkpoint/files/json.js';
import { readBlock } from '../../core/models/checkpoint/files/read-block.js';
import { jsonOrNone } from '../../core/texts/json.js';

const endings = ['.jsonl', '.json', '.csv', '.parquet'];

/** @throws READ_FAILED, DATA_INVALID */
export const checkDataFiles = async (files: readonly string[]): Promise<void> => {
  for (const file of files) await checkDataFile(file);
};

const checkDataFile = async (file: string): Promise<void> => {
  const invalidData = (reason: string, line?: number) =>
    new LayerloomError('DATA_INVALID', { file, reason, line });
  const first = await firstBytes(file);
  if (first.length === 0) throw invalidData('is empty');
  if (!endings.some((ending) => file.endsWith(ending)))
    throw invalidData(`is not a file of rows (${endings.join(', ')})`);
  if (!file.endsWith('.jsonl')) return;
  const line = first.includes('\n') || first.length < longest ? first.split('\n', 1)[0] : undefined;
  if (line !== undefined && !isRow(line)) throw invalidData('is not a JSON object', 1);
};

const longest = 1 << 20;

const firstBytes = async (file: string): Promise<string> => {
  try {
    if (!(await stat(file)).isFile()) throw new Error('not a file');
    const handle = await open(file);
    try {
      return (await readBlock(handle, Buffer.alloc(longest), 0)).toString('utf8');
    } finally {
      await handle.close();
    }
  } catch (cause) {
    const reason = `${reasonOf(cause)}; give a file of rows with ${optionName('data')}`;
    throw readFailed(file, new Error(reason, { cause }));
  }
};

const isRow = (line: string): boolean => isObject(jsonOrNone(line, { python: true }));
