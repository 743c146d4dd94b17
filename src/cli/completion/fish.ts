import type { ArgumentDescription, CommandDescription, OptionDescription } from '../framework/describe.js';
import { candidatesOf, optionsOf } from './candidates.js';

const quoted = (text: string): string => `'${text.replace(/[\\']/g, '\\$&')}'`;

const directories = "'(__fish_complete_directories (commandline -ct))'";

const valuesOf = (value: ArgumentDescription): string => {
  const candidates = candidatesOf(value);
  switch (candidates.kind) {
    case 'words':
      return ` -x -a ${quoted(candidates.words.join(' '))}`;
    case 'files':
      return ' -r -F';
    case 'directories':
      return ` -x -a ${directories}`;
    case 'nothing':
      return ' -x';
  }
};

const conditionOf = ({ path }: CommandDescription): string =>
  `-n ${quoted(`__layerloom_is ${quoted(path.join(' '))}`)}`;

const optionLine = (command: CommandDescription, option: OptionDescription): string => {
  const { short, long, description, value } = option;
  const flags = `${short === undefined ? '' : ` -s ${short.slice(1)}`} -l ${long.slice(2)}`;
  const values = value === undefined ? '' : valuesOf(value);
  return `complete -c layerloom ${conditionOf(command)}${flags}${values} -d ${quoted(description)}`;
};

const argumentLines = (command: CommandDescription): string[] => {
  const [argument] = command.arguments;
  if (argument === undefined) return [];
  const candidates = candidatesOf(argument);
  const line = `complete -c layerloom ${conditionOf(command)}`;
  switch (candidates.kind) {
    case 'words':
      return [`${line} -a ${quoted(candidates.words.join(' '))}`];
    case 'files':
      return [`${line} -F`];
    case 'directories':
      return [`${line} -a ${directories}`];
    case 'nothing':
      return [];
  }
};

export const fishCompletion = (commands: readonly CommandDescription[]): string => {
  const descriptions = new Map(commands.map(({ path, description }) => [path.join(' '), description]));
  const lines = commands.flatMap((command) => [
    ...command.subcommands.map((name) => {
      const description = descriptions.get([...command.path, name].join(' '));
      return `complete -c layerloom ${conditionOf(command)} -a ${name} -d ${quoted(description ?? name)}`;
    }),
    ...argumentLines(command),
    ...optionsOf(command).map((option) => optionLine(command, option)),
  ]);
  const paths = commands.filter(({ path }) => path.length > 0).map(({ path }) => quoted(path.join(' ')));
  return `# fish completion for layerloom, made by: layerloom completion fish
set -g __layerloom_commands ${paths.join(' ')}

# True if the words before the cursor name this command.
function __layerloom_is
    set -l at ''
    for word in (commandline -opc)[2..-1]
        set -l next (string trim -- "$at $word")
        contains -- "$next" $__layerloom_commands; and set at "$next"
    end
    test "$at" = "$argv[1]"
end

complete -c layerloom -f
${lines.join('\n')}`;
};
