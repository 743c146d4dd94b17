import { join } from 'node:path';
import { formatBytes, formatSeconds } from '../../core/base/format.js';
import type { ExportedModel } from '../../core/conversion/export-model.js';

export const describeExport = ({ out, file, bytes, loaded, statement, seconds }: ExportedModel): string =>
  [
    `${join(out, file)}: ${formatBytes(bytes)}, ${formatSeconds(seconds)}`,
    loaded === null
      ? 'not tested: no llama.cpp program that can load it was found'
      : `${loaded.program}${loaded.version === null ? '' : ` ${loaded.version}`} loaded it: ${JSON.stringify(loaded.text)}`,
    `${join(out, 'Modelfile')}: for ollama create`,
    ...(statement === null ? [] : [`${join(out, statement)}: how it was made`]),
  ].join('\n');
