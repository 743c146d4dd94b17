import { join } from 'node:path';
import { capitalised } from '../../../../core/base/format.js';
import { readFlores } from './flores-data.js';
import { codeOf, directionsOf, taskOfDirection } from './flores-directions.js';
import { type EvaluationLanguage, mgsmLanguages } from './languages.js';
import { type LocalTask, requiredFile, writeRows } from './local-task.js';

/** Languages without spaces between words, which also get BLEU over characters. */
const unspaced: readonly string[] = ['jpn', 'tha', 'zho'];

const nameOf = ({ name }: EvaluationLanguage): string => capitalised(name);

const directions = new Map(
  mgsmLanguages.flatMap(directionsOf).map((direction) => [taskOfDirection(direction), direction]),
);

export const floresTaskNames: readonly string[] = [...directions.keys()];

export const localFloresTask = (task: string): LocalTask | undefined => {
  const direction = directions.get(task);
  if (direction === undefined) return undefined;
  const [source, target] = direction;
  const required = (data: string, language: EvaluationLanguage) => {
    const name = `${language.flores}.devtest`;
    // The published archive has one folder per split.
    const places = ['devtest', 'flores', 'flores/devtest', 'flores200_dataset/devtest'];
    return requiredFile(task, data, [name, ...places.map((place) => `${place}/${name}`)]);
  };
  return {
    benchmark: 'FLORES-200',
    template: unspaced.includes(codeOf(target)) ? 'flores_characters_template' : 'flores_template',
    needed: 'FLORES-200 (`*.devtest`)',
    settingsFor: () => ({
      doc_to_text: `${nameOf(source)} sentence: {{source}}\n${nameOf(target)} sentence:`,
    }),
    write: async (data, into) => {
      const rows = await readFlores(await required(data, source), await required(data, target));
      const test = await writeRows(join(into, `${task}.jsonl`), rows);
      return new Map([[task, { files: { test }, problems: rows.length }]]);
    },
  };
};
