import { dirname, resolve } from 'node:path';
import { type ChooseParameters, type ChosenParts, chooseParts } from '../../../api/choose-parts.js';
import type { UnitSource } from '../../../core/measure/choice/choose.js';
import { decimals } from '../../../core/methods/operations/program/words.js';
import { recipeYaml } from '../../../core/methods/recipe/document/recipe-yaml.js';
import type { OutputOptions } from '../../options/output.js';
import { note, printJson, printText } from '../../print.js';
import { writeRecipe } from './write-recipe.js';

interface ChooseCommandOptions extends ChooseParameters, OutputOptions {
  readonly out?: string;
  readonly force?: boolean;
}

/** @throws as `chooseParts`; OUTPUT_INVALID, WRITE_FAILED */
export const chooseCommand = async ({
  out,
  force,
  json,
  quiet,
  verbose: _verbose,
  ...given
}: ChooseCommandOptions): Promise<void> => {
  const chosen = await chooseParts(given, { folder: out === undefined ? '.' : dirname(resolve(out)) });
  const text = `${commentsOf(chosen)}${recipeYaml(chosen.recipe as unknown as Readonly<Record<string, unknown>>)}\n`;
  if (out !== undefined) await writeRecipe(out, text, force ?? false);
  if (json) printJson({ ...chosen, ...(out === undefined ? {} : { out }) });
  else if (out === undefined) printText(text.trimEnd());
  else if (!quiet) note(`${out}: ${countsOf(chosen)}`);
};

const measures = { relative: 'relative change', mav: 'mean MAV' };

const commentsOf = (chosen: ChosenParts): string => {
  const { measure, by, tau, alpha, top, statistic } = chosen;
  const rule =
    top === null
      ? `a ${by} comes from the expert whose share of change is larger by more than ${decimals(Number(tau))}, else it is a blend with ${decimals(alpha)} of the task expert`
      : `the ${top} ${by}s with the largest ${statistic === 'change' ? "share of the language expert's change" : 'difference of the language expert’s share of change from the task expert’s'}`;
  return `# Chosen by ${measures[measure]}: ${rule}.\n# ${countsOf(chosen)}\n`;
};

const countsOf = ({ units, by }: ChosenParts): string => {
  const count = (from: UnitSource) => units.filter((unit) => unit.from === from).length;
  return `${by}s: ${count('task')} task, ${count('language')} language, ${count('blend')} blended`;
};
