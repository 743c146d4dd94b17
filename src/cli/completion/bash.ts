import type { CommandDescription } from '../framework/describe.js';
import { type Candidates, candidatesOf, flagsOf, optionsOf, quoted } from './candidates.js';

const pathOf = ({ path }: CommandDescription): string => path.join(' ');

const caseOf = (pattern: string, candidates: Candidates, many: boolean): string => {
  const words = candidates.kind === 'words' ? candidates.words.join(' ') : '';
  return `    ${quoted(pattern)}) kind=${candidates.kind} words=${quoted(words)} many=${many ? 'yes' : ''} ;;`;
};

/**
 * Generates a completion script for bash 3.2 or later; does not need bash-completion.
 *
 * Bash splits words at `=` and `:`, so `--out=DIR` and `NAME=DIR` are several words.
 */
export const bashCompletion = (commands: readonly CommandDescription[]): string => {
  const below = commands.filter(({ path }) => path.length > 0);
  const values = commands.flatMap((command) =>
    optionsOf(command).flatMap((option) => {
      const { value } = option;
      if (value === undefined) return [];
      return flagsOf(option).map((flag) =>
        caseOf(`${pathOf(command)}|${flag}`, candidatesOf(value), value.variadic),
      );
    }),
  );
  const positions = commands.flatMap((command) => {
    if (command.subcommands.length > 0)
      return [caseOf(pathOf(command), { kind: 'words', words: command.subcommands }, false)];
    const [argument] = command.arguments;
    return argument === undefined ? [] : [caseOf(pathOf(command), candidatesOf(argument), false)];
  });
  const options = commands.map((command) => {
    const flags = optionsOf(command).flatMap(flagsOf).join(' ');
    return `    ${quoted(pathOf(command))}) words=${quoted(flags)} ;;`;
  });
  return `# bash completion for layerloom, made by: layerloom completion bash
_layerloom() {
  local current=\${COMP_WORDS[COMP_CWORD]} command='' kind='' words='' many='' word line i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    case $word in
    = | :) continue ;;
    -*) _layerloom_value "$command|$word" ;;
    *)
      if [[ -z $many ]]; then kind='' words=''; fi
      case "\${command:+$command }$word" in
${below.map((command) => `      ${quoted(pathOf(command))}) command=${quoted(pathOf(command))} ;;`).join('\n')}
      esac
      ;;
    esac
  done
  if [[ $current == = || $current == : ]]; then current=''; fi
  if [[ $current == -* ]]; then
    kind=words
    _layerloom_options "$command"
  elif [[ -z $kind ]]; then
    _layerloom_position "$command"
  fi
  while IFS= read -r line; do
    COMPREPLY+=("$line")
  done < <(
    case $kind in
    words) compgen -W "$words" -- "$current" ;;
    files) compgen -f -- "$current" ;;
    directories) compgen -d -- "$current" ;;
    esac
  )
  if [[ $kind == files || $kind == directories ]]; then compopt -o filenames 2>/dev/null; fi
}

# The values of an option: sets kind, words and many; flags have none.
_layerloom_value() {
  kind='' words='' many=''
  case $1 in
${values.join('\n')}
  esac
}

_layerloom_options() {
  case $1 in
${options.join('\n')}
  esac
}

# The subcommands or the argument of a command.
_layerloom_position() {
  case $1 in
${positions.join('\n')}
  esac
}

complete -F _layerloom layerloom`;
};
