import { optionGroups, printsByDefault } from '../framework/help.js';
import { option } from '../framework/option.js';
import { toOneOf } from './parse.js';

const group = optionGroups.output;

export const tableOutput = <Format extends string>(formats: readonly Format[], words: string) => ({
  format: option('--format <format>', words, {
    choices: formats,
    parse: toOneOf('format', formats),
    default: 'text',
    group,
  }),
  out: option('-o, --out <file>', 'file to write', { default: printsByDefault, group }),
});
