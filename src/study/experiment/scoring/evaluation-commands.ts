import { resolve } from 'node:path';
import { harnessCommand } from '../../evaluation/harness/harness-command.js';
import { ResultFiles } from '../../evaluation/result-files.js';
import { readRecord } from '../record/experiment-record.js';
import { type EvaluateOptions, inTurn, selectModels, settingsOf } from './evaluation-options.js';
import { prepareScoring } from './prepare-scoring.js';
import { modelsToScore } from './requests/models-to-score.js';
import { commandsOf } from './score-model.js';

/**
 * Returns the commands for `--print`: one command per run of the harness, after a command that starts a server if
 * needed. Covers existing models and tasks without results.
 *
 * @throws as `evaluateExperiment`
 */
export const evaluationCommands = async (
  directory: string,
  options: EvaluateOptions = {},
): Promise<{ readonly model: string; readonly command: string }[]> => {
  const place = resolve(directory);
  const record = await readRecord(place);
  const settings = settingsOf(record, place, options);
  const command = harnessCommand(options.lmEval);
  const scoring = await prepareScoring(place, settings, command, { keep: true });
  const there = options.force ? [] : await new ResultFiles(place).list();
  const commands: { model: string; command: string }[] = [];
  let scored = 0;
  for (const model of selectModels(modelsToScore(record, settings, place), options)) {
    const own = await commandsOf(model, scoring, there, inTurn(settings.baseUrls, scored));
    if (own.length > 0) scored += 1;
    for (const command of own) commands.push({ model: model.name, command });
  }
  return commands;
};
