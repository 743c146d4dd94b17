import type { ArgumentDescription, CommandDescription, OptionDescription } from '../framework/describe.js';
import { candidatesOf, optionsOf, quoted } from './candidates.js';

const functionOf = ({ path }: CommandDescription): string => ['_layerloom', ...path].join('_');

const escaped = (text: string): string => text.replace(/[\\:[\]]/g, '\\$&');

const actionOf = (argument: ArgumentDescription): string => {
  const candidates = candidatesOf(argument);
  if (candidates.kind === 'words') return `(${candidates.words.map(escaped).join(' ')})`;
  return { files: '_files', directories: '_files -/', nothing: ' ' }[candidates.kind];
};

const specOf = ({ long, short, description, value, repeatable }: OptionDescription): string => {
  const text = quoted(`[${escaped(description)}]`);
  const takes =
    value === undefined
      ? ''
      : quoted(`:${value.variadic ? '*-*:' : ''}${escaped(value.name)}:${actionOf(value)}`);
  const separator = value === undefined || value.variadic ? '' : '=';
  const prefix = repeatable ? "'*'" : short === undefined ? '' : quoted(`(${short} ${long})`);
  if (short === undefined) return `${prefix}${quoted(`${long}${separator}`)}${text}${takes}`;
  return `${prefix}{${short}${separator === '' ? '' : '+'},${long}${separator}}${text}${takes}`;
};

const argumentSpec = (argument: ArgumentDescription, index: number): string =>
  quoted(`${argument.variadic ? '*' : index + 1}:${escaped(argument.name)}:${actionOf(argument)}`);

const describe = (text: string): string => text.replaceAll(':', '\\:');

const functionText = (command: CommandDescription, commands: readonly CommandDescription[]): string => {
  const options = optionsOf(command).map(specOf);
  if (command.subcommands.length === 0)
    return `${functionOf(command)}() {
  _arguments -S ${[...options, ...command.arguments.map(argumentSpec)].join(' \\\n    ')}
}`;
  const children = commands.filter(
    ({ path }) => path.length === command.path.length + 1 && path.slice(0, -1).join() === command.path.join(),
  );
  const names = children.map(({ path, description }) => quoted(`${path.at(-1)}:${describe(description)}`));
  return `${functionOf(command)}() {
  local curcontext=$curcontext state line
  typeset -A opt_args
  _arguments -C -S ${[...options, quoted('1: :->command'), quoted('*:: :->rest')].join(' \\\n    ')} && return
  case $state in
  command)
    local -a commands
    commands=(
      ${names.join('\n      ')}
    )
    _describe command commands
    ;;
  rest)
    case $words[1] in
${children.map((child) => `    ${child.path.at(-1)}) ${functionOf(child)} ;;`).join('\n')}
    esac
    ;;
  esac
}`;
};

/** Writes completion for zsh, to be sourced or saved as `_layerloom` in `fpath`. */
export const zshCompletion = (commands: readonly CommandDescription[]): string => `#compdef layerloom
# zsh completion for layerloom, made by: layerloom completion zsh
${commands.map((command) => functionText(command, commands)).join('\n\n')}

if [[ $funcstack[1] == _layerloom ]]; then
  _layerloom "$@"
else
  compdef _layerloom layerloom
fi`;
