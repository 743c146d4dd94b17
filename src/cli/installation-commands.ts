import { Argument, type Command } from 'commander';
import { shells } from './completion/candidates.js';
import { describeCommands } from './describe.js';
import { addExamples, commandGroups } from './help.js';
import { addOutputOptions, type OutputOptions } from './options.js';
import { schemaCommand, schemaNames } from './schema.js';

const addBuild = (program: Command): void => {
  const command = program
    .command('build')
    .helpGroup(commandGroups.installation)
    .description('build the native addon on this machine, where no shipped one fits (CMake, C++20 compiler)');
  addExamples(command, [
    ['layerloom build', 'build it into the installed package'],
    ['CXX=clang++ layerloom build --quiet', 'with another compiler, and without its output'],
  ]);
  addOutputOptions(command).action(async (options: OutputOptions) => {
    const { buildCommand } = await import('./build.js');
    await buildCommand(options);
  });
};

const addDoctor = (program: Command): void => {
  const command = program
    .command('doctor')
    .helpGroup(commandGroups.installation)
    .description('check that merging works here: addon, processor, memory, file system, hub cache, lm_eval')
    .argument('[dir]', 'the directory that merges would be written to (default: the working directory)');
  addExamples(command, [
    ['layerloom doctor', 'check the installation and this directory'],
    ['layerloom doctor /scratch --json', 'check another disk, for a program to read'],
  ]);
  addOutputOptions(command).action(async (directory: string | undefined, options: OutputOptions) => {
    const { doctorCommand } = await import('./doctor.js');
    await doctorCommand(directory, options);
  });
};

const addCompletion = (program: Command): void => {
  const shell = new Argument('<shell>', 'the shell that will read the script');
  shell.argChoices = [...shells];
  const command = program
    .command('completion')
    .helpGroup(commandGroups.installation)
    .description('print a script that completes commands, options and paths in a shell')
    .addArgument(shell);
  addOutputOptions(command).action(async (name: string, options: OutputOptions) => {
    const { completionCommand } = await import('./completion/completion.js');
    completionCommand(name, describeCommands(program), options);
  });
  addExamples(command, [
    [
      'layerloom completion bash >> ~/.bash_completion',
      'bash with bash-completion, from the next shell on; else append to ~/.bashrc',
    ],
    ['layerloom completion zsh > ~/.zfunc/_layerloom', 'zsh, with ~/.zfunc in fpath before compinit'],
    ['layerloom completion fish > ~/.config/fish/completions/layerloom.fish', 'fish'],
  ]);
};

const addSchema = (program: Command): void => {
  const kind = new Argument('<kind>', 'the kind of file');
  kind.argChoices = [...schemaNames];
  const command = program
    .command('schema')
    .helpGroup(commandGroups.installation)
    .description('print the JSON Schema of recipes or experiments, by which editors complete and check them')
    .addArgument(kind);
  addOutputOptions(command).action(async (name: string) => {
    // A schema is JSON, with --json and without.
    await schemaCommand(name);
  });
  addExamples(command, [
    ['layerloom schema experiment > experiment.schema.json', 'a file to name in the settings of an editor'],
    ['layerloom schema recipe > recipe.schema.json', 'the same of recipes'],
  ]);
};

/** Adds the commands about layerloom's own installation. They run without an addon. */
export const addInstallation = (program: Command): void => {
  addDoctor(program);
  addBuild(program);
  addCompletion(program);
  addSchema(program);
};
