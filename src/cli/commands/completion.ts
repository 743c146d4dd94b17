import { shells } from '../completion/candidates.js';
import { argument, command } from '../framework/command.js';
import { describeCommands } from '../framework/describe.js';

export const completion = command({
  name: 'completion',
  group: 'installation',
  summary: 'print a script that completes commands, options and paths in a shell',
  arguments: { shell: argument('<shell>', 'the shell that will read the script', shells) },
  examples: [
    [
      'layerloom completion bash >> ~/.bash_completion',
      'bash with bash-completion, from the next shell; otherwise append to ~/.bashrc',
    ],
    ['layerloom completion zsh > ~/.zfunc/_layerloom', 'zsh, with ~/.zfunc in fpath before compinit'],
    ['layerloom completion fish > ~/.config/fish/completions/layerloom.fish', 'fish'],
  ],
  run: async (given, program) => {
    const { completionCommand } = await import('../completion/completion.js');
    completionCommand(given.shell, describeCommands(program), given);
  },
});
