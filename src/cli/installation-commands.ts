import type { Command } from 'commander';
import { addExamples, commandGroups } from './help.js';
import { addOutputOptions, type OutputOptions } from './options.js';

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

/** Adds the commands about layerloom's own installation. They run without an addon. */
export const addInstallation = (program: Command): void => {
  addBuild(program);
};
