import { optionGroups } from '../framework/help.js';
import { option } from '../framework/option.js';

const group = optionGroups.messages;

export const outputOptions = {
  json: option('--json', 'print the result as JSON', { group }),
  quiet: option('-q, --quiet', 'print nothing but errors', { group }),
  verbose: option('-v, --verbose', 'print stack traces with errors', { group }),
};

export interface OutputOptions {
  readonly json?: boolean | undefined;
  readonly quiet?: boolean | undefined;
  readonly verbose?: boolean | undefined;
}
