import { exportRecipe } from '../../../api/export-recipe.js';
import type { exportDialects } from '../../../core/plan/export/export-dialects.js';
import type { OutputOptions } from '../../options/output.js';
import { note, printJson, printText, warn } from '../../print.js';
import { writeRecipe } from './write-recipe.js';

interface ExportCommandOptions extends OutputOptions {
  readonly recipe: string;
  readonly dialect?: (typeof exportDialects)[number];
  readonly out?: string;
  readonly force?: boolean;
  readonly analysis?: string;
}

/** @throws as `exportRecipe`; OUTPUT_EXISTS, WRITE_FAILED */
export const exportCommand = async ({
  recipe,
  dialect,
  out,
  force,
  json,
  quiet,
  analysis,
}: ExportCommandOptions): Promise<void> => {
  const exported = await exportRecipe(recipe, { dialect, analysis });
  if (!quiet) exported.notes.forEach(warn);
  if (out !== undefined) await writeRecipe(out, exported.text, force ?? false);
  if (json) printJson({ ...exported, ...(out === undefined ? {} : { out }) });
  else if (out === undefined) printText(exported.text.trimEnd());
  else if (!quiet) note(`${out}: paths of local models are relative to this directory; run mergekit here`);
};
