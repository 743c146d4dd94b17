import type { Command } from 'commander';
import type { DiffCliOptions } from './diff.js';
import { addExamples, commandGroups, optionGroups } from './help.js';
import { addOutputOptions, downloadOption, modelWords, threadsOption } from './options.js';

export const addDiff = (program: Command): void => {
  const command = program
    .command('diff')
    .description('show which tensors of two models differ, and by how much')
    .helpGroup(commandGroups.looking)
    .argument('<a>', `${modelWords}, or NAME=MODEL`)
    .argument('<b>', 'the model to compare with it')
    .option('--only <pattern>', 'compare the tensors whose names match: "*.mlp.*"')
    .option('--all', 'list every tensor, equal ones too')
    .option('-o, --out <file>', 'write a page (.html), a picture (.svg) or a table (.csv)')
    .option('--force', 'replace that file')
    .option('--exit-code', 'exit with 1 if weights or side files differ, like git diff')
    .optionsGroup(optionGroups.running)
    .addOption(downloadOption())
    .addOption(threadsOption())
    .optionsGroup(optionGroups.messages);
  addOutputOptions(command).action(async (a: string, b: string, options: DiffCliOptions) => {
    // Loaded on demand: other commands compare nothing.
    const { diffCommand } = await import('./diff.js');
    await diffCommand(a, b, options);
  });
  addExamples(command, [
    ['layerloom diff ./math-1 ./merged', 'which layers of ./merged are not those of ./math-1'],
    ['layerloom diff ./old ./new --exit-code -q', 'for scripts: 0 if they are equal to the bit'],
    ['layerloom diff ./llama-3.1-8b ./math-1 -o math-1.html', 'a page with every tensor'],
  ]);
};
